"""What the access patterns and the transpose conclude from invented data."""

import matplotlib.pyplot as plt
from synthetic import DRAM, Run

from report.data.collect import collect
from report.sections.contributions import contributions

MILLION = 1_000_000
L2 = 60 * MILLION
METRIC = {"key": "gbytes_per_s", "unit": "GB/s"}
BLOCKS = {"32x8": 4, "256x1": 4, "16x16": 4, "8x32": 4, "4x4": 4, "1x256": 32}
"""Sectors of a request along the rows of a wide matrix; half a warp of 4 × 4 touches four."""
ORDERS = {"identity": 4, "lanes": 4, "local": 29, "strided": 32, "sorted": 21, "random": 32}


def section_of(folder, run, name):
    root = __import__("pathlib").Path(__file__).resolve().parents[2]
    run.context["experiment_toml"] = (root / "experiments" / f"{name}.toml").read_text()
    run.save(folder)
    return contributions(collect([folder], []))[0].section


def drawn(section):
    """Draws every figure; a figure that cannot be drawn raises."""
    for figure in (x for x in (*section.figures, *section.appendix) if hasattr(x, "draw")):
        fig = plt.figure(figsize=(6.5, figure.height / 25.4))
        figure.draw(fig)
        plt.close(fig)


# Patterns


def strided_sectors(width, stride, offset):
    return len({(offset + lane * stride) * width // 32 for lane in range(32)} | {
        ((offset + lane * stride + 1) * width - 1) // 32 for lane in range(32)})


class Patterns:
    """Points of all patterns: rates of a GPU whose roofs decide, except where its caches help or a launch takes longer."""

    def __init__(self, timed=True, counted=True, cpu=True, launch=3e-5, helped=1.5, off=0.95):
        self.run = Run("coalescing", gpu_l2_bytes=L2, cpu_l3_bytes=L2, problems={
            name: {"title": name, "metric": METRIC, "size_names": ["n"]} for name in ("copy_strided", "index_2d", "gather")})
        self.timed, self.counted, self.launch = timed, counted, launch
        self.run.roofs("gpu")
        self.run.roofs("cpu", (1, 4))
        for width in (4, 8, 16):
            for stride in (1, 2, 4, 8, 32):
                self.strided(400 * MILLION // width, width, stride)
                self.strided(2**18 * stride, width, stride, count=False)
            for offset in (1, 4, 8, 31):
                self.strided(400 * MILLION // width, width, 1, offset, factor=off / (8 / 9))
        for block, sectors in BLOCKS.items():
            self.matrix("rows", block, 10_000, 10_000, sectors)
        self.matrix("columns", "16x16", 10_000, 10_000, 16, helped)
        for how, block, sectors in (("rows", "16x16", 4), ("columns", "16x16", 16), ("columns", "32x8", 32)):
            self.matrix(how, block, 6 * MILLION, 16, sectors, helped if how == "columns" else 1.0)
        for data, sectors in ORDERS.items():
            self.gather(data, sectors, 5 if data == "local" else 1)
        if cpu and timed:
            for stride in (1, 4, 16, 32):
                bytes_ = 4 * 100 * MILLION // stride
                moved = bytes_ * min(stride, 16) + 2 * bytes_
                self.run.time("cpu/copy_strided/openmp", moved / 1e10, self.sizes(100 * MILLION, stride, 0, 4), {}, bytes_min=2 * bytes_,
                              bytes_dram_model=moved)
            for data, rate in (("identity", 8e9), ("random", 1e9)):
                self.run.time("cpu/gather/openmp", 12 * 50 * MILLION / rate, {"n": 50 * MILLION}, {}, bytes_min=12 * 50 * MILLION, data=data,
                              name=f"cpu/gather/openmp/{data}")

    @staticmethod
    def sizes(n, stride, offset, width):
        return {"n": n, "stride": stride, "offset": offset, "width": width}

    def add(self, kernel, sizes, tunables, useful, moved, loads, requests, factor, count=True, data="random"):
        level = 4 * DRAM if useful < L2 / 4 else DRAM
        name = "/".join([kernel, *(f"{k}:{v}" for k, v in (tunables | sizes).items()), data])
        if self.timed:
            self.run.time(kernel, moved / (level * 1e9) / factor + self.launch, sizes, tunables, bytes_min=useful, data=data, name=name)
        if self.counted and count:
            self.run.count(kernel, sizes, tunables, bytes_min=useful, load_requests=requests, load_sectors=loads,
                           store_sectors=moved / 32 - loads, store_requests=requests)
            for key, value in (("data", data), ("name", f"count/{name}"), ("run_name", f"count/{name}")):
                self.run.benchmarks[-1][key] = value

    def strided(self, n, width, stride, offset=0, factor=1.0, count=True):
        elements = (n - offset) // stride
        warps = elements / 32
        loads = warps * strided_sectors(width, stride, offset)
        self.add("gpu/copy_strided/elements", self.sizes(n, stride, offset, width), {"loads": 8}, 2 * width * elements,
                 32 * (loads + warps * width), loads, warps, factor if offset * width % 32 else 1.0, count)

    def matrix(self, how, block, m, n, sectors, factor=1.0):
        warps = m * n / 32
        self.add(f"gpu/index_2d/{how}", {"m": m, "n": n}, {"block": block}, 8 * m * n, 64 * warps * sectors, warps * sectors, warps, factor)

    def gather(self, data, sectors, factor):
        for n in (50 * MILLION, MILLION):
            warps = n / 32
            self.add("gpu/gather/elements", {"n": n}, {"loads": 8}, 12 * n, 32 * warps * (sectors + 8), warps * (sectors + 4), 2 * warps,
                     factor, data=data)


def test_sectors_predict_the_rates_and_small_arrays_hide_them(tmp_path):
    section = section_of(tmp_path, Patterns().run, "coalescing")
    assert "at a stride of 32 leaves" in section.finding and "predict the 27 rates over strides and offsets with a median error of" in section.finding
    assert "hardly show whether accesses are coalesced" in section.finding
    assert "A random gather reaches" in section.finding and "29 sectors per request would allow" in section.finding
    assert "and 1 × 256 threads (12.5" in section.finding and "8\u00a0bytes requested per useful byte" in section.finding
    assert "The CPU, whose cache lines have 64" in section.finding
    drawn(section)


def test_the_stride_counts_alike_where_nothing_is_launched(tmp_path):
    section = section_of(tmp_path, Patterns(launch=1e-9).run, "coalescing")
    assert "hardly show" not in section.finding and "Within the L2 the same stride costs" in section.finding


def test_counts_alone_say_what_was_counted(tmp_path):
    section = section_of(tmp_path, Patterns(timed=False).run, "coalescing")
    assert "takes 4 sectors of 32" in section.finding and "and 32 from a stride of 8 on (counted; nothing was timed)" in section.finding
    drawn(section)


def test_times_alone_and_a_single_point(tmp_path):
    section = section_of(tmp_path, Patterns(counted=False).run, "coalescing")
    assert "predict" not in section.finding
    drawn(section)
    run = Patterns(timed=False, counted=False, cpu=False).run
    run.time("gpu/gather/elements", 1e-3, {"n": 50 * MILLION}, {"loads": 8}, bytes_min=600 * MILLION, data="random")
    drawn(section_of(tmp_path, run, "coalescing"))


# Transpose


KERNELS = {"reads_rows": (20, 4, 32, None, None), "writes_rows": (40, 32, 4, None, None), "tile": (70, 4, 4, 1, 32),
           "padded": (95, 4, 4, 1, 1), "swizzled": (96, 4, 4, 1, 1), "vectorised": (98, 16, 16, 4, 4)}
"""Rate in GB/s; sectors of a load and of a store; wavefronts of a store to shared memory and of a load."""


def transposes(rates=(), timed=True, counted=True, cpu=True):
    run = Run("transpose", problems={"transpose": {"title": "Transpose", "metric": METRIC, "size_names": ["m", "n"]}})
    for side, rate in (("gpu", DRAM), ("cpu", DRAM / 10)):
        name = run.kernel(f"{side}/copy/dram", ceiling={"label": "DRAM copy", "is_bandwidth": True})
        run.time(name, 0.001, {"bytes": 1000}, threads=4 if side == "cpu" else 1, name=f"{name}/bytes:1000", bytes_min=rate * 1e6)
    for i, (name, (rate, load, store, shared_store, shared_load)) in enumerate(KERNELS.items()):
        kernel = run.kernel(f"gpu/transpose/{name}", order=10 * i)
        for n in (1024, 4096, 16384) if timed else ():
            run.time(kernel, 8 * n * n / dict(rates).get(name, rate) / 1e9, {"m": n, "n": n}, {}, bytes_min=8 * n * n, interleaved_with=7)
        if counted:
            shared = {"shared_load_requests": 64, "shared_store_requests": 64, "shared_load_wavefronts": 64 * shared_load,
                      "shared_store_wavefronts": 64 * shared_store} if shared_load else {}
            run.count(kernel, {"m": 256, "n": 256}, {}, bytes_min=8 * 2**16, load_requests=64, load_sectors=64 * load, store_requests=64,
                      store_sectors=64 * store, **shared)
    if timed:
        run.kernel("gpu/transpose/cublas", order=90, title="cuBLAS", is_library=True)
        run.time("gpu/transpose/cublas", 8 * 2**28 / 9e10, {"m": 16384, "n": 16384}, {}, bytes_min=8 * 2**28, interleaved_with=7)
    for i, (name, rate) in enumerate((("naive", 0.5), ("blocked", 6), ("streaming", 9.5)) if cpu and timed else ()):
        kernel = run.kernel(f"cpu/transpose/{name}", order=10 * i, is_serial=name == "naive")
        run.time(kernel, 8 * 2**26 / rate / 1e9, {"m": 8192, "n": 8192}, {}, bytes_min=8 * 2**26)
    return run


def test_the_ladder_ends_near_a_copy(tmp_path):
    section = section_of(tmp_path, transposes(), "transpose")
    assert "the fastest transpose on the GPU is vectorised with 97" in section.finding and "98\u00a0% of the rate of a copy in DRAM (99.9" in section.finding
    assert "than cuBLAS" not in section.finding and "as fast as cuBLAS" in section.finding
    assert "on the CPU is streaming with 9.4" in section.finding
    drawn(section)


def test_counts_alone_tell_sectors_and_wavefronts(tmp_path):
    section = section_of(tmp_path, transposes(timed=False), "transpose")
    assert "takes up to 32 sectors" in section.finding and "tile takes 32 wavefronts" in section.finding
    assert section.tables and not section.figures


