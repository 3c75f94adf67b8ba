"""What the box blur concludes from invented data."""

from pathlib import Path

import matplotlib.pyplot as plt
from synthetic import Run

from report.data.collect import collect
from report.experiment import Table
from report.sections.contributions import contributions

RADII = 1, 4, 16, 32
KERNELS = "naive", "shared_tile", "separable", "running_sum"
BOUND = 520.0
"""GPixel/s at the bandwidth of the invented copy."""


def rate_of(kernel: str, radius: int, falls: float = 0.0) -> float:
    """GPixel/s on the invented GPU."""
    side = 2 * radius + 1
    return {"naive": 900 / side**2, "shared_tile": 1500 / side**2, "separable": 700 / side}.get(kernel, 470 - falls * radius)


def sizes(n: int, radius: int) -> dict:
    return {"m": n, "n": n, "radius": radius}


def blurred(gpu=True, cpu=True, counts=True, radii=RADII, falls=0.0, naive=0.25, kernels=KERNELS) -> Run:
    run = Run("blur", experiment_toml=(Path(__file__).parents[2] / "experiments/blur.toml").read_text(encoding="utf-8"), problems={
        "blur": {"title": "Box blur of an image", "metric": {"key": "gpixels_per_s", "unit": "GPixel/s"},
                 "size_names": ["n", "m", "radius"]}})
    for side, factor in (("gpu", 1.0), ("cpu", 0.02)):
        if not {"gpu": gpu, "cpu": cpu}[side]:
            continue
        copy = run.kernel(f"{side}/ceiling/copy", ceiling={"label": "DRAM copy", "is_bandwidth": True})
        run.time(copy, 0.001, {"bytes": 1000}, name=f"{copy}/bytes:1000", bytes_min=8 * BOUND * factor * 1e6)
        for i, kernel in enumerate(k for k in kernels if side == "gpu" or k != "shared_tile"):
            name = run.kernel(f"{side}/blur/{kernel}", order=10 * i + 10)
            for radius in radii:
                rate = factor * rate_of(kernel, radius, falls)
                run.time(name, 16384**2 / rate / 1e9, sizes(16384, radius), name=f"{name}/n:16384/radius:{radius}", data="random",
                         gpixels_per_s=rate, bytes_min=8 * 16384**2, flops_useful=2 * 16384**2, judged={"max_error": 1e-6})
        for radius in (0, 2):
            pixels = {f"y[{r}][{c}]": 20.0 * (r + c) for r in range(6) for c in range(6)}
            run.time(name, 1e-6, sizes(6, radius), name=f"{name}/n:6/radius:{radius}/data:picture", data="picture", count=1,
                     gpixels_per_s=0.1, judged=pixels)
    for i, kernel in enumerate(KERNELS if counts else ()):
        name = run.kernel(f"gpu/blur/{kernel}", order=10 * i + 10)
        for radius in radii:
            ratio = {"naive": naive, "shared_tile": naive * (2 * radius + 1) ** 2 / 2, "separable": 0.25}.get(kernel, 2.2)
            flops = sum(min(j + radius, 63) - max(j - radius, 0) + 1 for j in range(64)) ** 2
            run.count(name, sizes(64, radius), flops_executed=flops, bytes_executed_loaded=flops / ratio,
                      bytes_declared_loaded=flops / ratio, bytes_executed_stored=4 * 64**2, flops_useful=2 * 64**2)
    return run


def section_of(folder, run):
    run.save(folder)
    found = contributions(collect([folder], []))
    return found[0].section if found else None


def drawn(section) -> list[str]:
    """Draws every figure; one that cannot be drawn raises. Returns their names."""
    for figure in section.figures:
        fig = plt.figure(figsize=(3.2, figure.height / 25.4))
        figure.draw(fig)
        plt.close(fig)
    return [figure.name for figure in section.figures]


def test_running_sums_make_the_rate_independent_of_the_radius(tmp_path):
    section = section_of(tmp_path, blurred())
    assert "On the GPU, running sum reaches" in section.finding and "radii from 1 to 32" in section.finding
    assert ", 90\u00a0% of the rate of a copy in DRAM" in section.finding
    assert "; naive reaches 100\u00a0GPixel/s at radius 1 and 213\u00a0MPixel/s at radius 32" in section.finding
    assert drawn(section) == ["blur_gpu_rates", "blur_cpu_rates", "blur_ratio", "blur_picture"]
    ratio = section.figures[2].rows
    assert {r["formula"] is None for r in ratio if "running" in r["kernel"]} == {True}
    assert all(abs(r["formula"] / r["counted"] - 1) < 1e-9 for r in ratio if r["kernel"].endswith("naive"))
    assert {len(t.rows) for t in section.appendix if isinstance(t, Table) and t.name == "blur_gpu_radii"} == {16}


def test_without_a_gpu_or_counts_the_rest_is_told(tmp_path):
    section = section_of(tmp_path / "cpu", blurred(gpu=False, counts=False))
    assert "On the CPU" in section.finding and "GPU" not in section.finding
    assert drawn(section) == ["blur_cpu_rates", "blur_picture"]
    assert drawn(section_of(tmp_path / "gpu", blurred(cpu=False))) == ["blur_gpu_rates", "blur_ratio", "blur_picture"]


def test_counts_alone_say_nothing(tmp_path):
    assert section_of(tmp_path, blurred(gpu=False, cpu=False)) is None


def test_one_point_is_enough(tmp_path):
    section = section_of(tmp_path, blurred(cpu=False, counts=False, radii=(8,), kernels=("running_sum",)))
    assert "at radius 8" in section.finding
    assert drawn(section) == ["blur_gpu_rates", "blur_picture"]
