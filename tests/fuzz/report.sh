#!/usr/bin/env bash
# Gives the report results folders that were mutated, and looks at what it does:  bash tests/fuzz/report.sh [SECONDS]
# Needs the report's Python packages ($PYTHON, python3); a build ($BUILD, build) adds a results folder made by it.
# 600 seconds unless told; $JOBS (1) processes at once; --most N ends after so many. Each mutant has a number, from
# $FIRST (0) on, by which `bash tests/fuzz/report.sh --mutant N` makes and renders it again. The last line counts the
# mutants; the code is 1 if one of them gave a traceback, hung, wrote outside of its output or left a process behind.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
exec "${PYTHON:-python3}" "$top/tests/fuzz/mutants.py" "${BUILD:-$top/build}" "${@:-600}"
