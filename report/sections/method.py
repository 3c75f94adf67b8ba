"""Method and limits of validity, as this report applies them."""

from __future__ import annotations

from report.data.collect import Study
from report.data.companions import Tally, TwinsFile
from report.data.limits import LIMITS
from report.data.records import Run
from report.data.statistics import FEWEST_FOR_INTERVAL, FEWEST_TURNS, GAP, GAP_APART
from report.experiment import numbers, words
from report.sections.provenance import load_of
from report.text import blocks

CITED = ("hoefler2015", "higham2002", "williams2009", "yang2020", "lee2010")


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
            "Timing. One repetition is one sample and every sample is kept; warm-up, allocation and transfers are "
            "excluded and transfers are given on their own. Hot: calls follow each other; cold: the last-level cache is "
            f"flushed before each. Points run in a shuffled order (seed {words.joined(seeds)}); where kernels are "
            "interleaved, they take their samples in turns, in an order that changes from turn to turn."),
        blocks.paragraph(
            "Statistics (Hoefler and Belli, 2015). Values are medians with 95\u00a0% intervals by ranks, given from "
            f"{FEWEST_FOR_INTERVAL} samples on; no normality is assumed and no sample is dropped. Samples that follow "
            "each other are correlated, and count for as many independent ones as the correlation from one to the next "
            "leaves; where that is fewer than six, the interval is their whole range. An interval tells how steady a "
            "value was within its run. It does not tell what another run gives: placement in memory, the machine’s "
            "other work and its clock differ by more. A rate is the useful work over the median time."),
        blocks.paragraph(
            "Comparisons. One code is called significantly faster or slower than another only if a two-sided test "
            "rejects equality at 5\u00a0% after Holm’s correction over all comparisons of the experiment. Where no sample of "
            f"the one is within {100 * GAP_APART:g}\u00a0% of any of the other, that is the Mann–Whitney U test. Where samples are "
            "nearer, the machine may have changed between them, and only codes that were interleaved in the same run for at "
            f"least {FEWEST_TURNS} turns can differ: by the sign test on the quotients of samples of the same turn, of their "
            f"being more than {100 * GAP:g}\u00a0% from equality, where quotients count for as many as their correlation from turn to "
            "turn, the mean over all comparisons, leaves. The ratio given "
            "is the median quotient of such codes, and the ratio of the medians of others. Other differences are called not "
            "significant, whatever their size; "
            "where so many samples could not have shown any difference among so many comparisons, the text says that "
            f"they are too few.{_coverage(study.twins)}"),
        blocks.paragraph(
            "Roofs (Williams and others, 2009; Yang and others, 2020). Each is the highest median that a kernel made for "
            "it reached, of reading, copying and triads for a level of memory, in the run of the points that it judges "
            "and for their number of threads; where the run has none, in the run nearest in time on the same machine. "
            "A bound is min(bandwidth × intensity, peak). What a kernel uses of a resource is its count over its time "
            "over the roof; on the GPU, hardware counters are read in runs of their own. From a share of "
            f"{LIMITS} on the resource is said to limit the kernel; below, it is only the nearest roof. Energy is given "
            "from energy counters only."),
    ]


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
            f"{_share(between['two'])} and {_share(between['five'])} between runs.")


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
        texts.append(f"Roofs from another run than the points that they judge: {'; '.join(borrowed)}.")
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
