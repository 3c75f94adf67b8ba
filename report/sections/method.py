"""Method and limits of validity, as this report applies them."""

from __future__ import annotations

from collections.abc import Callable

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

BRIEFLY = ("hoefler2015", "higham2002", "williams2009", "lee2010")
"""The sources of the method in half a page and of the limits of validity."""
TERMS = ("Terms. A GPU’s multiprocessor executes warps, 32 threads with one instruction at a time. A warp’s loads of neighbouring addresses are merged into sectors of "
         "32 bytes. A wavefront is one pass of at most 128 bytes through the path that the L1 cache and shared memory have in common. Occupancy is the number of resident warps "
         "over the most that fit. A multiply-add is two operations and takes one slot of instruction issue.")
CITED = ("hoefler2015", "higham2002", "williams2009", "yang2020", "lee2010", "cutlass_measuring")


def brief(study: Study, cite: Callable[[str], str]) -> list[dict]:
    """The method in half a page; `cite`: the number of a source in the list of references."""
    return [
        blocks.heading("Method"),
        blocks.paragraph(
            "Each kernel’s result is judged against a float64 reference before and after timing; its outputs are filled with wrong numbers before. A kernel that "
            f"fails has no rate{cite('higham2002')}. Kernels that are compared are interleaved, in an order that changes from round to round. A sample times several "
            "calls in succession (hot mode); samples that other work on the machine disturbed are marked and taken again. Rates are medians, clocks and power are means; intervals "
            f"are of 95\u00a0%, by ranks within the run{cite('hoefler2015')}. A point is unsettled, and drawn hollow, if the time was over before the required precision was reached. A code is called "
            f"faster than another only if a two-sided test is significant at 5\u00a0% after Holm’s correction; interleaved codes must also differ by more than {100 * GAP:g}\u00a0%.{_coverage_briefly(study.twins)}"),
        blocks.paragraph(
            f"A roof{cite('williams2009')} is the highest rate that any kernel written for one resource reached in any run of the machine: of one board, or one host. Shares are of the roof and, "
            "on a GPU, also of the roof at the clock that the kernel ran at. A resource is said to limit a kernel from a share of "
            f"{LIMITS:g} on; the board’s power from {POWER_LIMITS:g} of its limit on, where it lowered the clock. Operations per byte have three "
            "sources: the formula in the kernel’s record, an emulator that executes the kernel and counts, and hardware counters in separate runs. "
            "A GPU is compared with the best code of this suite and of all libraries found on all cores of the CPU in the same host. data.pdf has the method in full."),
        *([blocks.paragraph(TERMS)] if any(p.side == "gpu" for p in study.parts) else []),
    ]


def _coverage_briefly(twins: TwinsFile | None) -> str:
    if not twins:
        return ""
    return (f" Where the truth was known, {_of(twins.within['same'])} interleaved pairs with equal work were called different, and "
            f"{_share(twins.within['five'])} of the pairs with 5\u00a0% more work.")


def method(study: Study) -> list[dict]:
    """How kernels are measured, compared and judged."""
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
            "the location of the operands alone changes times."),
        blocks.paragraph(
            "Statistics (Hoefler and Belli, 2015). All values in text, tables and figures are medians, except clocks, power and the load by "
            "others, which are means; vertical or horizontal bars are their 95\u00a0% intervals by ranks within the run. A point is unsettled, and drawn "
            "hollow, if its sampling ended before the required precision was reached, or if other work disturbed it too much. Intervals are given from "
            f"{FEWEST_FOR_INTERVAL} samples on; no normality is assumed and no sample is left out for its value. Samples that follow "
            f"each other are correlated: n of them count as m = n(1 − r)/(1 + r) independent ones, rounded down, where r, from 0 to {MOST_CORRELATED:g}, is the "
            "correlation of the ranks of successive samples plus 1/n, since few samples understate it. The interval’s ends are the samples "
            "whose ranks are those for m independent samples times n/m; "
            f"where m is less than {FEWEST_FOR_INTERVAL}, the interval is the whole range. An interval shows how steady a "
            "value was within its run. It does not predict another run: runs differ by more, through placement in memory, the "
            "machine’s other work and its clock. A rate is the useful work over the median time."),
        blocks.paragraph(
            "Disturbed samples. During each sample the harness watches how long threads waited for a processor, what a hypervisor took and, on "
            "a GPU, the time that other processes used. A sample that this made more than 1 % longer is marked as disturbed, and another one is "
            "taken. Marked samples are left out of medians, intervals, comparisons and numbers of samples. Captions have their number; the CSV files of "
            "figures and tables have, for each point, their number and the median time with and without them; tables/samples.csv has all points. Where other work "
            "left too little time for undisturbed samples, all samples count, and the interval reaches down to the estimated shortest time without the waits. "
            f"A point is unsettled if fewer than half of its samples or fewer than {FEWEST_FOR_INTERVAL} are left, or if the median of all samples is outside of its "
            "interval: then the result depends more on which samples count than on how they scatter. The interval is not widened to include that median, since "
            "a wait makes a sample longer and never shorter, so that the median of all estimates another quantity: the time next to other work. "
            "Throttled: the driver reported that it had lowered the clock, as at the limit of power."),
        blocks.paragraph(
            "Comparisons. One code is called significantly faster or slower than another only if a two-sided test "
            "rejects equality at 5\u00a0% after Holm’s correction over all comparisons of the experiment. Where no sample of "
            f"the one is within {100 * GAP_APART:g}\u00a0% of any of the other, that is the Mann–Whitney U test. Where samples are "
            "nearer, the machine may have changed between them. Then only interleaved codes can differ, with at "
            f"least {FEWEST_TURNS} rounds in which no sample is left out: a sign test decides whether the quotients of samples of the same round are "
            f"more than {100 * GAP:g}\u00a0% from equality. Successive rounds are correlated, so that the quotients count as fewer; their correlation is "
            "the mean over all comparisons. For such codes the ratio given is the median quotient, which need not be the quotient of the two rates "
            "next to it, and its interval is by the ranks of the quotients. For others it is the ratio of the medians, and its interval is the "
            "quotient of the ends of both intervals. An interval of the ratio of two runs is wider on both sides by the difference between runs of the machine: "
            f"{100 * BETWEEN_RUNS:g}\u00a0% where nothing was measured repeatedly. Where an experiment names its fastest code, "
            "it also names those that do not differ significantly from it. Other differences are called not "
            "significant, whatever their size; "
            "where the samples could not have shown any difference among this number of comparisons, the text states that "
            f"they are too few.{_coverage(study.twins)}"),
        *_sides(study),
        blocks.paragraph(
            "Roofs (Williams and others, 2009; Yang and others, 2020). A machine has one for each resource and number of "
            "threads: the highest median that any kernel made for it reached in any run of that machine. For a level of memory these kernels read, "
            "copy and compute triads, with and without streaming stores; for the arithmetic of a data type they use all widths of instructions. "
            "A run measures a roof again if verified points are above it, and then the faster measurement counts. The lowest "
            "run is given with the roof, and a run that measured more than "
            f"{100 * APART:g}\u00a0% less is marked. A GPU is identified by its board, and a CPU with a GPU by the board in its host. Where a board has no roof "
            "of its own, the best one of the other boards of its model is used, and the text states it. A share above 100\u00a0% is given as it is, up to "
            f"{100 * BEYOND:.0f}\u00a0%; a point further above its roof has no share, since it or the roof is wrong. "
            "A memory-bound kernel is judged by the roof of the level that holds its operands, by the sizes of the caches, with the pattern "
            "that writes the same part of its bytes as the problem does: reading for a kernel that only reads, a copy for one that writes as "
            "much as it reads, a triad, where one was measured, for one that writes a third, else reading. "
            "An algorithm that does other operations than those counted (Strassen’s; sums of parts of narrower types) has no share "
            "of a peak. A bound is min(bandwidth × intensity, peak)."),
        blocks.paragraph(
            "Limits. A kernel’s use of a resource is its count divided by its time and by the roof. On the GPU, hardware counters are read in "
            "separate runs, one for each point, for the hot and the cold mode at once; every cache is empty before each kernel. Often they are of "
            "another day than the times. Captions give the day of the times, the table of files both. Counts of instructions, requests and "
            "sectors of the L1 are the same in each such run. Bytes of the L2 and of DRAM and the states of warps vary; numbers that depend on them "
            "are marked as numbers of one profiled run, with the difference between runs where the same launch was profiled again. Where calls "
            "follow each other and the L2 holds their operands, those runs read other bytes "
            "from DRAM than the timed ones, so that DRAM’s counters are left out there. The level that serves requested bytes follows from differences: "
            "the L1 serves the bytes of its sectors less those requested from the L2, which includes merged loads past the L1. From a share of "
            f"{LIMITS} on the resource is said to limit the kernel; below, it is only the nearest roof. Shares of a GPU’s roofs are "
            "given twice: of the roof, and of the roof at the clock that the kernel ran at, since arithmetic, instruction issue, the "
            "L1 and shared memory slow down with the multiprocessors’ clock; the L2 and DRAM have clocks of their own and are not "
            f"scaled. The board’s power is a roof, too: from {POWER_LIMITS} of its limit on, a kernel whose samples ran at a lowered clock is "
            "said to be limited by power. "
            "Power and energy are given from energy counters only. A GPU’s counter advances in steps of many milliseconds, longer than most samples. For short "
            "samples, power and energy are therefore of separate runs after the samples, whose clock may differ."),
        blocks.paragraph(
            "Claims. A measured number is compared with what a source states, or with a limit of ours, by its interval. The intervals "
            "of all claims of one experiment on one machine hold together with 95\u00a0%: an end misses with 2.5\u00a0% divided by their "
            "number. They are by ranks; where there are too few samples for such ranks, the interval of all samples is widened as the "
            "scores of the normal distribution are. A claim holds if the whole interval lies within what is accepted, does not hold if "
            "all of it lies outside, and is undecided otherwise. Where a claim joins numbers of two runs, its interval is wider on "
            f"both sides by the difference between medians of two runs: {100 * BETWEEN_RUNS:g}\u00a0% where nothing was measured repeatedly, or, for a roof that both "
            "runs measured, their own difference. More samples do not reduce that part. So equality within a tolerance can be shown, as a difference can. "
            "The number of samples that would decide assumes that an interval narrows with the square root of their number. One code is faster "
            f"than another that does the same work if it is so by more than {100 * GAP:g}\u00a0% where both were interleaved, else by "
            f"more than {100 * GAP_APART:g}\u00a0%."),
        *_guidelines(study),
    ]


def _sides(study: Study) -> list[dict]:
    """How the GPU is compared with the CPU, where both were timed."""
    if not any(len(view.host) > 1 for view in study.views):
        return []
    return [blocks.paragraph(
        "The GPU against the CPU. Of a kernel that several experiments measured, the one whose ladder it is on counts. The interval of a speed-up is the quotient of the ends of the intervals of both times. The GPU is "
        "called faster from a size on if that interval is above 1 there and at all larger sizes that both sides measured; so a speed-up "
        "above 1 at a smaller size, whose interval has 1 in it, does not count. A kernel that was left out at a size, but measured at a "
        "smaller and at a larger one, counts there with its time on the line between these. A run times the copies of operands there and "
        "back three times and keeps the median; with copies, their time is the median over all runs of the machine that timed "
        "copies of the same operands. Its interval is the difference between runs of the machine that copied the same operands: "
        f"of the copies that several runs timed, the {NEAREST} of most similar size show by how much one may differ, with "
        f"95\u00a0%; {100 * BETWEEN_RUNS:g}\u00a0% where too few were timed repeatedly. With copies, the ends of both intervals are added.")]


def _guidelines(study: Study) -> list[dict]:
    """Where measurements of products on a GPU follow NVIDIA's guidelines, where not, and why."""
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
        "methodology). As they recommend: random inputs are uniform in [−1, 1), since zeros and small whole numbers draw less power; the "
        "launches of a sample follow each other without gaps; the power limit is fixed, the clock is left to the driver, and rates are "
        f"compared with the roof at the clock that the kernel ran at ({clocks})."),
        blocks.paragraph(
        "Otherwise: (1) The guidelines rotate buffers of at least twice the L2 in all. Here successive calls use the same operands, so "
        "that small products find theirs in the L2: that is the hot mode; the cold mode, which flushes the L2 before each call, is given "
        f"on its own. (2) They let the clock settle for about three seconds. {first}, and each round with {seconds}: kernels are "
        "interleaved, so that the board’s temperature and power affect all of them, and a study takes only minutes. Energy and "
        "power are measured during 0.7\u00a0s of one kernel after its samples. (3) They also test at a fixed clock. That requires the administrator’s "
        "rights; the share at the kernel’s own clock replaces it.")]


def _coverage(twins: TwinsFile | None) -> str:
    """How often these rules were wrong where the truth was known."""
    if not twins:
        return ""
    within, between = twins.within, twins.between
    turns = words.joined([numbers.grouped(turns) for turns in twins.turns])
    return (f" How often that is wrong was measured with kernels of equal work and with planted slow-downs, in {twins.runs} "
            f"runs of interleaved kernels, each until ratios were known to {100 * twins.ratio_within:g}\u00a0% or its time was over, after "
            f"{turns} samples in the median ({twins.machine}, load {twins.load:.1f}, {twins.date[:10]}). With the same work, "
            f"{_of(within['same'])} interleaved pairs were called different, and {_of(between['same'])} of successive "
            f"runs of one build, where the intervals of {_share(between['intervals'])} are disjoint; 2\u00a0% and 5\u00a0% more "
            f"work was found in {_share(within['two'])} and {_share(within['five'])} of interleaved pairs, and in "
            f"{_share(between['two'])} and {_share(between['five'])} between runs.{_differ(twins.between_runs)}")


def _differ(margin: float | None) -> str:
    """The difference between runs on that machine that comparisons allow for."""
    return "" if margin is None else f" Its runs differ by up to {numbers.percent(margin)}, with 95\u00a0%."


def _of(tally: Tally) -> str:
    return f"{tally.called} of {tally.pairs}"


def _share(tally: Tally) -> str:
    return numbers.percent(tally.called / tally.pairs)


BRIEF = 330
"""Letters of a limit of validity that the paper prints."""


def validity(study: Study, is_brief: bool = False) -> list[dict]:
    """The limits of what the numbers show; `is_brief`: only the short ones, with the number of the others."""
    texts = ["Intensities by requests count the accesses in the source; the GPU executes the compiler’s code, "
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
    short = [t for t in texts if len(t) <= BRIEF] if is_brief else texts
    if rest := len(texts) - len(short):
        short.append(f"{words.counted(rest, 'further limit')}, with the names of runs and roofs, {'is' if rest == 1 else 'are'} in data.pdf.")
    return [blocks.heading("Limits of validity"), *(blocks.paragraph(t) for t in short)]


def _busy(run: Run) -> bool:
    cores = run.context.get("cpu_cores")
    return isinstance(cores, int) and (load_of(run) or 0) > 0.5 * cores
