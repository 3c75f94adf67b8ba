#!/usr/bin/env bash
# Fuzzes the readers of foreign text (experiments, pictures, journals, amounts, axes and questions of command lines),
# under the address and undefined-behaviour sanitizers, guided by coverage:  bash tests/fuzz/run.sh [SECONDS]
# Needs clang++ with libFuzzer and OpenMP (Debian: clang, libclang-rt-dev, libomp-dev), fmt, toml++, nlohmann-json and
# CLI11. Built into $BUILD/fuzz. The default is 600 seconds, after the build, shared by the readers; $JOBS (1) of them run
# at once. Inputs that they find are kept in $BUILD/fuzz/corpus. The code is 1 if an input makes a reader crash, hang or
# leak; its path is printed.
# tests/fuzz/report.sh fuzzes the report's readers (results, claims, ncu's CSV).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
seconds=${1:-600} jobs=${JOBS:-1} build=${BUILD:-build}/fuzz
mkdir -p "$build"
flags=(-std=c++20 -O1 -g1 -DNDEBUG -I. "-DRUNG_SOURCE_DIR=\"$PWD\"" -fno-omit-frame-pointer
       -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
       -fno-sanitize=unreachable)  # toml++ calls unreachable what letters such as ä reach outside of quotes
headers=$(find common cpu gpu tests -name '*.hpp' -printf '%T@ %p\n' | sort -n | tail -1 | cut -d' ' -f2)  # the newest
objects=()
for source in tests/fuzz/{readers,fuzzer}.cpp common/harness/{experiment,experiment_values,journal}.cpp \
              common/program/{picture,quantity,catalogue,command_line,commands,command_bound,command_occupancy,command_tile,occupancy_plot}.cpp \
              common/{registry,source_dir}.cpp common/problem/{problem,vector_addition}.cpp common/harness/sources.cpp \
              common/machine/{cpu_info,control_groups,topology_by_sysfs,topology_files}.cpp common/emulator/caches.cpp \
              common/model/*.cpp cpu/vector_addition/loop.cpp gpu/host/without_cuda.cpp; do
  object=$build/${source//\//_}.o
  [ "$object" -nt "$source" ] && [ "$object" -nt "$headers" ] || clang++ "${flags[@]}" -c "$source" -o "$object"
  objects+=("$object")
done
clang++ -fsanitize=fuzzer,address,undefined "${objects[@]}" -o "$build/fuzzer" -lfmt -fopenmp

# Stacks of allocations, a large quarantine and the choice of inputs by rarity cost as much as half of all the time.
export ASAN_OPTIONS=malloc_context_size=0:quarantine_size_mb=8
readers=(toml pnm journal amount words question)
fuzz() {
  mkdir -p "$build/corpus/$1"
  RUNG_READER=$1 "$build/fuzzer" "-max_total_time=$((seconds * jobs / ${#readers[@]}))" -max_len=4096 -timeout=10 -entropic=0 \
    -rss_limit_mb=2048 "-artifact_prefix=$build/$1-" "$build/corpus/$1" "tests/fuzz/corpus/$1" >"$build/$1.log" 2>&1 ||
    echo "fault" >>"$build/$1.log"
}
for reader in "${readers[@]}"; do
  while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
  fuzz "$reader" &
done
wait

runs=0 code=0
for reader in "${readers[@]}"; do
  log=$build/$reader.log
  if [ "$(tail -1 "$log")" = fault ]; then
    grep -E "^SUMMARY|Test unit written|ERROR" "$log" >&2 || tail -3 "$log" >&2
    code=1
    continue
  fi
  inputs=$(sed -n 's/^Done \([0-9]*\) runs.*/\1/p' "$log")
  echo "$reader: $inputs inputs"
  runs=$((runs + inputs))
done
[ "$code" = 0 ] && echo "$runs inputs, and no reader crashed, hung or leaked"
exit "$code"
