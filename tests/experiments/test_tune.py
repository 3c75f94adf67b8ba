"""The tuner's table: the fastest recipe of each size from a run's samples."""

import importlib.util
import pathlib

import pytest

spec = importlib.util.spec_from_file_location(
    "tune", pathlib.Path(__file__).resolve().parents[2] / "experiments" / "tune.py"
)
tune = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tune)


def result(*samples, gpu="NVIDIA H200"):
    """A run with samples of (size, recipe, gflops)."""
    entries = [
        {"kernel": tune.KERNEL, "m": size, "n": size, "k": size, "recipe": recipe, "gflops": rate}
        for size, recipe, rate in samples
    ]
    return {"context": {"gpu_name": gpu}, "benchmarks": entries}


def test_the_median_decides_and_not_the_best_sample():
    text = tune.table([result((256, 8, 10.0), (256, 8, 10.0), (256, 8, 99.0), (256, 6, 20.0))])
    assert "    {256, 256, 256, 6},\n" in text


def test_near_equals_give_the_larger_tile():
    assert tune.fastest({2: 100.0, 3: 100.4}) == 2
    assert tune.fastest({2: 100.0, 3: 101.0}) == 3


def test_sizes_are_sorted_and_the_gpu_is_named():
    text = tune.table([result((512, 1, 1.0)), result((64, 9, 1.0))])
    assert text.index("{64, ") < text.index("{512, ")
    assert "/// NVIDIA H200\n" in text


def test_other_kernels_failures_and_the_table_itself_do_not_count():
    run = result((64, 9, 1.0))
    run["benchmarks"] += [
        {"kernel": "gpu/matmul/cublas", "m": 64, "n": 64, "k": 64, "gflops": 9.0},
        {"kernel": tune.KERNEL, "m": 64, "n": 64, "k": 64, "recipe": 0, "gflops": 9.0},
        {"kernel": tune.KERNEL, "m": 64, "n": 64, "k": 64, "recipe": 1, "error_message": "wrong"},
    ]
    assert tune.rates([run]) == {(64, 64, 64): {9: 1.0}}


@pytest.mark.parametrize("runs", ([], [result()], [result((64, 1, 1.0)), result((64, 2, 1.0), gpu="NVIDIA A100")]))
def test_nothing_measured_or_two_gpus_are_an_error(runs):
    with pytest.raises(ValueError, match="one kind of GPU"):
        tune.table(runs)
