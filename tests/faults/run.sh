#!/usr/bin/env bash
# Ends, stops, starves and crashes studies at random, and reports the losses:  bash tests/faults/run.sh [SECONDS [KILLS]]
# Needs a build with tests (bash tests/run.sh makes one; $BUILD names another folder). The default is 240
# seconds; more seconds give more rounds of everything. With KILLS: only SIGKILLs of any process, with late and double
# resumes, until their number is reached or the time is over; a build without tests is enough. $SEED: of the random
# choices (1). The last line is "nothing lost" or lists the losses; the code is 1 then.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
exec "${PYTHON:-python3}" "$top/tests/faults/faults.py" "${BUILD:-$top/build}" "${1:-240}" "${2:-}"
