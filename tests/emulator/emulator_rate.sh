#!/usr/bin/env bash
# How fast the emulator runs kernels, compared with other emulators of GPU kernels on a CPU:
#   bash tests/emulator/emulator_rate.sh build experiments/recorded/emulators.json
# Oclgrind (Debian: oclgrind) and Numba (pip install numba, for python3 or for the Python that $PYTHON names) take part
# where they are installed. About ten minutes, with nothing else running.
set -euo pipefail
[ $# -eq 2 ] || { sed -n '2,5p' "$0" | sed 's/^# //'; exit 2; }
build=$(realpath "$1") target=$(realpath -m "$2")
cd "$(dirname "${BASH_SOURCE[0]}")"
python=${PYTHON:-python3}
export PYTHONDONTWRITEBYTECODE=1 OMP_WAIT_POLICY=passive  # a thread that waits takes no processor time

work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
cmake --build "$build" --target emulator_rate faulty_kernels_emulated >&2
"$build/tests/faulty_kernels_emulated" --json >"$work/faults.json"
"$build/tests/emulator_rate" >"$work/rung.json"
peers=()
for peer in oclgrind numba; do
  status=0
  "$python" "peers/tiled_$peer.py" >"$work/$peer.json" || status=$?
  case $status in
    0) peers+=("$work/$peer.json") ;;
    2) echo "emulator_rate.sh: without $peer" >&2 ;;
    *) exit 1 ;;
  esac
done
commit=$(git rev-parse --short HEAD 2>/dev/null || echo "")
"$python" peers/merge.py "$target" "$commit" "$work/faults.json" "$work/rung.json" "${peers[@]}"
