#!/usr/bin/env bash
# Ends, stops, starves and crashes studies at random, and tells what was lost:  bash tests/faults/run.sh [SECONDS [KILLS]]
# Needs a build with tests (bash tests/run.sh makes one; $BUILD names another folder). 240 seconds unless told; more
# rounds of everything in more of them. With KILLS: SIGKILLs of any process alone, with late and double resumes, until
# there were so many or the seconds are over; a build without tests will do. $SEED: of what is random (1).
# The last line is "nothing lost" or says what was; the code is 1 then.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
exec "${PYTHON:-python3}" "$top/tests/faults/faults.py" "${BUILD:-$top/build}" "${1:-240}" "${2:-}"
