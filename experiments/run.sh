#!/usr/bin/env bash
# Measures and reports:  bash experiments/run.sh [--full] [EXPERIMENT…] [-- FLAGS OF rung run]
# Without a name, every experiment. Brief: minutes; --full measures all sizes, as the recorded results were, for half an hour.
# Installs what is missing, builds, measures; with a GPU and nvcc the GPU side, too.
# The last line is the path of the report. Exit codes: as for `rung run` (0 done, 1 a wrong result, 2 wrong usage,
# 3 no GPU though one was required, 4 results cannot be written, 130 interrupted); 5 if the build failed.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common/setup.sh"

names=() flags=()
while [ $# -gt 0 ]; do
  [ "$1" = -- ] && { shift; flags+=("$@"); break; }
  case $1 in --full) flags+=(--full) ;; *) names+=("$1") ;; esac
  shift
done

install_packages
build -DRUNG_TESTS=OFF || exit 5
find_python
host=$(hostname | tr -c "[:alnum:]._\n-" _)  # a folder of results/, whatever the host is called
[ "${host#.}" = "$host" ] || host=_$host

code=0
build/rung run "${names[@]}" --outdir "results/$host" "${flags[@]}" || code=$?
if [ $code -eq 0 ] || [ $code -eq 1 ]; then
  say "rendering the report"
  "$python" -m report "results/$host" --recorded experiments/recorded --output "results/$host/report" ||
    { report_code=$?; [ $code -ne 0 ] || code=$report_code; }
  [ ! -f "results/$host/report/report.pdf" ] || echo "$top/results/$host/report/report.pdf"
fi
exit $code
