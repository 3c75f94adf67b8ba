# What both commands (experiments/run.sh, tests/run.sh) need first: packages, a build, Python. To be sourced.
# Prints what it installs and never asks. Where a package cannot be installed (offline, no rights), it continues
# without: libraries that are not installed are built from their sources (common/libraries.cmake), from the folder named
# by RUNG_SOURCES or from the network.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$top"

packages=(cmake ninja-build g++ git libbenchmark-dev libgtest-dev libeigen3-dev libopenblas-openmp-dev libdnnl-dev libcli11-dev
  libfmt-dev nlohmann-json3-dev libtomlplusplus-dev libhwloc-dev libhwy-dev libboost-context-dev python3 python3-venv)

targets=(all)  # what is built

say() { printf '== %s\n' "$*"; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

# Removes from the list what this distribution does not have: with an unknown name apt installs no package at all.
known_to_apt() {
  local -n list=$1
  local name known=()
  for name in "${list[@]}"; do
    if apt-cache show "$name" >/dev/null 2>&1; then known+=("$name"); else echo "not in this distribution: $name"; fi
  done
  list=("${known[@]}")
}

install_packages() {
  command -v dpkg-query >/dev/null || return 0
  local missing=() name
  for name in "${packages[@]}"; do
    dpkg-query -W -f '${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || missing+=("$name")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  say "installing ${missing[*]}"
  local options=(-qq -o Acquire::Retries=2 -o Acquire::http::Timeout=30 -o Acquire::https::Timeout=30)
  export DEBIAN_FRONTEND=noninteractive
  # python3-venv brings ca-certificates, which replaces a bundle that the site put there (a proxy's): pip still needs
  # it. The copy is kept in this tree, where no other user can have put a file of that name.
  local bundle=/etc/ssl/certs/ca-certificates.crt
  [ -f $bundle ] && mkdir -p build && cp $bundle build/certificates.crt && export PIP_CERT=$top/build/certificates.crt
  if ! { as_root apt-get "${options[@]}" update && known_to_apt missing &&
         as_root apt-get "${options[@]}" install -y --no-install-recommends "${missing[@]}"; } >packages.log 2>&1; then
    say "could not install them (offline, or no rights; see packages.log): continuing with what is installed"
  fi
}

# Finds an interpreter with the report's packages: the system's if it has them all, else a .venv of ours. With
# --no-compile Python compiles the few modules that are imported; for pip to compile all takes several seconds.
find_python() {
  local wanted='import numpy, scipy, matplotlib, typst, pytest'
  python=$top/.venv/bin/python
  [ -x "$python" ] && "$python" -c "$wanted" 2>/dev/null && return 0
  if python3 -c "$wanted" 2>/dev/null; then python=python3; return 0; fi
  say "installing the report's Python packages into .venv"
  if python3 -m venv --system-site-packages .venv &&
     "$python" -m pip install --quiet --disable-pip-version-check --timeout 30 --no-compile -r report/requirements.txt; then
    return 0
  fi >python.log 2>&1
  say "could not install all of them (offline? see python.log): the report has what the rest allows"
  "$python" -c 'import numpy' 2>/dev/null || python=python3  # what is installed is used
}

# CMake 3.25 or later: the system's, else one from PyPI in .venv, which needs no rights.
find_cmake() {
  local version
  version=$(cmake --version 2>/dev/null | grep -oE '[0-9]+\.[0-9]+' | head -n 1) || true
  [ -n "$version" ] && [ "$(printf '3.25\n%s\n' "$version" | sort -V | head -n 1)" = 3.25 ] && return 0
  say "installing CMake into .venv (here is ${version:-none}, 3.25 is needed)"
  { [ -x .venv/bin/python ] || python3 -m venv --system-site-packages .venv; } >>python.log 2>&1 &&
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --timeout 30 'cmake>=3.25' ninja \
      >>python.log 2>&1 && export PATH=$top/.venv/bin:$PATH && return 0
  say "could not install it: see python.log"
}

build() {
  local generator=()
  find_cmake
  command -v ninja >/dev/null && [ ! -f build/CMakeCache.txt ] && generator=(-G Ninja)
  if command -v nvidia-smi >/dev/null && nvidia-smi -L >/dev/null 2>&1 &&
     ! command -v nvcc >/dev/null && [ ! -x /usr/local/cuda/bin/nvcc ]; then
    say "there is a GPU but no nvcc: install the CUDA toolkit to measure it; continuing with the CPU side"
  fi
  say "building in build/ (${CMAKE_BUILD_PARALLEL_LEVEL:=$(nproc)} at a time)"
  export CMAKE_BUILD_PARALLEL_LEVEL
  [ -w . ] || { say "$top cannot be written: copy it to where it can"; return 1; }
  local sources=()
  [ -z "${RUNG_SOURCES:-}" ] || sources=("-DRUNG_SOURCES=$RUNG_SOURCES")
  if cmake -S . -B build "${generator[@]}" "${sources[@]}" "$@" >build.log 2>&1; then
    sed -n 's/^--   \(.*: missing\)/   \1/p' build.log
    cmake --build build --target "${targets[@]}" >>build.log 2>&1 && return 0
  fi
  tail -n 40 build.log
  say "the build failed: see build.log"
  return 1
}
