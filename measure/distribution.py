"""The samples of a series as a small SVG: each run on a lane of its own, all lanes above one axis in one unit.

It is written here and not by Vega-Lite, because a book has hundreds of them and each has to be as cheap as a table. Positions are
shares of the width, so that it fits a phone without its labels shrinking.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from statistics import median

from measure.quantity import TimeUnit, format_value, time_unit
from measure.record import Series, Unit
from measure.stats import percentile
from measure.view import SeriesView

MOST_LINES = 300
"""Samples of one run that are drawn one by one. Of more, a reader sees the shape only if they are counted."""
BINS = 100
WIDTH = 1000
"""Steps on the axis: samples that share one are drawn on top of each other."""
LANE = 16
DRAWN = (1e-290, 1e290)
"""The least and the greatest length of an axis on which floats can still be placed."""
ENOUGH_FOR_AN_END = 20
"""From so many samples on, far ones are counted beside the axis instead of squeezing the rest together."""


@dataclass(frozen=True)
class Axis:
    """What part of the values is drawn, in which unit."""

    low: float
    high: float
    unit: TimeUnit | None
    """None where the values are no times."""

    def at(self, value: float) -> int:
        """The step a value falls on."""
        return round((value - self.low) / (self.high - self.low) * WIDTH)

    def ticks(self) -> list[tuple[float, str]]:
        """Round values on the axis, each with its label in the axis' unit."""
        scale = 10.0**-self.unit.exponent if self.unit else 1.0
        low, high = self.low * scale, self.high * scale
        rough = (high - low) / 3
        power = math.floor(math.log10(rough))
        step = next(s for s in (5, 2, 1) if s * 10.0**power <= rough * 1.001) * 10.0**power
        places = max(0, -math.floor(math.log10(step) + 1e-9))
        first = math.ceil(low / step - 1e-9)
        return [(k * step / scale, f"{k * step:.{places}f}") for k in range(first, math.floor(high / step + 1e-9) + 1)]

    def sample(self, value: float) -> str:
        """A value in the axis' unit, without the unit."""
        shown = value * 10.0**-self.unit.exponent if self.unit else value
        return f"{shown:.5g}" if abs(shown) < 1e5 else f"{shown:.0f}"

    @property
    def name(self) -> str:
        """The unit as it is printed; empty for plain numbers."""
        return self.unit.name if self.unit else ""


def axis_for(samples: Sequence[float], unit: Unit) -> Axis:
    """An axis that shows the shape of all samples; it ends early where a few lie far beyond the rest."""
    ordered = sorted(samples)
    low, high = ordered[0], ordered[-1]
    middle = ordered[len(ordered) // 2]
    if len(ordered) >= ENOUGH_FOR_AN_END:
        ninth = percentile(ordered, 90)
        high = min(high, ninth + 3 * (ninth - low)) if ninth > low else high
    room = (high - low) * 0.02 or abs(middle) * 0.01 or 0.5
    return Axis(low - room, high + room, time_unit(middle) if unit == "s" else None)


def draw(series: SeriesView) -> str:
    """The figure of a measured series, with what it shows in words."""
    runs = [(p.round, p.series.samples) for p in series.points if isinstance(p.series, Series)]
    axis = axis_for([s for _, samples in runs for s in samples], series.unit)
    if not DRAWN[0] < axis.high - axis.low < DRAWN[1]:
        return "<figcaption>样本的跨度画不出来。</figcaption>"
    marks: dict[str, list[str]] = {"samples": [], "bins": [], "min": [], "median": []}
    texts: list[str] = []
    said: list[str] = []
    beyond: list[float] = []
    for lane, (round_, samples) in enumerate(runs):
        top = lane * LANE
        inside = [s for s in samples if s <= axis.high]
        beyond += [s for s in samples if s > axis.high]
        if len(samples) > MOST_LINES:
            marks["bins"].append(_bins(inside, axis, top + LANE - 2))
        else:
            marks["samples"] += [f"M{x} {top + 3}v10" for x in dict.fromkeys(map(axis.at, inside))]
        marks["min"].append(f"M{axis.at(min(samples))} {top + 8}h0")
        middle = median(samples)
        if middle <= axis.high:
            marks["median"].append(f"M{axis.at(middle)} {top + 1}v14")
        if len(runs) > 1:
            texts.append(f'<text x="-6" y="{top + 12}" text-anchor="end">{round_}</text>')
        if len(inside) < len(samples):
            texts.append(f'<text x="100%" dx="4" y="{top + 12}">→{len(samples) - len(inside)}</text>')
        said.append(f"第 {round_} 轮 {len(samples)} 个样本，最小 {axis.sample(min(samples))}，中位数 {axis.sample(middle)}")
    bottom = len(runs) * LANE
    grid = ""
    ticks = axis.ticks()
    for k, (value, label) in enumerate(ticks):
        grid += f"M{axis.at(value)} 0v{bottom + 3}"
        unit = f" {axis.name}" if k == len(ticks) - 1 and axis.name else ""
        texts.append(f'<text x="{axis.at(value) / WIDTH:.1%}" y="{bottom + 15}" text-anchor="middle">{label}{unit}</text>')
    paths = "".join(f'<path class="{name}" d="{"".join(d)}"/>' for name, d in [("grid", [grid]), *marks.items()] if d)
    inner = f'<svg width="100%" height="{bottom + 4}" viewBox="0 0 {WIDTH} {bottom + 4}" preserveAspectRatio="none">{paths}</svg>'
    named = [f"单位 {axis.name}"] if axis.name else []
    svg = f'<svg class="lanes" role="img" aria-label="{escape("；".join([*named, *said]))}" width="100%" height="{bottom + 20}">{inner}{"".join(texts)}</svg>'
    notes = []
    if beyond:
        notes.append(f"轴的右边还有 {len(beyond)} 个样本，最大 {format_value(max(beyond), series.unit)}")
    if marks["bins"]:
        width = format_value((axis.high - axis.low) / BINS, series.unit)
        notes.append(f"每轮的样本超过 {MOST_LINES} 个，不逐个画，数进 {BINS} 格，每格宽 {width}")
    return svg + (f"<figcaption>{escape('；'.join(notes))}。</figcaption>" if notes else "")


def _bins(samples: Sequence[float], axis: Axis, bottom: int) -> str:
    """A histogram as one outline, the fullest bin as high as the lane."""
    counts = [0] * BINS
    scale = BINS / (axis.high - axis.low)
    low = axis.low
    for s in samples:
        counts[min(int((s - low) * scale), BINS - 1)] += 1
    most = max(counts)
    step = WIDTH // BINS
    outline = "".join(f"V{bottom - count / most * (LANE - 4):.4g}h{step}" for count in counts)
    return f"M0 {bottom}{outline}V{bottom}z"
