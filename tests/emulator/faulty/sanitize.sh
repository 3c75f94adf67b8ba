#!/usr/bin/env bash
# What compute-sanitizer's tools say of the planted faults and their right twins, on a machine with a GPU:
#   cmake --build build --target faulty_kernels
#   bash tests/emulator/faulty/sanitize.sh build/tests/emulator/faulty/faulty_kernels experiments/recorded/MACHINE/sanitizer.json
# Each kernel runs in a process of its own under each tool, 60 s at most; those that never end are left out.
set -euo pipefail
[ $# -eq 2 ] || { sed -n '2,4p' "$0" | sed 's/^# //'; exit 2; }
command -v compute-sanitizer >/dev/null || { echo "sanitize.sh: compute-sanitizer is not on the PATH" >&2; exit 2; }
program=$(realpath "$1") target=$(realpath -m "$2")
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
python=python3; [ -x .venv/bin/python ] && python=.venv/bin/python

LOGS=$(mktemp -d); trap 'rm -rf "$LOGS"' EXIT
export LOGS PROGRAM=$program
nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1 >"$LOGS/machine"
compute-sanitizer --version | tail -n 1 >"$LOGS/version"
"$program" --list | awk 'NF == 1' >"$LOGS/kernels"

# The tool and the program talk over a port, so that each of the processes needs a range of its own.
check() {  # KERNEL TOOL
  local log="$LOGS/$1.$2" status=0
  timeout -k 5 60 compute-sanitizer --tool "$2" --report-api-errors no --print-limit 5 --port $((49152 + 20 * SLOT)) \
    --log-file "$log.log" "$PROGRAM" "$1" >"$log.out" 2>&1 || status=$?
  echo "$status" >"$log.status"
}
export -f check
cores=$(nproc)
while read -r kernel; do printf "$kernel %s\n" memcheck racecheck synccheck initcheck; done <"$LOGS/kernels" |
  xargs -P $((cores < 16 ? cores : 16)) --process-slot-var=SLOT -L 1 bash -c 'check "$@"' check
"$python" tests/emulator/faulty/sanitizer.py "$LOGS" "$target"
