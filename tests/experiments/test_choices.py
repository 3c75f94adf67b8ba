"""experiments/tuning/choices.py: what a choice among shapes loses."""

import importlib.util
import json
import pathlib

import pytest

FILE = pathlib.Path(__file__).parents[2] / "experiments" / "tuning" / "choices.py"
spec = importlib.util.spec_from_file_location("choices", FILE)
choices = importlib.util.module_from_spec(spec)
spec.loader.exec_module(choices)


def entries(n: int, **seconds: float) -> list[dict]:
    return [{"kernel": "gpu/matmul/wgmma_top_bf16", "sizes": {"m": n, "n": n, "k": n}, "tunables": {"shape": shape},
             "iterations": 1, "real_time": 1e9 * t * factor} for shape, t in seconds.items() for factor in (0.9, 1, 1.3)]


def result() -> dict:
    skipped = {"kernel": "gpu/matmul/wgmma_top_bf16", "sizes": {"m": 1, "n": 1, "k": 1}, "tunables": {"shape": "a"}, "iterations": 0}
    library = {"kernel": "gpu/matmul/cublas_bf16", "sizes": {"m": 9, "n": 9, "k": 9}, "tunables": {}, "iterations": 1, "real_time": 1}
    return {"benchmarks": [*entries(100, best=2, a=2, b=1), *entries(110, best=3, a=4, b=3), *entries(1000, best=5, a=5, b=10), skipped, library]}


def test_losses_are_over_the_fastest_shape():
    by_size = choices.times(result())["gpu/matmul/wgmma_top_bf16"]
    assert choices.losses(by_size) == pytest.approx({(100,) * 3: 2, (110,) * 3: 1, (1000,) * 3: 1})
    # 110's fastest is b, as at 100; the nearest to 1000 is 110
    assert choices.losses_by_nearest(by_size) == pytest.approx({(100,) * 3: 1, (110,) * 3: 1, (1000,) * 3: 2})


def test_prints_a_line_a_kernel(tmp_path, capsys):
    file = tmp_path / "wgmma.json"
    file.write_text(json.dumps(result()))
    choices.main([str(file)])
    assert capsys.readouterr().out == (
        "gpu/matmul/wgmma_top_bf16, 3 sizes: slower than the fastest shape by 26.0% on average, 100.0% at most (100 x 100 x 100); "
        "by the nearest other size: 26.0% on average, 100.0% at most (1000 x 1000 x 1000)\n")


def test_says_how_it_is_used():
    with pytest.raises(SystemExit, match="choices.py results"):
        choices.main([])
