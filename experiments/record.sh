#!/usr/bin/env bash
# Measures the results in experiments/recorded/MACHINE again, on this machine:
#   bash experiments/record.sh MACHINE [EXPERIMENT…] [-- FLAGS OF rung run]
# Runs the full study of every experiment, or of the named ones; with ncu, reads hardware counters of their points; records
# the emulator's reports on the planted faults and, if available, compute-sanitizer's; with nvcc, which snippets compile. A
# file is replaced when its part is done: after an interruption, name the missing experiments. Files larger than 48 KiB are
# packed by gzip, to the same bytes on any machine. For the GPU's side alone: -- --benchmark_filter=gpu/
# Builds only the planted faults; `bash tests/run.sh` builds the rest. Commit first, since the results record the commit.
# Exit codes: as for `rung run`; 2 wrong usage.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ $# -ge 1 ] || { sed -n '2,3p' "$0" | sed 's/^# //'; exit 2; }
[ -x build/rung ] || { echo "record.sh: there is no build/rung: bash tests/run.sh builds it" >&2; exit 2; }
target=experiments/recorded/$1 runs=results/record-$1
shift
names=() flags=()
while [ $# -gt 0 ]; do
  [ "$1" = -- ] && { shift; flags=("$@"); break; }
  names+=("$1")
  shift
done
if [ ${#names[@]} -eq 0 ]; then
  for file in experiments/*.toml; do grep -q '^question' "$file" && names+=("$(basename "$file" .toml)"); done
fi
mkdir -p "$target"
pack() { find "$target" -name '*.json' -size +48k -exec gzip -9nf {} +; }

code=0
for name in "${names[@]}"; do
  build/rung run "$name" --full --outdir "$runs" "${flags[@]}" || code=$?
  [ $code -le 1 ] || exit $code
  newest=$(ls -d "$runs"/*-"$name" | tail -n 1)
  rm -f "$target/$name.json.gz"
  cp "$newest/$name.json" "$target/"
  pack
  [ "$name" != ceilings ] || cp "$newest"/ceilings-*.json "$target/"
done

has_gpu=$(command -v nvidia-smi >/dev/null && nvidia-smi -L 2>/dev/null || true)
if [ -n "$has_gpu" ] && command -v ncu >/dev/null; then
  [ ! -f "$target/counters.json.gz" ] || gunzip -f "$target/counters.json.gz"  # profile.sh adds to it
  for name in "${names[@]}"; do bash experiments/profile.sh "$name" "$target/counters.json" || true; done
  pack
fi

if grep -qs '^RUNG_TESTS:BOOL=ON' build/CMakeCache.txt; then
  cmake --build build --target test_programs >build.log 2>&1 || echo "record.sh: no planted faults: see build.log" >&2
fi
faults=build/tests/faulty_kernels_emulated
[ ! -x $faults ] || { $faults --json >"$runs/hazards.json" && mv "$runs/hazards.json" "$target/"; }
faults=build/tests/emulator/faulty/faulty_kernels
if [ -n "$has_gpu" ] && [ -x $faults ] && command -v compute-sanitizer >/dev/null; then
  bash tests/emulator/faulty/sanitize.sh $faults "$target/sanitizer.json"
fi
if [ -n "$has_gpu" ] && [ -x $faults ]; then
  python3 tests/emulator/faulty/wrong_results.py $faults "$target/wrong_results.json"
fi
python3 experiments/snippets/compile.py experiments/recorded/compilers.json || true  # of no machine: nvcc's output
exit $code
