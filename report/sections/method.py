"""Method and limits of validity, as this report applies them."""

from __future__ import annotations

from report.data.collect import Study
from report.data.companions import Tally, TwinsFile
from report.data.limits import LIMITS, POWER_LIMITS
from report.data.records import Run
from report.data.roofs import APART, BEYOND
from report.data.sides import NEAREST
from report.data.statistics import BETWEEN_RUNS, FEWEST_FOR_INTERVAL, FEWEST_TURNS, GAP, GAP_APART, MOST_CORRELATED
from report.experiment import numbers, words
from report.sections import doubts, repeats
from report.sections.provenance import load_of
from report.text import blocks

CITED = ("hoefler2015", "higham2002", "williams2009", "yang2020", "lee2010", "cutlass_measuring")


def method(study: Study) -> list[dict]:
    """How was measured, compared and judged."""
    seeds = sorted({str(p.run.context.get("seed")) for p in study.parts})
    return [
        blocks.heading("Method"),
        blocks.paragraph(
            "Verification. Each kernel’s result is judged against a float64 reference before and after timing: exactly "
            "on integers, by a componentwise rounding bound on random reals (Higham, 2002), over outputs poisoned with "
            "NaN and between guard bands. A kernel that fails has no rate."),
        blocks.paragraph(
            "Timing. One repetition is one sample, and the results files have every sample; warm-up, allocation and transfers are "
            "excluded and transfers are given on their own. Hot: calls follow each other; cold: the last-level cache is "
            f"flushed before each. Points run in a shuffled order (seed {words.joined(seeds)}); where kernels are "
            "interleaved, their order changes from round to round, and on a CPU they exchange the memory of their operands, since "
            "equal kernels differ by where these lie."),
        blocks.paragraph(
            "Statistics (Hoefler and Belli, 2015). All values in text, tables and figures are medians, but clocks, power and the load by "
            "others, which are means; upright or level bars are their 95\u00a0% intervals by ranks within the run. Unsettled, and drawn hollow, are points "
            "whose sampling ended before the median, or the ratios that it was to go on for, settled, or that other work disturbed too much. Intervals are given from "
            f"{FEWEST_FOR_INTERVAL} samples on; no normality is assumed and no sample is left out for its value. Samples that follow "
            f"each other are correlated: n of them count as m = n(1 − r)/(1 + r) independent ones, rounded down, where r, from 0 to {MOST_CORRELATED:g}, is the "
            "correlation of the ranks of successive samples plus 1/n, since few samples understate it. The interval’s ends are the samples "
            "whose ranks are those for m independent samples times n/m; "
            f"where m is less than {FEWEST_FOR_INTERVAL}, the interval is the whole range. An interval tells how steady a "
            "value was within its run. It does not tell what another run gives: placement in memory, the machine’s "
            "other work and its clock differ by more. A rate is the useful work over the median time."),
        blocks.paragraph(
            "Disturbed samples. During each sample the harness watches how long threads waited for a processor, what a hypervisor took and, on "
            "a GPU, the time that other processes used. A sample that this made more than 1 % longer is marked as disturbed, and another one is "
            "taken. Marked samples are left out of medians, intervals, comparisons and numbers of samples; captions have the number, the CSV files of figures and "
            "tables have, for each point, the number and the median time with and without them, and tables/samples.csv has those of all points. Where other work "
            "left too little time for undisturbed samples, all samples count, and the interval reaches down to what the least may have been without the waits. "
            f"A point is unsettled if fewer than half of its samples or fewer than {FEWEST_FOR_INTERVAL} are left, or if the median of all samples is outside of its "
            "interval: then the result depends more on which samples count than on how they scatter. The interval is not widened to include that median, since "
            "a wait makes a sample longer and never shorter, so that the median of all estimates another quantity: the time next to other work. "
            "Throttled: the driver said that it had lowered the clock, as at the limit of power."),
        blocks.paragraph(
            "Comparisons. One code is called significantly faster or slower than another only if a two-sided test "
            "rejects equality at 5\u00a0% after Holm’s correction over all comparisons of the experiment. Where no sample of "
            f"the one is within {100 * GAP_APART:g}\u00a0% of any of the other, that is the Mann–Whitney U test. Where samples are "
            "nearer, the machine may have changed between them, and only codes that were interleaved with each other and have at "
            f"least {FEWEST_TURNS} turns without a sample that is left out can differ: by the sign test on the quotients of samples of the same turn, of their "
            f"being more than {100 * GAP:g}\u00a0% from equality, where quotients count for as many as their correlation from turn to "
            "turn, the mean over all comparisons, leaves. The ratio given "
            "is the median quotient of such codes, so that it need not be the quotient of the two rates next to it, and the ratio of the "
            "medians of others; its interval is by the ranks of those quotients, of others the quotient of the ends of both intervals. An interval of the ratio of two runs is wider on both sides by what runs of the machine differ by: "
            f"{100 * BETWEEN_RUNS:g}\u00a0% where nothing was measured repeatedly. Where an experiment names its fastest code, "
            "it also names those that these tests do not tell apart from it. Other differences are called not "
            "significant, whatever their size; "
            "where so many samples could not have shown any difference among so many comparisons, the text says that "
            f"they are too few.{_coverage(study.twins)}"),
        *_sides(study),
        blocks.paragraph(
            "Roofs (Williams and others, 2009; Yang and others, 2020). A machine has one for each resource and number of "
            "threads: the highest median that any kernel made for it reached in any run of that machine, of reading, copying "
            "and triads with and without streaming stores for a level of memory, of all widths of instructions for the "
            "arithmetic of a data type; of a roof that a run measured again, since verified points were above it, the faster measurement. The lowest "
            "run is given with it, and a run that measured more than "
            f"{100 * APART:g}\u00a0% less is marked. A GPU is its board, and a CPU with a GPU is the host of that board; what a board has no roof of its own for is judged by "
            "the best of the other boards of its model, which is said. A share above 100\u00a0% is given as it is, up to "
            f"{100 * BEYOND:.0f}\u00a0%; what is further above its roof has none, since it or the roof is wrong. "
            "What memory binds is judged by the level that holds its operands by the sizes of the caches, and there by the pattern "
            "that writes as large a part of its bytes as the problem does: what only reads by reading, what writes as much as it "
            "reads by a copy, what writes a third by a triad where one was measured, else by reading. "
            "An algorithm that does other operations than those counted (Strassen’s; sums of parts of narrower types) has no share "
            "of a peak. A bound is min(bandwidth × intensity, peak)."),
        blocks.paragraph(
            "Limits. What a kernel uses of a resource is its count over its time "
            "over the roof; on the GPU, hardware counters are read in runs of their own, one for each point, in which every cache is empty before each kernel, for "
            "the hot and the cold mode at once, and often on another day than that of a caption, which is the day of the times; the table of files has both. Counts of instructions, requests and sectors of the L1 are the same in each such run; bytes of the L2 and of "
            "DRAM and the states of warps vary, so that numbers that rest on them say that they are of one profiled run each, and by how much runs of "
            "the same launch differ where it was profiled again. Where calls follow each other and the L2 holds their operands, those runs read other bytes "
            "from DRAM than the timed ones, so that DRAM’s counters are left out there. Who serves requested bytes is by differences: the "
            "L1 what its sectors hold less what the L2 is asked for, which includes loads past the L1 that are merged. From a share of "
            f"{LIMITS} on the resource is said to limit the kernel; below, it is only the nearest roof. Shares of a GPU’s roofs are "
            "given twice: of the roof, and of the roof at the clock that the kernel ran at, since arithmetic, instruction issue, the "
            "L1 and shared memory slow down with the multiprocessors’ clock; the L2 and DRAM have clocks of their own and are not "
            f"scaled. The board’s power is a roof, too: from {POWER_LIMITS} of its limit on, a kernel whose samples ran at a lowered clock is "
            "said to be limited by power. "
            "Power and energy are given from energy counters only. A GPU’s moves in steps of many milliseconds, longer than most samples, so that of short "
            "ones they are of runs of their own after the samples, whose clock may be another one."),
        blocks.paragraph(
            "Claims. A measured number is compared with what a source states, or with a limit of ours, by its interval. The intervals "
            "of all claims of one experiment on one machine hold together with 95\u00a0%: an end misses with 2.5\u00a0% divided by their "
            "number. They are by ranks; where there are too few samples for such ranks, the interval of all samples is widened as the "
            "scores of the normal distribution are. A claim holds if the whole interval lies within what is accepted, does not hold if "
            "all of it lies outside, and is undecided otherwise. Where a claim joins numbers of two runs, its interval is wider on "
            f"both sides by what medians of two runs differ by: {100 * BETWEEN_RUNS:g}\u00a0% where nothing was measured repeatedly, or, of a roof that both "
            "runs measured, their own difference. More samples do not narrow that part. So equality within a tolerance can be shown, as a difference can. "
            "The number of samples that would decide supposes that an interval narrows as the root of their number. One code is faster "
            f"than another that does the same work if it is so by more than {100 * GAP:g}\u00a0% where both were interleaved, else by "
            f"more than {100 * GAP_APART:g}\u00a0%."),
        *_guidelines(study),
    ]


def _sides(study: Study) -> list[dict]:
    """How the GPU is compared with the CPU, where both were timed."""
    if not any(len(view.host) > 1 for view in study.views):
        return []
    return [blocks.paragraph(
        "The GPU against the CPU. The interval of a speed-up is the quotient of the ends of the intervals of both times. The GPU is "
        "called faster from a size on if that interval is above 1 there and at all larger sizes that both sides measured; so a speed-up "
        "above 1 at a smaller size, whose interval has 1 in it, does not count. A kernel that was left out at a size, but measured at a "
        "smaller and at a larger one, counts there with its time on the line between these. A run times the copies of operands there and "
        "back three times and keeps the median; with copies, the time of these is the median over all runs of the machine that timed "
        "copies of the same operands. Its interval is by what runs of the machine differ by that copied the same operands: "
        f"of the copies that several runs timed, the {NEAREST} of most similar size show by how much one of them may differ, with "
        f"95\u00a0%; {100 * BETWEEN_RUNS:g}\u00a0% where too few were timed repeatedly. With copies, the ends of both intervals are added.")]


def _guidelines(study: Study) -> list[dict]:
    """Where products on a GPU are measured as NVIDIA's guidelines say, where otherwise, and why."""
    parts = [p for p in study.parts if p.side == "gpu"]
    points = [p for part in parts for p in part.points if p.is_timed and p.is_product]
    if not points:
        return []
    warm = max(p.counters.get("warm_up_seconds", 0.0) for p in points)
    seconds = f"at most {warm:g}\u00a0s" if warm else "none"
    is_over, is_new = (how(bool(p.run.context.get("sm_clock_source")) for p in parts) for how in (any, all))
    clocks = "the mean over each sample" if is_new else "read right after each sample" + (
        " in older runs, the mean over it in newer ones" if is_over else "")
    first = "A group of kernels with a warm-up begins with one second of it" + ("" if is_new else ", except in older runs")
    return [blocks.paragraph(
        "Products on a GPU, and NVIDIA’s guidelines on measuring them (CUTLASS documentation, GEMM performance measurement "
        "methodology). As these ask: random inputs are uniform in [−1, 1), since zeros and small whole numbers draw less power; the "
        "launches of a sample follow each other without gaps; the power limit is fixed, the clock is left to the driver, and rates are "
        f"compared with the roof at the clock that the kernel ran at ({clocks})."),
        blocks.paragraph(
        "Otherwise: (1) The guidelines rotate buffers of at least twice the L2 in all. Here successive calls use the same operands, so "
        "that small products find theirs in the L2: that is the hot mode; the cold mode, which flushes the L2 before each call, is given "
        f"on its own. (2) They let the clock settle for about three seconds. {first}, and each turn with {seconds}: kernels take their "
        "samples in turns, so that the board’s temperature and power affect all of them, and a study stays one of minutes. Energy and "
        "power are those of 0.7\u00a0s of one kernel after its samples. (3) They also test at a fixed clock. That needs the administrator’s "
        "rights; the share at the kernel’s own clock stands in for it.")]


def _coverage(twins: TwinsFile | None) -> str:
    """How often these rules were wrong where the truth was known."""
    if not twins:
        return ""
    within, between = twins.within, twins.between
    turns = words.joined([numbers.grouped(turns) for turns in twins.turns])
    return (f" How often that is wrong was measured with kernels of equal work and with planted slow-downs, in {twins.runs} "
            f"runs that took turns until ratios were known to {100 * twins.ratio_within:g}\u00a0% or their time was over, after "
            f"{turns} samples in the median ({twins.machine}, load {twins.load:.1f}, {twins.date[:10]}). Of the same work, "
            f"taken in turns, {_of(within['same'])} pairs were called different, and {_of(between['same'])} of successive "
            f"runs of one build, where the intervals of {_share(between['intervals'])} are disjoint; 2\u00a0% and 5\u00a0% more "
            f"work was found in {_share(within['two'])} and {_share(within['five'])} of pairs in turns, and in "
            f"{_share(between['two'])} and {_share(between['five'])} between runs.{_differ(twins.between_runs)}")


def _differ(margin: float | None) -> str:
    """What comparisons of different runs on that machine allow for."""
    return "" if margin is None else f" Its runs differ by up to {numbers.percent(margin)}, with 95\u00a0%."


def _of(tally: Tally) -> str:
    return f"{tally.called} of {tally.pairs}"


def _share(tally: Tally) -> str:
    return numbers.percent(tally.called / tally.pairs)


def validity(study: Study) -> list[dict]:
    """What the numbers do not say."""
    texts = ["Intensities by requests count what the source asks for; the GPU executes what the compiler made of it, "
             "and predicated or unused work may differ from the emulator’s counts."]
    virtual = any(p.run.context.get("virtualised") for p in study.parts)
    if virtual:
        texts.append("The machines are virtual: neighbours may share caches, memory and clocks, clock frequencies are "
                     "not fixed, and CPU hardware events are unavailable where the text says so.")
    boards = {p.machine.id: p.machine.name for p in study.parts if p.side == "gpu" and any(x.is_timed for x in p.points)}
    if len(boards) > 1:
        models = list(dict.fromkeys(boards.values()))
        texts.append(f"The GPU’s experiments ran on {len(boards)} boards {'of one model' if len(models) == 1 else f'({words.joined(models)})'}; "
                     "each experiment on one of them, which its captions name.")
    borrowed = sorted({f"{v.title} ({p.roofs.note})" for v in study.views for p in v.timed_parts if p.roofs.note})
    if borrowed:
        texts.append(f"Roofs of another board or machine than the points that they judge: {'; '.join(borrowed)}.")
    texts += doubts.limits(study)
    if lower := doubts.marked(study):
        texts.append(f"Runs that measured a roof more than {100 * APART:g}\u00a0% lower than another run of the same machine, so that "
                     f"their points may have been slowed as well: {'; '.join(lower)}.")
    texts += repeats.limits(study)
    load = sorted({v.title for v in study.views for p in v.timed_parts if p.side == "cpu" and _busy(p.run)})
    if load:
        texts.append(f"When these began, the machine’s load was above half of its cores: {'; '.join(load)}.")
    texts.append("A library is compared at its defaults for the shapes shown; other shapes may rank codes differently. "
                 "Ratios of a GPU to a CPU depend on both being tuned (Lee and others, 2010): the CPU’s code is the "
                 "best of this suite and of the libraries found, on all cores.")
    return [blocks.heading("Limits of validity"), *(blocks.paragraph(t) for t in texts)]


def _busy(run: Run) -> bool:
    cores = run.context.get("cpu_cores")
    return isinstance(cores, int) and (load_of(run) or 0) > 0.5 * cores
