#!/usr/bin/env bash
# How often the report's rule for "faster" is wrong:  bash tests/twins/run.sh [SECONDS] [FILE]
# Runs of one build measure twins of two kernels: twice the same, 2 % more work, 5 % more. Tells how often the report
# calls the same different, within a run and between runs, and how often it finds what is slower; into FILE for the
# report (experiments/recorded/twins.json), if one is named. Needs a build with tests ($BUILD names another folder) and
# the report's Python ($PYTHON). 900 seconds unless told. It ends with 1 if more than 5 % of equal pairs are called
# different; what is found depends on the machine and on what else it does.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
exec env PYTHONPATH="$top" "${PYTHON:-python3}" "$top/tests/twins/twins.py" "${BUILD:-$top/build}" "${1:-900}" "${2:-}"
