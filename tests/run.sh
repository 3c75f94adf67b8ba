#!/usr/bin/env bash
# Every test that this machine can run:  bash tests/run.sh
# Installs what is missing and builds; says which tests were skipped and why. Ends with "N passed, N failed".
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common/setup.sh"

install_packages
build -DRUNG_TESTS=ON || { echo "0 passed, 1 failed"; exit 1; }
find_python

log=$(mktemp)
trap 'rm -f "$log" "$log.py"' EXIT
failed=0
say "C++ tests"
build/tests/rung_tests --gtest_brief=1 >"$log" 2>&1 || failed=1
grep -vE '^Running main|: Skipped$|^$' "$log" | grep -vxFf <(grep -A1 ': Skipped$' "$log") || true
grep -A1 ': Skipped$' "$log" | grep -vE ': Skipped$|^--$|^$' | sort | uniq -c | sed 's/^ */skipped /' || true
say "report tests"
"$python" -m pytest -q -rs -p no:cacheprovider tests 2>&1 | tee "$log.py" || failed=1

count() { grep -oE "$1" "$2" | grep -oE '[0-9]+' | tail -n 1 || echo 0; }
cxx_passed=$(count '\[  PASSED  \] [0-9]+ test' "$log"); cxx_failed=$(count '\[  FAILED  \] [0-9]+ test' "$log")
py_passed=$(count '[0-9]+ passed' "$log.py"); py_failed=$(count '[0-9]+ failed' "$log.py")
# A program that died has not told what failed.
[ "$failed" = 0 ] || [ $((cxx_failed + py_failed)) -gt 0 ] || cxx_failed=1
echo "$((cxx_passed + py_passed)) passed, $((cxx_failed + py_failed)) failed"
[ "$failed" = 0 ]
