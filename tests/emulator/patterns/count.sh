#!/usr/bin/env bash
# Reads a GPU's hardware counters for the patterns (patterns.cu), on a machine with a GPU, nvcc and Nsight Compute:
#   bash tests/emulator/patterns/count.sh tests/emulator/patterns/MACHINE.json
# The emulator's counts of the same patterns are compared with that file by patterns_test.cpp. The patterns are counted in
# parts with some of every kind in each; after 200 s, or RUNG_SECONDS, no further part begins.
set -euo pipefail
[ $# -eq 1 ] || { sed -n '2,5p' "$0" | sed 's/^# //'; exit 2; }
target=$(realpath -m "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
for tool in nvcc ncu; do command -v $tool >/dev/null || { echo "count.sh: $tool is not on the PATH" >&2; exit 2; }; done
python=python3; [ -x .venv/bin/python ] && python=.venv/bin/python

logs=$(mktemp -d); trap 'rm -rf "$logs"' EXIT
here=tests/emulator/patterns
nvcc -std=c++20 -O3 -arch=native -I. $here/main.cu $here/patterns.cu common/registry.cpp -o "$logs/patterns"

# One unknown name makes ncu refuse to run.
wanted='smsp__sass_thread_inst_executed_op_(fadd|fmul|ffma|dadd|dmul|dfma)_pred_on
l1tex__t_(requests|sectors)_pipe_lsu_mem_global_op_(ld|st|atom|red)
smsp__sass_inst_executed_op_shared_(ld|st|atom)
smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared(_op_(ld|st|ldgsts))?
l1tex__data_pipe_lsu_wavefronts_mem_shared_op_(atom|red|ldgsts)
l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_(atom|red|ldgsts)
sm__sass_l1tex_t_(requests|sectors)_pipe_lsu_mem_global_op_ldgsts_cache_(access|bypass)'
ncu --query-metrics >"$logs/known" 2>&1 || true
metrics=$(awk '{print $1}' "$logs/known" | grep -Ex "$(paste -sd'|' <<<"$wanted")" | sed 's/$/.sum/' | paste -sd,) || true
[ -n "$metrics" ] || { echo "count.sh: ncu lists none of the metrics:" >&2; tail -n 3 "$logs/known" >&2; exit 2; }

parts=8
for ((part = 0; part < parts && SECONDS < ${RUNG_SECONDS:-200}; ++part)); do
  ncu --clock-control none --cache-control all --csv --page raw --print-units base --metrics "$metrics" --log-file "$logs/$part.csv" \
    "$logs/patterns" $part $parts </dev/null >"$logs/$part.said" || { tail -n 3 "$logs/$part".* >&2; exit 1; }
  echo "part $((part + 1)) of $parts, $SECONDS s"
done
"$python" $here/collect.py "$logs" "$target"
