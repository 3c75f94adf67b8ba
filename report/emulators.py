"""How fast the emulator is, beside other emulators of GPU kernels on a CPU: a sentence and a table for the method."""

from __future__ import annotations

from statistics import median

from report import blocks, fmt
from report.records import Emulator, EmulatorFile, EmulatorRate, Study

MODES = (("counting", "counting"), ("hazards", "with hazards"), ("answer", "answer only"))
TOLD = (("race", "races"), ("uninitialised", "uninitialised reads"), ("accesses", "counts accesses"),
        ("sectors", "counts sectors"))


def rates(study: Study) -> list[dict]:
    """The paragraph and the table; nothing where no file has them."""
    file = study.emulators
    if file is None or not any(emulator.rates for emulator in file.emulators):
        return []
    columns = [("emulator", "l"), *((title, "r") for _, title in MODES), *((title, "l") for _, title in TOLD)]
    rows = [(emulator.tool, *(cell(rate(emulator, mode)) for mode, _ in MODES),
             *(("yes" if emulator.told[key] else "no") if key in emulator.told else None for key, _ in TOLD))
            for emulator in file.emulators]
    return [blocks.paragraph(sentence(file)),
            blocks.table(caption(file), columns, rows, widths=["1fr", *("auto" for _ in columns[1:])])]


def rate(emulator: Emulator, mode: str) -> EmulatorRate | None:
    """That of the kernel which all have, the first, on the fewest cores at the largest size."""
    mine = [r for r in emulator.rates if r.mode == mode and r.kernel == emulator.rates[0].kernel]
    return max(mine, key=lambda r: (-r.threads, r.n), default=None)


def longest(emulator: Emulator) -> EmulatorRate | None:
    """The largest product that was counted, on the most cores."""
    mine = [r for r in emulator.rates if r.mode == "counting" and r.kernel == emulator.rates[0].kernel]
    return max(mine, key=lambda r: (r.n, r.threads), default=None)


def cell(value: EmulatorRate | None) -> tuple[str, str] | None:
    return (millions(value.per_core), f"N = {value.n}") if value else None


def millions(per_second: float) -> str:
    return f"{fmt.significant(per_second / 1e6, 2 if per_second < 1e8 else 3)} M/s"


def sentence(file: EmulatorFile) -> str:
    """Our rates in all modes and the longest run; then the rate of each other emulator, and ours as its multiple."""
    ours, *others = file.emulators
    parts = [f"{title} {millions(one.per_core)}" for mode, title in MODES if (one := rate(ours, mode))]
    text = f"The emulator’s own speed, in accesses of single threads a second and core: {', '.join(parts)}."
    if last := longest(ours):
        cores = f"{last.threads} cores" if last.threads > 1 else "one core"
        text += f" The whole product at N = {last.n} is counted in {fmt.seconds(median(last.seconds))} on {cores}."
    return " ".join([text, *(compared(ours, other) for other in others if other.rates)])


def compared(ours: Emulator, other: Emulator) -> str:
    """One sentence on another emulator, in the mode nearest to counting that both have."""
    for mode in ("counting", "answer", "hazards"):
        mine, theirs = rate(ours, mode), rate(other, mode)
        if mine and theirs:
            what = {"counting": "counting", "answer": "for the answer alone", "hazards": "looking for hazards"}[mode]
            return (f"{other.tool}, {what}: {millions(theirs.per_core)}, where this one does "
                    f"{fmt.times(mine.per_core / theirs.per_core)} as many.")
    return ""


def caption(file: EmulatorFile) -> str:
    return ("Accesses to global and shared memory in a second of one core’s time, in the 16-wide tiled product, "
            "written alike in each emulator’s language (tests/peers/): median of the runs at the largest N that was "
            "timed on one core; and what each tells: the two faults are planted, the counts were compared with the "
            f"formula. {file.machine}, {file.cores} cores, {file.date[:10]}.")
