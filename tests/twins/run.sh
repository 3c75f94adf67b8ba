#!/usr/bin/env bash
# How often the rules of the report and of `rung compare` are wrong on a busy machine:  bash tests/twins/run.sh [SECONDS] [FILE] [PAIRS]
# Runs of one build measure twins of two kernels: twice the same, and 1, 2 and 5 % more work. Meanwhile another process
# computes in bursts. Reports how often equal twins are called different, within a run and between runs, and how often
# slower twins are found; into FILE for the report (experiments/recorded/twins.json), if one is named. Requires a build
# with tests ($BUILD names another folder) and the report's Python ($PYTHON). It ends after PAIRS pairs of runs (200) or
# SECONDS (3600), with 1 if more than 5 % of equal pairs are called different, within runs or between them, or if less
# than 95 % of the twins with 5 % more work are found within a run.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
exec env PYTHONPATH="$top" "${PYTHON:-python3}" "$top/tests/twins/twins.py" "${BUILD:-$top/build}" "${1:-3600}" "${2:-}" "${3:-200}"
