"""The tuner's table: the fastest recipe of each size from a run's samples."""

import importlib.util
import pathlib

import pytest

spec = importlib.util.spec_from_file_location(
    "tune", pathlib.Path(__file__).resolve().parents[2] / "experiments" / "tune.py"
)
tune = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tune)


def cube(size):
    return {"m": size, "n": size, "k": size}


def result(*samples, gpu="NVIDIA H200"):
    """A run with samples of (size, recipe, gflops)."""
    entries = [
        {"kernel": tune.KERNEL, "sizes": cube(size), "tunables": {"recipe": recipe}, "gflops": rate}
        for size, recipe, rate in samples
    ]
    return {"context": {"gpu_name": gpu}, "benchmarks": entries}


def test_the_median_decides_and_not_the_best_sample():
    text = tune.table([result((256, "32x32", 10.0), (256, "32x32", 10.0), (256, "32x32", 99.0), (256, "64x32", 20.0))])
    assert '    {256, 256, 256, "64x32"},\n' in text


def test_near_equals_give_the_larger_tile():
    assert tune.fastest({"128x256": 100.0, "64x128": 100.4}) == "128x256"
    assert tune.fastest({"128x256": 100.0, "64x128": 101.0}) == "64x128"
    assert tune.fastest({"64x128_split_k": 100.4, "64x128": 100.0}) == "64x128"


def test_sizes_are_sorted_and_the_gpu_is_named():
    text = tune.table([result((512, "128x256", 1.0)), result((64, "32x32_split_k", 1.0))])
    assert text.index("{64, ") < text.index("{512, ")
    assert "/// NVIDIA H200\n" in text


def test_other_kernels_failures_and_the_table_itself_do_not_count():
    run = result((64, "32x32", 1.0))
    run["benchmarks"] += [
        {"kernel": "gpu/matmul/cublas", "sizes": cube(64), "tunables": {}, "gflops": 9.0},
        {"kernel": tune.KERNEL, "sizes": cube(64), "tunables": {"recipe": "table"}, "gflops": 9.0},
        {"kernel": tune.KERNEL, "sizes": cube(64), "tunables": {"recipe": "128x256"}, "error_message": "wrong"},
    ]
    assert tune.rates([run]) == {(64, 64, 64): {"32x32": 1.0}}


@pytest.mark.parametrize("runs", ([], [result()], [result((64, "64x32", 1.0)), result((64, "32x32", 1.0), gpu="NVIDIA A100")]))
def test_nothing_measured_or_two_gpus_are_an_error(runs):
    with pytest.raises(ValueError, match="one kind of GPU"):
        tune.table(runs)
