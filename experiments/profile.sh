#!/usr/bin/env bash
# Reads the GPU's hardware counters for points of an experiment:
#   bash experiments/profile.sh EXPERIMENT COUNTERS.json ['REGEX over point names']
# Without a REGEX, for all counted points, to compare both counts, and for sweeps with counters = true.
# Requires Nsight Compute (ncu) and permission to read counters (else ncu reports ERR_NVGPUCTRPERM: see the administrator).
# Each point runs once under the profiler; no time is taken from these runs. The clocks are left as they are. Several
# points share one run of the program, which launches an empty kernel between them to separate them, and limits ncu to
# the points' own kernels. COUNTERS.json is written after each run: if the script is killed, earlier runs are kept.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ $# -eq 2 ] || [ $# -eq 3 ] || { sed -n '2,4p' "$0" | sed 's/^# //'; exit 2; }
command -v ncu >/dev/null || { echo "profile.sh: ncu (Nsight Compute) is not on the PATH" >&2; exit 2; }
python=python3; [ -x .venv/bin/python ] && python=.venv/bin/python
rung=${RUNG:-build/rung}

metrics=(
  dram__bytes_read.sum dram__bytes_write.sum lts__t_bytes.sum
  smsp__sass_thread_inst_executed_op_{fadd,fmul,ffma}_pred_on.sum
  l1tex__t_{requests,sectors}_pipe_lsu_mem_global_op_{ld,st}.sum
  l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{ld,st}.sum
  smsp__inst_executed.sum
  sm__warps_active.avg.pct_of_peak_sustained_active sm__maximum_warps_per_active_cycle_pct
)
# Not every GPU and version of ncu has these metrics, and ncu does not run with an unknown name.
if_known=(
  smsp__sass_thread_inst_executed_op_{dadd,dmul,dfma}_pred_on.sum
  smsp__sass_thread_inst_executed_op_memory_pred_on.sum
  smsp__sass_inst_executed_op_shared_{ld,st,atom}.sum
  smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{ld,st}.sum
  l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum
  l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{ld,st}.sum
  l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum
  l1tex__t_{requests,sectors}_pipe_lsu_mem_global_op_{atom,red}.sum
  sm__sass_l1tex_t_{requests,sectors}_pipe_lsu_mem_global_op_ldgsts_cache_{access,bypass}.sum
  lts__t_sectors_srcunit_tex_op_{read,write}.sum lts__t_sectors_srcunit_tex_op_read_lookup_hit.sum
  l1tex__data_pipe_lsu_wavefronts.sum
  smsp__thread_inst_executed.sum smsp__thread_inst_executed_pred_on.sum
  smsp__sass_branch_targets_threads_{divergent,uniform}.sum
  idc__requests.sum
  smsp__average_warps_issue_stalled_{barrier,branch_resolve,dispatch_stall,drain,gmma}_per_issue_active.ratio
  smsp__average_warps_issue_stalled_{imc_miss,lg_throttle}_per_issue_active.ratio
  smsp__average_warps_issue_stalled_{long_scoreboard,math_pipe_throttle,membar,mio_throttle,misc}_per_issue_active.ratio
  smsp__average_warps_issue_stalled_{no_instruction,not_selected,selected,short_scoreboard}_per_issue_active.ratio
  smsp__average_warps_issue_stalled_{sleeping,tex_throttle,wait}_per_issue_active.ratio
)

logs=$(mktemp -d); trap 'rm -rf "$logs"' EXIT
ncu --query-metrics >"$logs/known" 2>&1 || true
left_out=()
for metric in "${if_known[@]}"; do
  if grep -q "^${metric%%.*}[[:space:]]" "$logs/known"; then metrics+=("$metric"); else left_out+=("$metric"); fi
done
[ ${#left_out[@]} -eq 0 ] || echo "this ncu does not list, so they are left out: ${left_out[*]}"

experiment=$1
selection=()
[ $# -eq 2 ] || selection=(--benchmark_filter="$3")
"$rung" run "$experiment" --full --benchmark_list_tests --profile "${selection[@]}" >"$logs/listed"
mapfile -t points < <(grep -E '^(count/)?gpu/' "$logs/listed")
[ ${#points[@]} -gt 0 ] || { echo "profile.sh: $experiment has no GPU point $([ $# -eq 3 ] && echo "that matches $3" || echo "to read counters of")" >&2; exit 2; }
echo "$experiment: ${#points[@]} points"

# Adds the counters of the points that match a regular expression to the file. --cache-control all: every cache is empty before
# each kernel, so that counters do not depend on what ran before. So the bytes of DRAM are of a call with an empty L2, also for
# points whose timed calls hit the L2: there the report leaves these bytes out (Part.counters_of).
read_counters() {
  local code=0
  rm -f "$logs/csv"
  ncu --profile-from-start off --clock-control none --cache-control all --csv --page raw --print-units base --metrics "$(IFS=,; echo "${metrics[*]}")" \
    --log-file "$logs/csv" "$rung" run "$experiment" --full --profile --benchmark_filter="$1" </dev/null >"$logs/points" || code=$?
  [ $code = 0 ] || { echo "profile.sh: ncu ended with code $code:" >&2; tail -qn 2 "$logs/csv" "$logs/points" >&2 || true; }
  "$python" -m report.counters "$logs/points" "$logs/csv" "$2"
}

# A run has the points that fit into one regular expression, whose length rung limits (common/harness/study.cpp).
most_letters=1000 together='' any=0
for point in "${points[@]}" ''; do
  if [ -z "$point" ] || [ $((${#together} + ${#point} + 5)) -gt $most_letters ]; then
    code=0
    read_counters "^(${together#|})\$" "$2" || code=$?
    [ $code != 0 ] || any=1
    [ $code != 4 ] || exit 4  # the file cannot be written
    ! grep -qs ERR_NVGPUCTRPERM "$logs/csv" "$logs/points" || exit 2
    together=''
  fi
  together+="|${point//[^a-z0-9_:\/]/.}"
done
[ $any = 1 ] || exit 2
