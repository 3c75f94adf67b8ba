"""The GPU against the best CPU code at each size, with and without host–device copies."""

from __future__ import annotations

from report import captions, derive
from report.derive import SpeedUp
from report.records import Study

NAME = "speedup"


def series(study: Study) -> list[tuple[str, list[SpeedUp]]]:
    """Best GPU code of each size; and the textbook's naive kernel."""
    made = [("Best GPU code", derive.speed_ups(study))] if len(study.sides) == 2 else []
    pair = derive.textbook_pair(study)
    if pair and made:
        made.append((pair[0].kernel.title, derive.speed_ups(study, pair[0].kernel)))
    return [(name, found) for name, found in made if found]


def rows(study: Study) -> list[dict]:
    made = []
    for name, found in series(study):
        for s in found:
            ends, with_ends = s.interval or (None, None), s.with_interval or (None, None)
            made.append({
                "series": name, "n": s.n, "cpu_kernel": s.cpu.kernel.name, "cpu_title": s.cpu.title,
                "cpu_gflops": s.cpu.gflops, "gpu_kernel": s.gpu.kernel.name, "gpu_title": s.gpu.title,
                "gpu_gflops": s.gpu.gflops, "speedup": s.ratio, "speedup_low": ends[0], "speedup_high": ends[1],
                "transfer_seconds": s.transfer, "transfer_borrowed": int(s.borrowed),
                "speedup_with_transfer": s.with_transfer,
                "with_transfer_low": with_ends[0], "with_transfer_high": with_ends[1]})
    return made


def caption(study: Study, table: list[dict]) -> str:
    found = [s for _, group in series(study) for s in group]
    cores = max(s.cpu.threads for s in found)
    threads = study.cpu.context.get("cpu_threads", cores)
    shown = [(study.cpu, list({s.cpu.name: s.cpu for s in found}.values())),
             (study.gpu, list({s.gpu.name: s.gpu for s in found}.values()))]
    apart = " The two sides were measured on different machines or days." if _apart(study) else ""
    copies = ("; open: with the copies of the inputs to the device and of the result back (pinned memory)"
              if any(s.with_transfer for s in found) else "; copies were not timed")
    if any(s.borrowed for s in found):
        copies += (", for a code without a copy time of its own the median of the other codes of the same operands")
    return (f"How many times faster the GPU is than the best CPU code of the same size ({threads} threads; its rate "
            f"stands below each size), in the same precision. Filled: data already on the GPU{copies}. Bars: from the "
            f"ends of both intervals. Below 1 the CPU wins.{apart} " + captions.provenance(shown))


def _apart(study: Study) -> bool:
    return study.cpu.recorded != study.gpu.recorded or study.cpu.days != study.gpu.days


def draw(study: Study, table: list[dict]):
    from report import labels, style
    fig = style.figure(2.62)
    ax = style.axes(fig, 0.62, 0.74, style.WIDTH - 0.62 - 1.75, 1.79, xscale="log", yscale="log")
    names, tags = list(dict.fromkeys(r["series"] for r in table)), []
    for i, name in enumerate(names):
        part = [r for r in table if r["series"] == name]
        look = style.kernel_style("gpu", len(names) - 1 - i, len(names), False)
        tags += _line(ax, part, look, "speedup", ("speedup_low", "speedup_high"), name, True)
        part = [r for r in part if r["speedup_with_transfer"]]
        tags += _line(ax, part, look, "speedup_with_transfer", ("with_transfer_low", "with_transfer_high"),
                      f"{name}, with copies", False)
    ax.axhline(1, color=style.INK, linewidth=0.8, zorder=1)
    _axes(ax, table)
    labels.margin_labels(ax, tags, limit=27)
    return fig


def _axes(ax, table: list[dict]) -> None:
    from report import fmt, style
    sizes = {r["n"]: r["cpu_gflops"] for r in table}
    ax.set_xlim(min(sizes) / 1.3, max(sizes) * 1.3)
    style.plain_ticks(ax.xaxis, sorted(sizes))
    named = style.thinned(sorted(sizes))
    rated = named[::-1][::2 if len(named) > 7 else 1]
    ax.set_xticks(sorted(sizes), ["" if n not in named else f"{n}\n{fmt.flops(sizes[n]).replace(' ', chr(10))}"
                                  if n in rated else f"{n}" for n in sorted(sizes)])
    values = [v for r in table for k in ("speedup", "speedup_with_transfer") if (v := r[k])]
    low, high = min(1, *values) / 1.6, max(values) * 1.6
    ax.set_ylim(low, high)
    ticks = [m * 10.0**e for e in range(-6, 7) for m in ((1,) if high / low > 300 else (1, 2, 5))]
    style.plain_ticks(ax.yaxis, [t for t in ticks if low <= t <= high])
    ax.set_xlabel("N (square matrices); below it, the rate of the best CPU code")
    ax.set_ylabel("Speed-up over best CPU code")


def _line(ax, part: list[dict], look: dict, key: str, ends: tuple[str, str], name: str, filled: bool):
    """One series; returns its margin label."""
    if not part:
        return []
    ax.plot([r["n"] for r in part], [r[key] for r in part], color=look["color"],
            linestyle="-" if filled else (0, (3, 2)), zorder=3)
    for r in part:
        if r[ends[0]]:
            ax.plot([r["n"]] * 2, [r[ends[0]], r[ends[1]]], color=look["color"], linewidth=1, zorder=3)
        ax.plot([r["n"]], [r[key]], look["marker"], color=look["color"], zorder=4,
                markerfacecolor=look["color"] if filled else "white")
    last = part[-1]
    return [(last["n"], last[key], name, look["color"])]
