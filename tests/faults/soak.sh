#!/usr/bin/env bash
# Measures for hours, and watches for growth of memory and files:  bash tests/faults/soak.sh [SECONDS]
# All experiments in full, over and over, and at the same time thousands of points in one process. Needs a build ($BUILD
# names another folder). The default is 7200 seconds. The last line is "nothing grew" or lists the growth; the code is 1
# then.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
exec "${PYTHON:-python3}" "$top/tests/faults/soak.py" "${BUILD:-$top/build}" "${1:-7200}"
