"""How fast the emulator is, beside other emulators of GPU kernels on a CPU: a sentence and a table for the method."""

from __future__ import annotations

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


def rate(emulator: Emulator, mode: str, threads: int | None = 1) -> EmulatorRate | None:
    """That of the kernel which all have, the first, at the largest size; `threads` None: on the most that were tried."""
    mine = [r for r in emulator.rates
            if r.mode == mode and r.kernel == emulator.rates[0].kernel and threads in (None, r.threads)]
    return max(mine, key=lambda r: (r.threads, r.n), default=None)


def cell(value: EmulatorRate | None) -> tuple[str, str] | None:
    return (millions(value.per_core), f"N = {value.n}") if value else None


def millions(per_second: float) -> str:
    return f"{fmt.significant(per_second / 1e6, 2 if per_second < 1e8 else 3)} M/s"


def sentence(file: EmulatorFile) -> str:
    """Our rates in all modes, on one core and on all; then each other emulator's best, and how many times slower."""
    ours, *others = file.emulators
    parts = [f"{title} {millions(one.per_core)}" for mode, title in MODES if (one := rate(ours, mode))]
    text = f"The emulator’s own speed, in accesses of single threads a second on one core: {', '.join(parts)}."
    every = rate(ours, "counting", None)
    if every and every.threads > 1:
        text += f" On {every.threads} cores it counts {millions(every.per_core * every.threads)}."
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
    return ("Accesses to global and shared memory a second and core in the 16-wide tiled product, the same kernel in each "
            "emulator’s language (tests/peers/), median of the runs, at the largest N that was timed; and what each tells "
            "of that kernel: the two faults are planted, the counts were compared with the formula. "
            f"{file.machine}, {file.cores} cores, {file.date[:10]}.")
