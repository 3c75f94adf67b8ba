"""experiments/profile.sh and report/counters.py: hardware counters of many points from few runs of Nsight Compute."""

import dataclasses
import json
import os
import subprocess

import pytest
from conftest import ROOT
from synthetic import ladder

from report import counters
from report.data.collect import collect
from report.text import words

NAMES = ["count/gpu/a/one/n:4", "count/gpu/a/one/n:5", "gpu/b/two/n:8", "gpu/b/two/n:9"]

RUNG = """#!/bin/bash
# With --profile it says the points' names, each as it is about to run.
case "$*" in *filter=*) filter=$(sed 's/.*filter=//' <<<"$*") ;; *) filter=two ;; esac  # "two": what --profile alone is
names() { printf '%s\\n' $NAMES | grep -E "$filter"; }
case "$*" in
  *--benchmark_list_tests*filter=broken) echo "rung: broken" >&2; exit 2 ;;
  *--benchmark_list_tests*) names; echo "b: 4 points" ;;
  *) echo "b: a title"
    for name in $(names); do echo "$name"; [ "$name" = "$FAILING" ] && echo "FAILED $name: too large"; done; true ;;
esac
"""

NCU = """#!/bin/bash
# Knows one metric more than those that are asked for without a look; points of b launch $KERNELS_OF_B kernels, and the
# program one before the first point.
[ "$1" = --query-metrics ] && { printf 'lts__t_sectors_srcunit_tex_op_read   Counter  x\\n'; exit; }
args="$*"
[[ $args == *srcunit_tex_op_write* ]] && { echo "==ERROR== Failed to find metric" >&2; exit 1; }
[[ $args == *"--cache-control all"* ]] || { echo "==ERROR== the report says that caches are empty" >&2; exit 1; }
log=$(sed 's/.*--log-file \\([^ ]*\\).*/\\1/' <<<"$args")
while [ "$1" != "$RUNG" ]; do shift; done
echo run >>"$RUNS"
[ "$(wc -l <"$RUNS")" = "$KILLS_IN_RUN" ] && kill -9 $PPID
"$@"
{
  echo '==PROF== Connected'
  echo '"ID","Kernel Name","device__attribute_display_name","lts__t_bytes.sum","lts__t_sectors_srcunit_tex_op_read.sum"'
  echo '"","","","byte","sector"'
  echo '"0","early()","GPU X","1","1"'
  id=1
  while read -r name; do
    [[ $name == gpu/* || $name == count/gpu/* ]] || continue
    times=1; [[ $name == gpu/b* ]] && times=$KERNELS_OF_B
    echo "\\"$((id++))\\",\\"rung::rung_point_begins()\\",\\"GPU X\\",\\"7\\",\\"7\\""
    for _ in $(seq "$times"); do echo "\\"$((id++))\\",\\"work<4>(int)\\",\\"GPU X\\",\\"${#name},000\\",\\"${name##*:}\\""; done
  done < <("$@")
} >"$log"
"""


def profiled(folder, kernels_of_b, filter="gpu", failing="", names=NAMES, kills_in_run=0):
    """Runs profile.sh where ncu and rung are such scripts; its counters.json, what it said, how often ncu ran."""
    (folder / "bin").mkdir()
    for name, text in (("ncu", NCU), ("rung", RUNG)):
        (folder / "bin" / name).write_text(text)
        (folder / "bin" / name).chmod(0o755)
    runs = folder / "runs"
    runs.touch()
    environment = os.environ | {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "RUNG": str(folder / "bin" / "rung"),
                                "RUNS": str(runs), "KERNELS_OF_B": str(kernels_of_b), "NAMES": " ".join(names), "FAILING": failing,
                                "KILLS_IN_RUN": str(kills_in_run)}
    command = ["bash", str(ROOT / "experiments" / "profile.sh"), "b", str(folder / "counters.json"),
               *([filter] if filter else [])]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    file = folder / "counters.json"
    return json.loads(file.read_text()) if file.exists() else None, done, len(runs.read_text().split())


def test_one_run_reads_all_points(tmp_path):
    data, done, runs = profiled(tmp_path, kernels_of_b=1)
    assert done.returncode == 0, done.stdout + done.stderr
    assert runs == 1
    assert data["machine"] == "GPU X" and list(data["points"]) == NAMES
    assert [p["l2_load_sectors"] for p in data["points"].values()] == [4, 5, 8, 9]
    assert data["points"]["gpu/b/two/n:8"] == {"l2_bytes": 13000.0, "l2_load_sectors": 8.0, "kernels_launched": 1}


MANY = [f"gpu/b/two_with_a_name_of_a_usual_length/n:{n}" for n in range(1, 61)]


def test_points_are_read_in_few_runs(tmp_path):
    data, done, runs = profiled(tmp_path, kernels_of_b=1, names=MANY)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {name: p["l2_load_sectors"] for name, p in data["points"].items()} == {n: float(n.split(":")[1]) for n in MANY}
    assert 2 < runs < 5


def test_what_was_read_is_kept_when_it_is_killed(tmp_path):
    data, done, runs = profiled(tmp_path, kernels_of_b=1, names=MANY, kills_in_run=2)
    assert done.returncode == -9 and runs == 2
    assert 10 < len(data["points"]) < 40 and set(data["points"]) == set(MANY[:len(data["points"])])


def test_a_run_whose_points_all_failed_does_not_end_the_others(tmp_path):
    alone = "gpu/b/two_" + 900 * "x"
    data, done, runs = profiled(tmp_path, kernels_of_b=1, names=[alone, *MANY[:3]], failing=alone)
    assert done.returncode == 0 and set(data["points"]) == set(MANY[:3]) and runs == 2
    assert f"no counters for {alone}: too large" in done.stderr


def test_without_the_right_to_read_counters_it_ends_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr("test_counters.NCU", NCU.replace('"$@"\n', '"$@"; echo "==ERROR== ERR_NVGPUCTRPERM" >"$log"; exit 1\n', 1))
    data, done, runs = profiled(tmp_path, kernels_of_b=1, names=MANY)
    assert done.returncode == 2 and data is None and runs == 1
    assert done.stderr.count("ERR_NVGPUCTRPERM: the permission") == 1


def test_without_a_filter_those_that_profile_names_are_read(tmp_path):
    data, done, runs = profiled(tmp_path, kernels_of_b=1, filter=None)
    assert done.returncode == 0, done.stdout + done.stderr
    assert list(data["points"]) == ["gpu/b/two/n:8", "gpu/b/two/n:9"] and runs == 1


def test_kernels_of_a_point_of_several_launches_add_up(tmp_path):
    data, done, runs = profiled(tmp_path, kernels_of_b=2)
    assert done.returncode == 0, done.stdout + done.stderr
    assert runs == 1
    assert data["points"]["gpu/b/two/n:8"] == {"l2_bytes": 26000.0, "l2_load_sectors": 16.0, "kernels_launched": 2}
    assert data["points"]["gpu/b/two/n:9"]["l2_load_sectors"] == 18
    assert data["points"]["count/gpu/a/one/n:4"]["kernels_launched"] == 1


def test_a_point_without_kernels_is_left_out_and_named(tmp_path):
    data, done, runs = profiled(tmp_path, kernels_of_b=0)
    assert done.returncode == 0, done.stdout + done.stderr
    assert list(data["points"]) == NAMES[:2] and "no counters for gpu/b/two/n:8" in done.stderr


def test_a_point_that_failed_is_left_out_and_its_reason_told(tmp_path):
    data, done, runs = profiled(tmp_path, kernels_of_b=1, failing="count/gpu/a/one/n:5")
    assert done.returncode == 0, done.stdout + done.stderr
    assert list(data["points"]) == [name for name in NAMES if name != "count/gpu/a/one/n:5"]
    assert data["points"]["gpu/b/two/n:9"]["l2_load_sectors"] == 9
    assert "no counters for count/gpu/a/one/n:5: too large" in done.stderr


def test_metrics_that_ncu_does_not_list_are_left_out_and_named(tmp_path):
    _, done, _ = profiled(tmp_path, kernels_of_b=1)
    line = next(line for line in done.stdout.splitlines() if "left out" in line)
    assert "lts__t_sectors_srcunit_tex_op_write.sum" in line
    assert "lts__t_sectors_srcunit_tex_op_read.sum" not in line


def stalled(state):
    return f"smsp__average_warps_issue_stalled_{state}_per_issue_active.ratio"


def test_every_counter_that_is_collected_is_asked_for(tmp_path, monkeypatch):
    states = [stalled(state) for state in counters.STATES]
    listing = "\\n".join(f"{metric.split('.')[0]} Counter x" for metric in (*counters.SUMS.values(), *states))
    script = NCU.replace("lts__t_sectors_srcunit_tex_op_read   Counter  x", listing)
    script = script.replace("[[ $args == *srcunit_tex_op_write*", 'echo "$args" >>"$RUNS.asked"\n[[ $args == never*')
    monkeypatch.setattr("test_counters.NCU", script)
    _, done, _ = profiled(tmp_path, kernels_of_b=1)
    assert done.returncode == 0 and "left out" not in done.stdout, done.stdout + done.stderr
    asked = (tmp_path / "runs.asked").read_text().split("--metrics ")[1].split()[0].split(",")
    assert sorted({*counters.SUMS.values(), *states, counters.ACHIEVED} - set(asked)) == []
    assert sorted(metric for metric in set(asked) - set(states) if "stalled" in metric) == []
    assert len(asked) == len(set(asked))


def test_executed_instructions_add_up_over_the_kernels_of_a_point():
    rows = [{"smsp__inst_executed.sum": "1,200"}, {"smsp__inst_executed.sum": "34"}]
    assert counters.point_counters(rows)["instructions"] == 1234
    assert "instructions" not in counters.point_counters([rows[0], {}])


def test_wavefronts_of_the_l1_add_up_over_the_kernels_of_a_point():
    rows = [{"l1tex__data_pipe_lsu_wavefronts.sum": "1,200"}, {"l1tex__data_pipe_lsu_wavefronts.sum": "34"}]
    assert counters.point_counters(rows)["l1_wavefronts"] == 1234
    assert "l1_wavefronts" not in counters.point_counters([rows[0], {}])


def test_states_of_warps_are_those_of_the_kernel_with_the_most_ffma():
    small = {counters.SUMS["ffma"]: "5", stalled("barrier"): "9.5", stalled("drain"): "1"}
    large = {counters.SUMS["ffma"]: "1,000", stalled("barrier"): "2.25", stalled("selected"): "1",
             stalled("not_selected"): "0", stalled("wait"): "n/a", stalled("of_mars"): "3"}
    for rows in ([small, large], [large, small]):
        found = counters.point_counters(rows)
        assert {k: v for k, v in found.items() if k.startswith("warps_")} == {
            "warps_barrier": 2.25, "warps_selected": 1.0, "warps_not_selected": 0.0}
    assert not any(k.startswith("warps_") for k in counters.point_counters([{counters.SUMS["ffma"]: "7"}]))


def test_states_of_warps_reach_the_file(tmp_path):
    (tmp_path / "points").write_text("gpu/a/x/n:1\n")
    csv(tmp_path / "csv", MARK, ["1", "f()", "GPU X", "12.5", "1"],
        columns=("ID", "Kernel Name", "device__attribute_display_name", stalled("long_scoreboard"), stalled("selected")))
    assert read(tmp_path) == 0
    assert json.loads((tmp_path / "counters.json").read_text())["points"]["gpu/a/x/n:1"] == {
        "warps_long_scoreboard": 12.5, "warps_selected": 1.0, "kernels_launched": 1}


def test_points_that_rung_cannot_list_end_it_with_what_rung_says(tmp_path):
    data, done, runs = profiled(tmp_path, kernels_of_b=1, filter="broken")
    assert done.returncode == 2 and done.stderr == "rung: broken\n" and data is None and runs == 0


def test_no_point_is_an_error_and_writes_nothing(tmp_path):
    data, done, runs = profiled(tmp_path, kernels_of_b=1, filter="nothing-of-this-name")
    assert done.returncode == 2 and data is None and runs == 0


MARK = ["0", "rung_point_begins()", "GPU X", "0", "0"]


def read(folder):
    return counters.main([str(folder / name) for name in ("points", "csv", "counters.json")])


def csv(path, *rows, columns=("ID", "Kernel Name", "device__attribute_display_name", counters.SUMS["ffma"])):
    lines = [",".join(f'"{c}"' for c in columns), ",".join('""' for _ in columns)]
    path.write_text("\n".join(["==PROF== noise", *lines, *(",".join(f'"{c}"' for c in row) for row in rows)]) + "\n")


def test_sums_need_all_of_their_parts():
    row = {counters.SUMS["atom_requests"]: "3", counters.SUMS["red_requests"]: "4", counters.SUMS["atom_sectors"]: "5"}
    found = counters.point_counters([row])
    assert found["atomic_requests"] == 7 and "atomic_sectors" not in found and "dram_bytes" not in found


def test_points_that_the_program_did_not_come_to_are_left_out(tmp_path, capsys):
    (tmp_path / "points").write_text("gpu/a/x/n:1\ngpu/a/x/n:2\n")
    csv(tmp_path / "csv", MARK, ["1", "f()", "GPU X", "7"])
    assert read(tmp_path) == 0
    assert list(json.loads((tmp_path / "counters.json").read_text())["points"]) == ["gpu/a/x/n:1"]
    assert "no counters for gpu/a/x/n:2" in capsys.readouterr().err


@pytest.mark.parametrize("rows", [[], [MARK], [["1", "f()", "GPU X", "7"]]])
def test_without_any_kernel_of_a_point_nothing_is_written(tmp_path, rows):
    (tmp_path / "points").write_text("gpu/a/x/n:1\n")
    csv(tmp_path / "csv", *rows)
    assert read(tmp_path) == 2
    assert not (tmp_path / "counters.json").exists()


def test_points_of_the_same_machine_are_kept(tmp_path):
    (tmp_path / "points").write_text("gpu/a/x/n:1\n")
    csv(tmp_path / "csv", MARK, ["1", "f()", "GPU X", "1,007"])
    target = tmp_path / "counters.json"
    target.write_text(json.dumps({"machine": "GPU X", "points": {"old": {"ffma": 1}, "gpu/a/x/n:1": {"ffma": 2}}}))
    assert read(tmp_path) == 0
    points = json.loads(target.read_text())["points"]
    assert points["old"] == {"ffma": 1} and points["gpu/a/x/n:1"]["ffma"] == 1007
    target.write_text(json.dumps({"machine": "another", "points": {"old": {"ffma": 1}}}))
    assert read(tmp_path) == 0
    assert "old" not in json.loads(target.read_text())["points"]


def test_a_row_that_is_cut_off_has_no_values(tmp_path):
    (tmp_path / "points").write_text("gpu/a\n")
    csv(tmp_path / "csv", MARK, ["1", "f()", "GPU X"], ["2"])
    assert read(tmp_path) == 0 and "ffma" not in json.loads((tmp_path / "counters.json").read_text())["points"]["gpu/a"]


@pytest.mark.parametrize("old", ("", "[]", '{"machine": "GPU X", "points": 3}', "[" * 100_000, "\0"))
def test_a_target_that_holds_no_counters_is_left_as_it_is(tmp_path, capsys, old):
    (tmp_path / "points").write_text("gpu/a\n")
    csv(tmp_path / "csv", MARK, ["1", "f()", "GPU X", "7"])
    (tmp_path / "counters.json").write_text(old)
    assert read(tmp_path) == 2 and "holds no counters" in capsys.readouterr().err
    assert (tmp_path / "counters.json").read_text() == old


def test_a_target_that_cannot_be_written_is_told(tmp_path, capsys):
    (tmp_path / "points").write_text("gpu/a\n")
    csv(tmp_path / "csv", MARK, ["1", "f()", "GPU X", "7"])
    assert counters.main([str(tmp_path / "points"), str(tmp_path / "csv"), str(tmp_path / "none" / "x.json")]) == 4
    assert "x.json cannot be written: No such file" in capsys.readouterr().err


def test_points_that_cannot_be_read_are_told(tmp_path, capsys):
    assert read(tmp_path) == 2 and "cannot be read" in capsys.readouterr().err
    (tmp_path / "points").write_text("gpu/a\x1b[31m\nFAILED \x1b[2J\n")
    assert read(tmp_path) == 2 and capsys.readouterr().err.replace("\n", "").isprintable()


@pytest.mark.parametrize("name", ("points", "csv", "counters.json"))
def test_a_pipe_is_not_waited_for(tmp_path, capsys, name):
    (tmp_path / "points").write_text("gpu/a\n")
    csv(tmp_path / "csv", MARK, ["1", "f()", "GPU X", "7"])
    (tmp_path / name).unlink(missing_ok=True)
    os.mkfifo(tmp_path / name)
    assert read(tmp_path) == 2 and capsys.readouterr().err


def merged(folder, *values):
    """What merging makes of one kernel with these values of the L2's bytes and of a ratio; the exit code and counters."""
    (folder / "points").write_text("gpu/a/one/n:4\n")
    metrics = ("lts__t_bytes.sum", "smsp__average_warps_issue_stalled_wait_per_issue_active.ratio")
    (folder / "csv").write_text(
        '"ID","Kernel Name",' + ",".join(f'"{m}"' for m in metrics) + f'\n"0","{counters.MARKER}()","7","7"\n'
        '"1","work()",' + ",".join(f'"{v}"' for v in values) + "\n")
    target = folder / "counters.json"
    target.unlink(missing_ok=True)
    code = counters.main([str(folder / "points"), str(folder / "csv"), str(target)])
    return code, json.loads(target.read_text())["points"]["gpu/a/one/n:4"] if target.exists() else None


def test_no_number_is_no_value(tmp_path):
    assert merged(tmp_path, "1,234,567", "0.25") == (0, {"l2_bytes": 1234567, "warps_wait": 0.25, "kernels_launched": 1})
    for word in ("nan", "-nan", "inf", "NaN", "", "n/a"):
        assert merged(tmp_path, "8", word) == (0, {"l2_bytes": 8, "kernels_launched": 1}), word


@pytest.mark.parametrize("values", [("32.768", "0.25"), ("1.000", "0.25"), ("32 768", "1"), ("8", "0,25"), ("1_000", "1"),
                                    ("3,27", "1"), ("0x10", "1")])
def test_numbers_of_other_languages_are_refused(tmp_path, values, capsys):
    assert merged(tmp_path, *values) == (2, None)
    assert "LC_ALL=C" in capsys.readouterr().err


def raw_page(folder, values, units, metrics=(counters.SUMS["dram_bytes_read"], counters.ACHIEVED)):
    """What ncu writes of one kernel of one point, with these values and units of these metrics."""
    rows = (("ID", "Kernel Name", "device__attribute_display_name", *metrics), ("", "", "", *units),
            ("0", counters.MARKER, "GPU X", *values), ("1", "work()", "GPU X", *values))
    (folder / "ncu.csv").write_text("".join(",".join(f'"{cell}"' for cell in row) + "\n" for row in rows))
    (folder / "points").write_text("gpu/a/one/n:4\n")
    return [str(folder / name) for name in ("points", "ncu.csv", "counters.json")]


def test_values_in_base_units_are_taken(tmp_path):
    assert counters.main(raw_page(tmp_path, ("1,234,567", "12.5"), ("byte", "%"))) == 0
    found = json.loads((tmp_path / "counters.json").read_text())["points"]["gpu/a/one/n:4"]
    assert (found["dram_bytes_read"], found["occupancy_achieved"]) == (1234567, 0.125)


@pytest.mark.parametrize("unit", ("Kbyte", "Mbyte", "Gbyte", "Kinst", "Msector"))
def test_values_in_other_units_are_refused(tmp_path, capsys, unit):
    """1.23 Mbyte is a million times as much as 1.23 byte, and has lost its last digits."""
    assert counters.main(raw_page(tmp_path, ("123", "12.5"), (unit, "%"))) == 2
    said = capsys.readouterr().err
    assert f"{counters.SUMS['dram_bytes_read']} is in {unit}" in said and "--print-units base" in said and said.count("\n") == 1
    assert not (tmp_path / "counters.json").exists()


@pytest.mark.parametrize("value", ("1.234,5", "1.234.567", "1 234", "1,5", "1.5", "12,34", "0x10", "-1,2,3", "\x1b[31m1"))
def test_numbers_that_are_not_written_as_in_english_are_refused(tmp_path, capsys, value):
    assert counters.main(raw_page(tmp_path, (value, "12.5"), ("byte", "%"))) == 2
    said = capsys.readouterr().err
    assert "LC_ALL=C" in said and said.count("\n") == 1 and said.removesuffix("\n").isprintable()


def test_what_varies_says_that_it_is_of_one_profiled_run(tmp_path):
    """With by how much the profiles of one launch differ, where the timed and the counted point were both profiled."""
    run = ladder("gpu", sizes=(256,))
    part = collect([run.save(tmp_path)], []).views[0].gpu
    naive, tiled = (next(p for p in part.timed() if p.kernel.name.endswith(name)) for name in ("naive", "tiled"))
    again = dataclasses.replace(part, counters={naive.name: {"dram_bytes": 10.4e9}, f"count/{naive.name}": {"dram_bytes": 8.0e9},
                                                tiled.name: {"ffma": 5.0}})
    assert words.profiled(again, [naive, tiled]) == "Counters: one profiled run; 1 point profiled again differed by up to 30\u00a0%. "
    once = dataclasses.replace(part, counters={naive.name: {"l2_bytes": 1.0}})
    assert words.profiled(once, [naive, naive]) == "Counters: one profiled run. "
    assert words.profiled(once, [tiled]) == "" and words.profiled(dataclasses.replace(part, counters={tiled.name: {"ffma": 5.0}}), [tiled]) == ""
