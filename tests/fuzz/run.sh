#!/usr/bin/env bash
# Fuzzes what reads text that others wrote (experiments, pictures, journals, words of command lines), under the address
# and undefined-behaviour sanitizers, guided by coverage:  bash tests/fuzz/run.sh [SECONDS]
# Needs clang++ with libFuzzer (Debian: clang, libclang-rt-dev), fmt, toml++ and nlohmann-json. Built into $BUILD/fuzz.
# 600 seconds unless told, after the build; what it learns stays in $BUILD/fuzz/corpus. The code is 1 if an input makes
# a reader crash, hang or leak: that input's path is in the last line.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
seconds=${1:-600} build=${BUILD:-build}/fuzz
mkdir -p "$build"
flags=(-std=c++20 -O1 -g1 -DNDEBUG -I. "-DRUNG_SOURCE_DIR=\"$PWD\"" -fno-omit-frame-pointer
       -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
       -fno-sanitize=unreachable)  # toml++ calls unreachable what letters such as ä reach outside of quotes
objects=()
for source in tests/fuzz/{readers,fuzzer}.cpp common/harness/{experiment,experiment_values,journal}.cpp \
              common/program/{picture,quantity}.cpp common/{registry,source_dir}.cpp common/problem/{problem,vector_addition}.cpp \
              common/machine/{cpu_info,control_groups,topology_by_sysfs,topology_files}.cpp common/emulator/caches.cpp \
              common/model/{devices,occupancy}.cpp cpu/vector_addition/loop.cpp; do
  object=$build/${source//\//_}.o
  [ "$object" -nt "$source" ] || clang++ "${flags[@]}" -c "$source" -o "$object"
  objects+=("$object")
done
clang++ -fsanitize=fuzzer,address,undefined "${objects[@]}" -o "$build/fuzzer" -lfmt -fopenmp

readers=(toml pnm journal words) runs=0
for reader in "${readers[@]}"; do
  mkdir -p "$build/corpus/$reader"
  log=$build/$reader.log
  if ! RUNG_READER=$reader "$build/fuzzer" -max_total_time=$((seconds / ${#readers[@]})) -max_len=4096 -timeout=10 \
      -rss_limit_mb=2048 "-artifact_prefix=$build/$reader-" "$build/corpus/$reader" "tests/fuzz/corpus/$reader" >"$log" 2>&1; then
    grep -E "^SUMMARY|Test unit written|ERROR" "$log" >&2 || tail -3 "$log" >&2
    exit 1
  fi
  done_=$(sed -n 's/^Done \([0-9]*\) runs.*/\1/p' "$log")
  echo "$reader: $done_ inputs"
  runs=$((runs + done_))
done
echo "$runs inputs, none of which made a reader crash, hang or leak"
