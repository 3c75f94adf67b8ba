#!/usr/bin/env bash
# Reads the GPU's hardware counters for the points of an experiment:
#   bash experiments/profile.sh EXPERIMENT 'REGEX over point names' COUNTERS.json
# Needs Nsight Compute (ncu) and the right to read counters (else ncu says ERR_NVGPUCTRPERM: ask the administrator).
# Each point runs once, alone, under the profiler; no time is taken from these runs. The clocks are left as they are.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ $# -eq 3 ] || { sed -n '2,3p' "$0" | sed 's/^# //'; exit 2; }
command -v ncu >/dev/null || { echo "profile.sh: ncu (Nsight Compute) is not on the PATH" >&2; exit 2; }
python=python3; [ -x .venv/bin/python ] && python=.venv/bin/python

metrics=dram__bytes_read.sum,dram__bytes_write.sum,lts__t_bytes.sum
metrics+=,smsp__sass_thread_inst_executed_op_fadd_pred_on.sum,smsp__sass_thread_inst_executed_op_fmul_pred_on.sum
metrics+=,smsp__sass_thread_inst_executed_op_ffma_pred_on.sum
metrics+=,l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum,l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum
metrics+=,l1tex__t_requests_pipe_lsu_mem_global_op_st.sum,l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum
metrics+=,l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum,l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum
metrics+=,sm__warps_active.avg.pct_of_peak_sustained_active,sm__maximum_warps_per_active_cycle_pct

logs=$(mktemp -d); trap 'rm -rf "$logs"' EXIT
build/rung run "$1" --benchmark_list_tests --benchmark_filter="$2" |
  grep -E '^(count/)?gpu/' | grep -v '/mode:' >"$logs/points"
number=0
while read -r point; do
  number=$((number + 1))
  echo "[$number/$(wc -l <"$logs/points")] $point"
  ncu --clock-control none --csv --page raw --print-units base --metrics "$metrics" --log-file "$logs/$number.csv" \
    build/rung run "$1" --profile --benchmark_filter="^$point\$" >"$logs/$number.out" 2>&1 ||
    { echo "profile.sh: ncu failed on $point:"; tail -n 3 "$logs/$number.csv" "$logs/$number.out"; }
done <"$logs/points"
"$python" -m report.counters "$logs" "$3"
