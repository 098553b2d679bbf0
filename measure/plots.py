"""Plots as SVG, drawn by Vega-Lite. A plot that did not change is taken from a cache outside the tree.

All are as narrow as a phone, with names above what they name, so that nothing shrinks there; each comes with its table.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from html import escape
from importlib.metadata import version
from typing import Any

from measure import cache
from measure.late import Placed
from measure.quantity import PageError, Quantity, TimeUnit, format_time, time_unit
from measure.record import Series
from measure.view import SeriesView

COLOURS = ["#2a7f9e", "#c98a2b", "#8b8f98", "#7a5ea8", "#4c9a5a"]
"""Colours of parts: far enough apart in lightness to be told apart in grey, and readable on both grounds."""

FONT = "system-ui, 'PingFang SC', 'Microsoft YaHei', 'Noto Sans CJK SC', sans-serif"
WIDTH = 330
NAME, LANE, GAP = 22, 20, 8
"""Heights: of a line with a name, of a bar or a row of points, and below a group of them."""
ROOM = {False: 1.2, True: 1.5}
"""How much longer than the longest bar the axis is: for a number behind it, or for a number and a name."""

ROLES = re.compile(r' (role|aria-\w+)="[^"]*"')
"""What Vega tells a screen reader of each group of marks, without a name for it. The figure is one image with one name."""

Parts = Sequence[tuple[str, Quantity]]


def bars(title: str, rows: Sequence[tuple[str, Quantity | Parts] | None]) -> Placed:
    """Horizontal bars of times from zero, one unit for all, each with its value; under one name one bar, or one for each named setting."""
    kept = [(name, [("", what)] if isinstance(what, Quantity) else list(what)) for name, what in filter(None, rows)]
    times = [q for _, parts in kept for _, q in parts]
    if not times or any(q.unit != "s" for q in times):
        raise PageError("bars() 要 [[名字, 时间], …] 或 [[名字, [[设置, 时间], …]], …]，至少一行")
    unit = time_unit(max(q.value for q in times))
    several = any(part for _, parts in kept for part, _ in parts)
    groups = [
        (
            name,
            [
                {"from": 0, "value": _in(unit, q), "label": unit.show(q.value, q.significant) + (f"（{part}）" if part else "")}
                for part, q in parts
            ],
        )
        for name, parts in kept
    ]
    longest = ROOM[several] * max(_in(unit, q) for q in times)
    x = {"type": "quantitative", "scale": {"domain": [0, longest], "nice": False}, "axis": {"tickCount": 5}}
    layers = [
        {
            "mark": {"type": "rule", "strokeWidth": 13, "opacity": 0.4},
            "encoding": {"x": x | {"field": "from"}, "x2": {"field": "value"}},
        },
        {
            "mark": {"type": "text", "align": "left", "dx": 5},
            "encoding": {"x": x | {"field": "value"}, "text": {"field": "label"}},
        },
    ]
    described = "；".join(f"{name} {'、'.join(f'{part} {q.text()}'.lstrip() for part, q in parts)}" for name, parts in kept)
    table = [[name, *([part] if several else []), q.text()] for name, parts in kept for part, q in parts]
    return _figure(groups, layers, f"{title}（{unit.name}）", described, ["", *([""] if several else []), "时间"], table)


def stacked(title: str, rows: Sequence[tuple[str, Parts] | None]) -> Placed:
    """Horizontal bars of times, each made of named parts, one unit for all; the parts in the order given."""
    kept = [row for row in rows if row is not None]
    times = [q for _, parts in kept for _, q in parts]
    if not times or any(q.unit != "s" for q in times):
        raise PageError("stacked() 要 [[名字, [[部分, 时间], …]], …]，至少一行")
    unit = time_unit(max(q.value for q in times))
    names = list(dict.fromkeys(part for _, parts in kept for part, _ in parts))
    groups = []
    for name, parts in kept:
        ends = [0.0]
        for _, q in parts:
            ends.append(ends[-1] + _in(unit, q))
        lane = [{"part": part, "from": a, "to": b} for (part, _), a, b in zip(parts, ends, ends[1:], strict=False)]
        groups.append((name, [{"pieces": lane}]))
    x = {"type": "quantitative", "axis": {"tickCount": 5}}
    colour = {"field": "part", "type": "nominal", "sort": names, "title": None, "scale": {"domain": names, "range": COLOURS}}
    encoding = {"x": x | {"field": "from"}, "x2": {"field": "to"}, "color": colour}
    layers = [{"mark": {"type": "rule", "strokeWidth": 15, "opacity": 0.85}, "encoding": encoding}]
    described = "；".join(f"{name}：{'、'.join(f'{part} {q.text()}' for part, q in parts)}" for name, parts in kept)
    table = [[name, part, q.text()] for name, parts in kept for part, q in parts]
    return _figure(groups, layers, f"{title}（{unit.name}）", described, ["", "", "时间"], table)


def strip(title: str, rows: Sequence[tuple[str, SeriesView] | None], *, log: bool = False) -> Placed:
    """Every sample of each series as a point on one axis; of published series the figures that were printed."""
    kept = [row for row in rows if row is not None]
    if not kept or any(series.unit != "s" for _, series in kept):
        raise PageError("strip() 要 [[名字, 一组时间], …]，至少一行")
    values = [(name, _seconds(series), _middle(series)) for name, series in kept]
    low, high = min(min(s) for _, s, _ in values), max(max(s) for _, s, _ in values)
    unit = time_unit(math.sqrt(low) * math.sqrt(high))
    groups = [
        (f"{name}  {format_time(middle)}", [{"pieces": [{"value": float(unit.show(s, 6))} for s in seconds]}])
        for name, seconds, middle in values
    ]
    x: dict[str, Any] = {"field": "value", "type": "quantitative", "scale": {"zero": True}, "axis": {"tickCount": 5}}
    if log:
        decades = [10.0**k for k in range(math.floor(_log(low, unit)), math.ceil(_log(high, unit)) + 1)]
        x["scale"] = {"type": "log", "domain": [decades[0], decades[-1]], "nice": False}
        x["axis"] = {"values": decades, "format": "~f"}
    layers = [{"mark": {"type": "point", "opacity": 0.55, "size": 36}, "encoding": {"x": x}}]
    described = "；".join(
        f"{name} {format_time(min(seconds))} 到 {format_time(max(seconds))}，{len(seconds)} 个点" for name, seconds, _ in values
    )
    table = [[name, str(len(s)), *map(format_time, (min(s), middle, max(s)))] for name, s, middle in values]
    heading = f"{title}（{unit.name}{'，对数轴' if log else ''}）"
    return _figure(groups, layers, heading, described, ["", "点数", "最小", "典型值", "最大"], table)


def _in(unit: TimeUnit, q: Quantity) -> float:
    return float(unit.show(q.value, 6))


def _log(seconds: float, unit: TimeUnit) -> float:
    """Its decimal logarithm in a unit, rounded, so that what is meant for 1 ms stays there."""
    return round(math.log10(seconds) - unit.exponent, 9)


def _seconds(series: SeriesView) -> list[float]:
    out: list[float] = []
    for point in series.points:
        out += point.series.samples if isinstance(point.series, Series) else [p.value for p in point.series.printed.values()]
    return out


def _middle(series: SeriesView) -> float:
    """What pages go by; the smallest figure where no other was printed."""
    try:
        return series.typical.value
    except PageError:
        return series.min.value


def _figure(
    groups: Iterable[tuple[str, list[dict[str, Any]]]],
    layers: list[Any],
    heading: str,
    described: str,
    header: Sequence[str],
    table: Sequence[Sequence[str]],
) -> Placed:
    """Groups of lanes below each other, each under its name, on one axis; with a table for who cannot see it or wants to copy."""
    names: list[dict[str, Any]] = []
    data: list[dict[str, Any]] = []
    height = 0
    for name, lanes in groups:
        names.append({"name": name, "y": height + NAME / 2})
        height += NAME
        for lane in lanes:
            data += [piece | {"y": height + LANE / 2} for piece in lane.get("pieces", [lane])]
            height += LANE
        height += GAP
    y = {
        "field": "y",
        "type": "quantitative",
        "axis": None,
        "scale": {"domain": [0, height], "range": [0, height], "nice": False},
    }
    named = {
        "data": {"values": names},
        "mark": {"type": "text", "align": "left"},
        "encoding": {"x": {"value": 0}, "y": y, "text": {"field": "name"}},
    }
    spec = {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "width": WIDTH,
        "height": height,
        "padding": {"left": 4, "right": 4, "top": 2, "bottom": 2},
        "background": None,
        "data": {"values": data},
        "layer": [layer | {"encoding": layer["encoding"] | {"y": y}} for layer in layers] + [named],
        "config": {
            "aria": False,  # the figure says it all, and better
            "font": FONT,
            "view": {"stroke": None},
            "mark": {"color": "currentColor"},
            "rule": {"color": "currentColor"},
            "point": {"color": "currentColor"},
            "text": {"color": "currentColor", "fontSize": 13},
            "legend": {"orient": "bottom", "labelColor": "currentColor", "labelFontSize": 13, "symbolStrokeWidth": 8},
            "axis": {
                "title": None,
                "grid": True,
                "labelColor": "currentColor",
                "domainColor": "currentColor",
                "tickColor": "currentColor",
                "gridColor": "currentColor",
                "gridOpacity": 0.12,
                "labelFontSize": 12,
            },
        },
    }
    svg = ROLES.sub("", _svg(json.dumps(spec, ensure_ascii=False, sort_keys=True)))
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in table)
    html = (
        f'<figure class="plot" data-search-exclude="1"><figcaption>{escape(heading)}</figcaption>'
        f'<div role="img" aria-label="{escape(heading)}：{escape(described)}">{svg}</div>'
        f'<details class="plot-table"><summary>数值</summary><div class="wide"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div></details></figure>"
    )
    return Placed(described, html, block=True)


def _svg(spec: str) -> str:
    def draw() -> bytes:
        import vl_convert  # 0.3 s and 33 MB: only where a plot changed

        return str(vl_convert.vegalite_to_svg(spec)).encode()

    return cache.kept("plots", f"{version('vl-convert-python')}\n{spec}".encode(), draw).decode()
