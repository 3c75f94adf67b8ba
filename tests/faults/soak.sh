#!/usr/bin/env bash
# Measures for hours, and watches what grows:  bash tests/faults/soak.sh [SECONDS]
# All experiments in full, over and over, and beside them thousands of points in one process. Needs a build ($BUILD names
# another folder). 7200 seconds unless told. The last line is "nothing grew" or says what did; the code is 1 then.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
exec "${PYTHON:-python3}" "$top/tests/faults/soak.py" "${BUILD:-$top/build}" "${1:-7200}"
