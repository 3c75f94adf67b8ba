#!/usr/bin/env bash
# Renders reports of mutated results folders, and checks the report's behaviour:  bash tests/fuzz/report.sh [SECONDS]
# Needs the report's Python packages ($PYTHON, python3); a build ($BUILD, build) adds a results folder made by it.
# The default is 600 seconds; $JOBS (1) processes at once; --most N ends after N mutants. Each has a number, from
# $FIRST (0) on, by which `bash tests/fuzz/report.sh --mutant N` makes and renders it again. The last line counts the
# mutants; the code is 1 if one of them gave a traceback, hung, wrote outside of its output or left a process behind.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
exec "${PYTHON:-python3}" "$top/tests/fuzz/mutants.py" "${BUILD:-$top/build}" "${@:-600}"
