"""The emulators' rates: from the measurements of tests/emulator/peers/ to one file."""

import sys

from conftest import ROOT
from synthetic import write

from report.data.companions import EmulatorFile
from report.data.load import load

sys.path.insert(0, str(ROOT / "tests" / "emulator" / "peers"))
import merge  # noqa: E402
import product  # noqa: E402


def row(mode, n, threads, accesses, seconds, kernel="gpu/matmul/tiled"):
    return {"mode": mode, "n": n, "threads": threads, "accesses": accesses, "seconds": [9 * s for s in seconds],
            "processor_seconds": seconds, "kernel": kernel, "load_sectors": 8}


def faults(found=True):
    return {"kernels": {name: {"emulator": {"found": found}} for name in (merge.RACE, merge.UNINITIALISED)}}


def test_measurements_become_one_file(tmp_path):
    counted = row("counting", 16, 1, product.accesses(16), [0.5])
    rung = {"machine": "Synthetic CPU", "cores": 2, "rows": [counted]}
    peer = {"tool": "Peer", "rows": [], "told": {}}
    files = [write(tmp_path / f"{i}.json", data) for i, data in enumerate((faults(), rung, peer))]
    target = tmp_path / "new" / "emulators.json"
    assert merge.main([str(target), "abc", *map(str, files)]) == 0
    file = load(target)
    assert isinstance(file, EmulatorFile) and [e.tool for e in file.emulators] == ["rung abc", "Peer"]
    assert file.emulators[0].told == {"race": True, "uninitialised": True, "accesses": True, "sectors": True}
    assert merge.main([str(target)]) == 2


def test_what_is_told_is_what_was_found():
    right = row("counting", 16, 1, product.accesses(16), [0.5])
    assert merge.told([right | {"accesses": 7}], faults())["accesses"] is False
    assert merge.told([right | {"load_sectors": 0}], faults())["sectors"] is False
    assert merge.told([right], faults(found=False)) == {"race": False, "uninitialised": False, "accesses": True,
                                                        "sectors": True}
    assert not any(merge.told([], faults(found=False)).values())


def test_the_peers_product():
    assert product.product([[1, 2], [3, 4]], [[5, 6], [7, 8]]) == [[19, 22], [43, 50]]
    assert product.accesses(16) == 2 * 16**3 + 2 * 2 * 16**2 + 16**2
    a, b = product.inputs(32)
    assert len({tuple(r) for r in a + b}) == 64 and a != b and product.product(a, b) != product.product(b, a)
