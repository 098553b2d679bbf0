"""Plots as SVG, drawn by Vega-Lite. A plot that did not change is taken from a cache outside the tree."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from html import escape
from importlib.metadata import version

from measure.late import Placed
from measure.machine import cache_dir
from measure.quantity import PageError, Quantity, time_unit

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
    heading = f"{title}（{unit.name}）"
    y = {"field": "name", "type": "nominal", "sort": None, "title": None}
    x = {"field": "value", "type": "quantitative", "title": heading, "axis": {"grid": True, "tickCount": 5}}
    spec = {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "width": 420,
        "height": {"step": 26},
        "background": None,
        "data": {"values": data},
        "encoding": {"y": y, "x": x},
        "layer": [
            {"mark": {"type": "bar", "color": "currentColor", "opacity": 0.35, "height": 15}},
            {
                "mark": {"type": "text", "align": "left", "dx": 5, "color": "currentColor"},
                "encoding": {"text": {"field": "label"}},
            },
        ],
        "config": {
            "font": FONT,
            "view": {"stroke": None},
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
    described = "；".join(f"{name} {q.text()}" for name, q in kept)
    svg = _svg(json.dumps(spec, ensure_ascii=False, sort_keys=True))
    html = f'<figure class="plot" role="img" aria-label="{escape(heading)}：{escape(described)}">{svg}</figure>'
    return Placed(described, html, block=True)


def _svg(spec: str) -> str:
    key = hashlib.sha256(f"{version('vl-convert-python')}\n{spec}".encode()).hexdigest()
    path = cache_dir() / "plots" / f"{key}.svg"
    if path.exists():
        return path.read_text(encoding="utf-8")
    import vl_convert  # 0.3 s and 33 MB: only where a plot changed

    svg = vl_convert.vegalite_to_svg(spec)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{key}.{os.getpid()}.tmp")
    temporary.write_text(svg, encoding="utf-8")
    temporary.replace(path)
    return svg
