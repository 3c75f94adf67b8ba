"""The declarations of libraries: downloads are compared with their hashes, and missing libraries are named with packages.
Archives are made here and named by file:// addresses; nothing comes from the network."""

import hashlib
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "common" / "libraries.cmake"
NAMES = re.search(r"set\(rung_pinned ([^)]*)\)", SCRIPT.read_text()).group(1).split()

pytestmark = pytest.mark.skipif(not shutil.which("cmake"), reason="no cmake")


def archive(folder: Path, name: str, files: dict[str, str]) -> Path:
    source = folder / f"{name}-1.0"
    for file, text in files.items():
        (source / file).parent.mkdir(parents=True, exist_ok=True)
        (source / file).write_text(text)
    path = folder / f"{name}-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        tar.add(source, arcname=source.name)
    return path


def pinned_to(path: Path, name: str, sha256: str | None = None) -> list[str]:
    sha256 = sha256 or hashlib.sha256(path.read_bytes()).hexdigest()
    return [f"-DRUNG_URL_{name}=file://{path}", f"-DRUNG_SHA256_{name}={sha256}"]


def download(to: Path, options: list[str]) -> subprocess.CompletedProcess:
    return subprocess.run(["cmake", f"-DRUNG_SOURCES={to}", *options, "-P", str(SCRIPT)], capture_output=True, text=True)


@pytest.fixture
def archives(tmp_path):
    (tmp_path / "made").mkdir()
    return {name: archive(tmp_path / "made", name, {"a.txt": name}) for name in NAMES}


def test_every_pin_is_an_address_with_a_hash():
    pins = re.findall(r"^rung_pin\((\w+) (https://\S+)\s+([0-9a-f]{64})\)", SCRIPT.read_text(), re.MULTILINE)
    assert [name for name, _, _ in pins] == NAMES
    assert all(re.search(r"\d+\.\d+", address) for _, address, _ in pins), "an address without a version"


def test_the_script_fills_a_folder_and_does_not_ask_twice(archives, tmp_path):
    options = [option for name, path in archives.items() for option in pinned_to(path, name)]
    done = download(tmp_path / "to", options)
    assert done.returncode == 0, done.stderr
    assert sorted(p.name for p in (tmp_path / "to").iterdir()) == sorted(f"{name}-1.0.tar.gz" for name in NAMES)
    shutil.rmtree(tmp_path / "made")
    assert download(tmp_path / "to", options).returncode == 0, "what is there is not downloaded again"


def test_another_archive_than_the_pinned_one_is_refused(archives, tmp_path):
    options = [option for name, path in archives.items() for option in pinned_to(path, name)]
    done = download(tmp_path / "to", options + pinned_to(archives["fmt"], "fmt", "0" * 64))
    assert done.returncode != 0
    assert "is not the pinned archive: its SHA-256 is" in " ".join(done.stderr.split())
    assert not list((tmp_path / "to").glob("fmt*")), "it is not kept"


def configure(tmp_path: Path, *options: str) -> tuple[int, str]:
    done = subprocess.run(
        ["cmake", "-S", str(ROOT), "-B", str(tmp_path / "build"), "-DRUNG_CUDA=OFF", "-DRUNG_TESTS=OFF",
         *(("-G", "Ninja") if shutil.which("ninja") else ()), *options],
        capture_output=True, text=True)
    return done.returncode, " ".join((done.stdout + done.stderr).split())


def test_what_is_missing_is_named_with_its_package(tmp_path):
    code, output = configure(tmp_path, "-DRUNG_WITHOUT=fmt;tomlplusplus", "-DRUNG_DOWNLOAD=OFF")
    assert code != 0
    assert "rung cannot be built without fmt (not found, in Debian and Ubuntu libfmt-dev) toml++ (not found, in Debian " \
           "and Ubuntu libtomlplusplus-dev) Install the packages" in output


def test_a_name_that_no_library_has_is_refused(tmp_path):
    code, output = configure(tmp_path, "-DRUNG_WITHOUT=hwloc;OpenBLAS")
    assert code != 0 and "there is no library 'OpenBLAS', but benchmark, fmt," in output


def test_a_folder_of_sources_serves_whatever_is_not_installed(tmp_path):
    sources = tmp_path / "sources"
    sources.mkdir()
    made = archive(sources, "fmtlib", {"include/fmt/core.h": "", "src/format.cc": ""})
    made.rename(sources / "fmtlib_9.9.9+ds1.orig.tar.gz")  # as Debian names it
    shutil.rmtree(sources / "fmtlib-1.0")
    (sources / "tomlplusplus-3.4.0" / "include" / "toml++").mkdir(parents=True)  # and one that is unpacked
    options = ("-DRUNG_WITHOUT=fmt;tomlplusplus;hwloc;boost_context;openblas;onednn;highway", "-DRUNG_DOWNLOAD=OFF",
               f"-DRUNG_SOURCES={sources}")
    code, output = configure(tmp_path, *options)
    assert code == 0, output
    assert f"fmt 9.9.9: built from {sources}/fmtlib_9.9.9+ds1.orig.tar.gz" in output
    assert f"toml++ 3.4.0: built from {sources}/tomlplusplus-3.4.0" in output
    for title in ("hwloc", "Boost.Context", "OpenBLAS", "oneDNN", "Highway"):
        assert re.search(rf"{title}: missing \(lib[a-z-]+\): [^:]+", output), title
