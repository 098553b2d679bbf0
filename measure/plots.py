"""Plots as SVG, drawn by Vega-Lite. A plot that did not change is taken from a cache outside the tree."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from html import escape
from importlib.metadata import version
from typing import Any

from measure import cache
from measure.late import Placed
from measure.quantity import PageError, Quantity, format_time, time_unit
from measure.record import Series
from measure.view import SeriesView

COLOURS = ["#2a7f9e", "#c98a2b", "#8b8f98", "#7a5ea8", "#4c9a5a"]
"""Colours of parts: far enough apart in lightness to be told apart in grey, and readable on both grounds."""

WIDE = re.compile("[\u2e80-\uffef]")
"""Where the renderer lacks a Chinese font it takes these characters for narrower than they are, and labels would be cut off."""

FONT = "system-ui, 'PingFang SC', 'Microsoft YaHei', 'Noto Sans CJK SC', sans-serif"


def bars(title: str, rows: Sequence[tuple[str, Quantity] | None]) -> Placed:
    """Horizontal bars of times from zero, one unit for all, each with its value; in the order given."""
    kept = [row for row in rows if row is not None]
    if not kept or any(q.unit != "s" for _, q in kept):
        raise PageError("bars() 要 [[名字, 时间], …]，至少一行")
    unit = time_unit(max(q.value for _, q in kept))
    data = [
        {"name": name, "value": float(unit.show(q.value, 6)), "label": f"{unit.show(q.value, q.significant)}"} for name, q in kept
    ]
    y = {"field": "name", "type": "nominal", "sort": None, "title": None}
    x = {"field": "value", "type": "quantitative", "title": f"{title}（{unit.name}）", "axis": {"grid": True, "tickCount": 5}}
    layers = [
        {"mark": {"type": "bar", "color": "currentColor", "opacity": 0.35, "height": 15}},
        {"mark": {"type": "text", "align": "left", "dx": 5, "color": "currentColor"}, "encoding": {"text": {"field": "label"}}},
    ]
    described = "；".join(f"{name} {q.text()}" for name, q in kept)
    return _figure(data, {"y": y, "x": x}, layers, f"{title}（{unit.name}）", described)


def stacked(title: str, rows: Sequence[tuple[str, Sequence[tuple[str, Quantity]]] | None]) -> Placed:
    """Horizontal bars of times, each made of named parts, one unit for all; the parts in the order given."""
    kept = [row for row in rows if row is not None]
    times = [q for _, parts in kept for _, q in parts]
    if not times or any(q.unit != "s" for q in times):
        raise PageError("stacked() 要 [[名字, [[部分, 时间], …]], …]，至少一行")
    unit = time_unit(max(q.value for q in times))
    names = list(dict.fromkeys(part for _, parts in kept for part, _ in parts))
    data = [
        {"name": name, "part": part, "order": names.index(part), "value": float(unit.show(q.value, 6))}
        for name, parts in kept
        for part, q in parts
    ]
    y = {"field": "name", "type": "nominal", "sort": None, "title": None}
    x = {
        "field": "value", "type": "quantitative", "aggregate": "sum", "stack": "zero", "title": f"{title}（{unit.name}）",
        "axis": {"grid": True, "tickCount": 5},
    }  # fmt: skip
    colour = {"field": "part", "type": "nominal", "sort": names, "title": None, "scale": {"domain": names, "range": COLOURS}}
    encoding = {"y": y, "x": x, "color": colour, "order": {"field": "order"}}
    layers = [{"mark": {"type": "bar", "height": 17, "opacity": 0.85}}]
    described = "；".join(f"{name}：{'、'.join(f'{part} {q.text()}' for part, q in parts)}" for name, parts in kept)
    return _figure(data, encoding, layers, f"{title}（{unit.name}）", described)


def strip(title: str, rows: Sequence[tuple[str, SeriesView] | None], *, log: bool = False) -> Placed:
    """Every sample of each series as a point on one axis; of published series the figures that were printed."""
    kept = [row for row in rows if row is not None]
    if not kept or any(series.unit != "s" for _, series in kept):
        raise PageError("strip() 要 [[名字, 一组时间], …]，至少一行")
    values = {name: _seconds(series) for name, series in kept}
    middle = math.sqrt(min(map(min, values.values()))) * math.sqrt(max(map(max, values.values())))
    unit = time_unit(middle)
    data = [{"name": name, "value": float(unit.show(s, 6))} for name, seconds in values.items() for s in seconds]
    y = {"field": "name", "type": "nominal", "sort": list(values), "title": None}
    scale = {"type": "log"} if log else {"zero": True}
    heading = f"{title}（{unit.name}{'，对数轴' if log else ''}）"
    x = {"field": "value", "type": "quantitative", "title": heading, "scale": scale, "axis": {"grid": True, "tickCount": 6}}
    layers = [{"mark": {"type": "point", "color": "currentColor", "opacity": 0.55, "size": 36}}]
    described = "；".join(
        f"{name} {format_time(min(seconds))} 到 {format_time(max(seconds))}，{len(seconds)} 个点"
        for name, seconds in values.items()
    )
    return _figure(data, {"y": y, "x": x}, layers, heading, described)


def _seconds(series: SeriesView) -> list[float]:
    out: list[float] = []
    for point in series.points:
        out += point.series.samples if isinstance(point.series, Series) else [p.value for p in point.series.printed.values()]
    return out


def _figure(data: list[Any], encoding: dict[str, Any], layers: list[Any], heading: str, described: str) -> Placed:
    spec = {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "width": 420,
        "height": {"step": 26},
        "padding": {"left": 5 + 4 * max(len(WIDE.findall(row["name"])) for row in data), "right": 5, "top": 5, "bottom": 5},
        "background": None,
        "data": {"values": data},
        "encoding": encoding,
        "layer": layers,
        "config": {
            "font": FONT,
            "view": {"stroke": None},
            "legend": {"orient": "bottom", "labelColor": "currentColor", "labelFontSize": 13},
            "axis": {
                "labelColor": "currentColor",
                "titleColor": "currentColor",
                "domainColor": "currentColor",
                "tickColor": "currentColor",
                "gridColor": "currentColor",
                "gridOpacity": 0.12,
                "labelFontSize": 13,
                "titleFontSize": 13,
                "titleFontWeight": "normal",
                "labelLimit": 220,
            },
            "text": {"fontSize": 13},
        },
    }
    svg = _svg(json.dumps(spec, ensure_ascii=False, sort_keys=True))
    html = f'<figure class="plot" data-search-exclude="1" role="img" aria-label="{escape(heading)}：{escape(described)}">{svg}</figure>'
    return Placed(described, html, block=True)


def _svg(spec: str) -> str:
    def draw() -> bytes:
        import vl_convert  # 0.3 s and 33 MB: only where a plot changed

        return str(vl_convert.vegalite_to_svg(spec)).encode()

    return cache.kept("plots", f"{version('vl-convert-python')}\n{spec}".encode(), draw).decode()
