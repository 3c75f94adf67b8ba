"""experiments/profile.sh and report/counters.py: hardware counters of many points from one run of Nsight Compute."""

import json
import os
import subprocess

import pytest
from test_report_support import ROOT

from report import counters

RUNG = """#!/bin/bash
# Two points; with --profile it says their names, as each is about to run.
names() { printf '%s\\n' count/gpu/a/one/n:4 gpu/b/two/n:8 | grep -E "$(sed 's/.*filter=//' <<<"$*")"; }
case "$*" in
  *--benchmark_list_tests*) names "$@"; echo gpu/b/two/n:8/mode:cold; echo cpu/c/x/n:1 ;;
  *) echo "b: a title"; names "$@" ;;
esac
"""

NCU = """#!/bin/bash
# Knows one metric more than those that are asked for without a look; kernel b launches $KERNELS_OF_B kernels.
[ "$1" = --query-metrics ] && { printf 'lts__t_sectors_srcunit_tex_op_read   Counter  x\\n'; exit; }
args="$*"
[[ $args == *srcunit_tex_op_write* ]] && { echo "==ERROR== Failed to find metric" >&2; exit 1; }
log=$(sed 's/.*--log-file \\([^ ]*\\).*/\\1/' <<<"$args")
while [ "$1" != "$RUNG" ]; do shift; done
echo run >>"$RUNS"
"$@"
{
  echo '==PROF== Connected'
  echo '"ID","device__attribute_display_name","lts__t_bytes.sum","lts__t_sectors_srcunit_tex_op_read.sum"'
  echo '"","","byte","sector"'
  id=0
  while read -r name; do
    [[ $name == *gpu/* ]] || continue
    times=1; [[ $name == gpu/b* ]] && times=$KERNELS_OF_B
    for _ in $(seq "$times"); do echo "\\"$((id++))\\",\\"GPU X\\",\\"1,${#name}00\\",\\"${name##*:}\\""; done
  done < <("$@")
} >"$log"
"""


def profiled(folder, kernels_of_b, filter="gpu"):
    """Runs profile.sh where ncu and rung are such scripts; its counters.json, what it said, how often ncu ran."""
    (folder / "bin").mkdir()
    for name, text in (("ncu", NCU), ("rung", RUNG)):
        (folder / "bin" / name).write_text(text)
        (folder / "bin" / name).chmod(0o755)
    runs = folder / "runs"
    runs.touch()
    environment = os.environ | {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "RUNG": str(folder / "bin" / "rung"),
                                "RUNS": str(runs), "KERNELS_OF_B": str(kernels_of_b)}
    done = subprocess.run(["bash", str(ROOT / "experiments" / "profile.sh"), "b", filter, str(folder / "counters.json")],
                          env=environment, capture_output=True, text=True, timeout=60)
    file = folder / "counters.json"
    return json.loads(file.read_text()) if file.exists() else None, done, len(runs.read_text().split())


def test_one_run_reads_all_points(tmp_path):
    data, done, runs = profiled(tmp_path, kernels_of_b=1)
    assert done.returncode == 0, done.stdout + done.stderr
    assert runs == 1
    assert data["machine"] == "GPU X"
    assert data["points"] == {
        "count/gpu/a/one/n:4": {"l2_bytes": 11900.0, "l2_load_sectors": 4.0, "kernels_launched": 1},
        "gpu/b/two/n:8": {"l2_bytes": 11300.0, "l2_load_sectors": 8.0, "kernels_launched": 1}}


def test_points_of_several_kernels_have_runs_of_their_own(tmp_path):
    data, done, runs = profiled(tmp_path, kernels_of_b=2)
    assert done.returncode == 0, done.stdout + done.stderr
    assert runs == 3 and "3 kernels were launched for 2 points" in done.stderr
    assert data["points"]["gpu/b/two/n:8"] == {"l2_bytes": 22600.0, "l2_load_sectors": 16.0, "kernels_launched": 2}
    assert data["points"]["count/gpu/a/one/n:4"]["kernels_launched"] == 1


def test_metrics_that_ncu_does_not_list_are_left_out_and_named(tmp_path):
    _, done, _ = profiled(tmp_path, kernels_of_b=1)
    line = next(line for line in done.stdout.splitlines() if "left out" in line)
    assert "lts__t_sectors_srcunit_tex_op_write.sum" in line
    assert "lts__t_sectors_srcunit_tex_op_read.sum" not in line


def test_no_point_is_an_error_and_writes_nothing(tmp_path):
    data, done, _ = profiled(tmp_path, kernels_of_b=1, filter="nothing-of-this-name")
    assert done.returncode == 2 and data is None


def csv(path, *rows, columns=("ID", "device__attribute_display_name", counters.SUMS["ffma"])):
    lines = [",".join(f'"{c}"' for c in columns), ",".join('""' for _ in columns)]
    path.write_text("\n".join(["==PROF== noise", *lines, *(",".join(f'"{c}"' for c in row) for row in rows)]) + "\n")


def test_sums_need_all_of_their_parts():
    row = {counters.SUMS["atom_requests"]: "3", counters.SUMS["red_requests"]: "4", counters.SUMS["atom_sectors"]: "5"}
    found = counters.point_counters([row])
    assert found["atomic_requests"] == 7 and "atomic_sectors" not in found and "dram_bytes" not in found


@pytest.mark.parametrize("kernels", [0, 1, 3])
def test_one_log_with_another_number_of_kernels_is_refused(tmp_path, kernels):
    (tmp_path / "points").write_text("gpu/a/x/n:1\ngpu/a/x/n:2\n")
    csv(tmp_path / "all.csv", *([str(i), "GPU X", "7"] for i in range(kernels)))
    target = tmp_path / "counters.json"
    assert counters.main([str(tmp_path), str(target)]) == 3
    assert not target.exists()


def test_points_of_the_same_machine_are_kept(tmp_path):
    (tmp_path / "points").write_text("gpu/a/x/n:1\n")
    csv(tmp_path / "all.csv", ["0", "GPU X", "1,007"])
    target = tmp_path / "counters.json"
    target.write_text(json.dumps({"machine": "GPU X", "points": {"old": {"ffma": 1}, "gpu/a/x/n:1": {"ffma": 2}}}))
    assert counters.main([str(tmp_path), str(target)]) == 0
    points = json.loads(target.read_text())["points"]
    assert points["old"] == {"ffma": 1} and points["gpu/a/x/n:1"]["ffma"] == 1007
    target.write_text(json.dumps({"machine": "another", "points": {"old": {"ffma": 1}}}))
    assert counters.main([str(tmp_path), str(target)]) == 0
    assert "old" not in json.loads(target.read_text())["points"]
