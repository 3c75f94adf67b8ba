#!/usr/bin/env bash
# The tests:  bash tests/run.sh [--all]
# Installs missing packages and builds; lists skipped tests with the reasons. Ends with "N passed, N failed".
# Without --all it leaves out the few longest tests (named below). On several processors, several tests run at once, the
# report's and the C++ ones at the same time. Tests of timing run alone, and never fail because the machine is busy: then
# they are skipped, with the measured values.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common/setup.sh"

all=0
for argument; do
  case $argument in
    --all) all=1 ;;
    *) echo "tests/run.sh: unknown argument '$argument': give --all or nothing" >&2; exit 2 ;;
  esac
done

# About time, so alone.
alone='CpuCeilings.EveryPassTakesItsTime:HotPath.*:HarnessCost.*:CpuEvents.*:Host.*'
# What takes long, and whose faults the other tests mostly see as well: further properties of each emulated kernel (that
# its results are right is tested always; that it has no hazards, for one type of several and for all but a few slow
# ones), kernels compiled again for a look at their machine code, whole experiments counted, caches simulated, large
# sizes, and runs that are ended at every instant.
long='*IsRightOnEveryDataSetAgainAndAgain/*:*RequestsTheBytesThatItDeclares/*:*EveryGeneralRung.*:*EveryRungWithLayouts.*'
long+=':*HasNoHazardInAnyOrder/gpu_matmul_coarsened:*HasNoHazardInAnyOrder/gpu_matmul_strassen'
long+=':*HasNoHazardInAnyOrder/gpu_matmul_dynamic_tile:*HopperSass.*:*TensorSass.*:*SassOf.*:*HardwareCounters.*'
long+=':LevelTraffic.*:SplitTail.*:PersistentShapes.*:BulkPrefixSum.*:*ErrorsOfTerms.*'
long+=':*HasNoHazardInAnyOrder/gpu_matmul_*_fp16:*HasNoHazardInAnyOrder/gpu_matmul_*_tf32'
long+=':*HasNoHazardInAnyOrder/gpu_matmul_wgmma_fp16x3:Threads.HaveScratchForAsManyAsThePointHas'
long+=':CpuMatmul.LibrariesUseAsManyThreadsAsOpenMp:MeasureTogether.GoesOnUntilTheRatiosAreKnown'
long+=':Program.LosesTheGroupInFlightAloneAndResumesByGroups'
long+=':HeatOracle.SeesFaultsInLargeFieldsBySamples:CpuCeilings.TriadFromMemoryIsAsFastAsStream'
long+=':CpuMatmul.RowsAboutAPowerOfTwoApartAreRight:CpuMatmul.ManyRowsAreRightOnAnyNumberOfThreads'
long+=':*EveryCpuKernel.IsRight/cpu_matmul_fused:Faults.Of*:*Faults.CostTheirOwnPointAlone/hangs'
long+=':Resume.RefusesWhatDecidesHowAPointIsSampled:Resume.IsNotBlockedByAnotherUnfinishedRun'
long+=':Program.SaysThatThreadsAreMoreThanProcessors:Program.KeepsWhatIsDoneOnCtrlCAndResumes'
long+=':Cheats.EachRowOfTheTable:Surroundings.ALongCountSaysHowLongItTakes:All/Signals.EndACountOrACheckAtOnce/2'
left_out=''
which=(-m "not long")
if [ "$all" = 1 ]; then
  alone+=":CpuCeilings.TriadFromMemoryIsAsFastAsStream" which=() targets+=(test_programs)
else
  left_out=":$long"
fi

install_packages
build -DRUNG_TESTS=ON || { echo "0 passed, 1 failed"; exit 1; }
find_python
if [ "$all" = 1 ] && ! "$python" -c 'import sphinx, furo, myst_parser, mypy, ruff' 2>/dev/null; then
  say "installing what builds docs/ and checks types into .venv"
  { [ -x .venv/bin/python ] || python3 -m venv --system-site-packages .venv; } >>python.log 2>&1 &&
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --timeout 30 -r tests/requirements.txt >>python.log 2>&1 &&
    python=.venv/bin/python || say "could not install it (offline? see python.log): docs/ is not built, types are not checked"
fi

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
failed=0

say "report tests and C++ tests"
"$python" -m pytest -q -rs -p no:cacheprovider "${which[@]}" tests >"$logs/report" 2>&1 &
report=$!
if [ -x build/tests/rung_tests ]; then
  # One part per processor and per 2 GiB of memory at once, in addition to the report's tests. There are more parts than
  # that, since some take longer than others. The report's tests, one after another, start first.
  at_once=$(nproc)
  fit=$(awk '/^MemAvailable/ {print int($2 / 2097152)}' /proc/meminfo)
  [ "$at_once" -le "${fit:-1}" ] || at_once=$((fit > 0 ? fit : 1))
  [ "$at_once" -le 8 ] || at_once=8
  export GTEST_TOTAL_SHARDS=$((at_once > 1 ? 6 * at_once : 1))
  seq 0 $((GTEST_TOTAL_SHARDS - 1)) | xargs -P "$at_once" -I '{}' sh -c \
    'GTEST_SHARD_INDEX={} OMP_WAIT_POLICY=passive nice build/tests/rung_tests --gtest_brief=1 "$0" >"$1/cxx.{}" 2>&1' \
    "--gtest_filter=-$alone$left_out" "$logs" || failed=1
  unset GTEST_TOTAL_SHARDS
  wait "$report" || failed=1
  build/tests/rung_tests --gtest_brief=1 "--gtest_filter=$alone${left_out:+-${left_out#:}}" >"$logs/cxx.alone" 2>&1 || failed=1
else
  say "no C++ tests: they need GoogleTest"
  : >"$logs/cxx.none"
  wait "$report" || failed=1
fi

cat "$logs"/cxx.* >"$logs/cxx"
grep -vE '^Running main|^Note: |: Skipped$|^$|tests? from .* ran|^\[  PASSED  \]|^\[ *SKIPPED' "$logs/cxx" |
  grep -vxFf <(grep -A1 ': Skipped$' "$logs/cxx") || true
grep -A1 ': Skipped$' "$logs/cxx" | grep -vE ': Skipped$|^--$|^$' | sort | uniq -c | sed 's/^ */skipped /' || true
[ "$all" = 1 ] || echo "left out (--all runs them): ${long//:/ }"
cat "$logs/report"

# Once more at the end, where logs are read first: the last lines of each failed test in C++.
grep -hE -B 12 '^\[  FAILED  \] .* ms\)$' "$logs/cxx" || true

# The sum of the numbers that follow a word in a log.
count() { { grep -oE "$1" "$2" || true; } | { grep -oE '[0-9]+' || true; } | awk '{sum += $1} END {print sum + 0}'; }
cxx_passed=$(count '\[  PASSED  \] [0-9]+ test' "$logs/cxx"); cxx_failed=$(grep -cE '^\[  FAILED  \] .* ms\)$' "$logs/cxx" || true)
py_passed=$(count '[0-9]+ passed' "$logs/report"); py_failed=$(count '[0-9]+ failed' "$logs/report")
# A program that died has not reported failed tests.
[ "$failed" = 0 ] || [ $((cxx_failed + py_failed)) -gt 0 ] || cxx_failed=1
echo "$((cxx_passed + py_passed)) passed, $((cxx_failed + py_failed)) failed"
[ "$failed" = 0 ]
