"""The HTML of values and blocks: numbers, tables, program output, conditions, excerpts, bars. Pure functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from measure.late import Placed
from measure.quantity import PageError, Quantity, time_unit
from measure.record import Output, Published, Run
from measure.view import FactView, RecordView

ELIDED = "…"


@dataclass(frozen=True)
class Links:
    """How a page reaches the pages of records, and which of them are stale."""

    record: Callable[[str, str], str]
    """(machine, experiment) to a relative URL."""
    stale: Callable[[str, str], tuple[str, ...]]
    """(machine, experiment) to the inputs that changed since; empty when current."""


def number(q: Quantity, links: Links, text: str | None = None) -> Placed:
    """A measured value: quiet mark, where it comes from, link to its record."""
    shown = q.text() if text is None else text
    if q.basis is None:
        raise PageError(f"{q.formula} 不是测出来的。正文里的常数直接写进代码或参数里")
    machine, experiment = q.basis.machine, q.basis.experiment.split("+")[0]
    changed = links.stale(machine, experiment)
    told = "；".join(filter(None, [q.note, q.taken, _late(changed)]))
    html = (
        f'<data class="measured{" stale" if changed else ""}" value="{q.value!r}" data-unit="{q.unit}" data-machine="{machine}" '
        f'data-experiment="{q.basis.experiment}" data-formula="{escape(q.formula)}">'
        f'<a href="{escape(links.record(machine, experiment))}#{escape(q.anchor)}" title="{escape(told)}">{escape(shown)}</a></data>'
    )
    return Placed(shown, html)


def _late(changed: Sequence[str]) -> str:
    return f"已过期：{'、'.join(changed)} 改过" if changed else ""


def fact(f: FactView, links: Links) -> Placed:
    """A fact, in full."""
    record = f.owner
    href = f"{links.record(record.machine, record.experiment)}#{f.anchor}"
    changed = links.stale(record.machine, record.experiment)
    told = "；".join(filter(None, [f.formula, record.taken, _late(changed)]))
    html = (
        f'<data class="fact{" stale" if changed else ""}" value="{escape(str(f.fact.value))}" data-machine="{record.machine}" data-experiment="{record.experiment}" '
        f'data-formula="{escape(f.formula)}"><a href="{escape(href)}" title="{escape(told)}">{escape(f.text())}</a></data>'
    )
    return Placed(f.text(), html)


def table(header: Sequence[str], rows: Sequence[Sequence[object] | None], place: Callable[[object], Placed]) -> Placed:
    """A table whose columns of times have one unit each, named in the header. Rows that are None are left out.

    The unit suits the geometric middle of a column, so that neither end grows long.
    """
    kept = [list(row) for row in rows if row is not None]
    for row in kept:
        if len(row) != len(header):
            raise PageError(f"表格有 {len(header)} 列，这一行有 {len(row)} 格：{row[0] if row else ''}")
    heads = list(header)
    columns: list[list[tuple[str, bool]]] = []
    for index, head in enumerate(header):
        cells = [row[index] for row in kept]
        times = [c for c in cells if isinstance(c, Quantity) and c.unit == "s"]
        for q in times:
            q.text()  # refuses what cannot be printed
        unit = time_unit(math.sqrt(min(q.value for q in times)) * math.sqrt(max(q.value for q in times))) if times else None
        if unit is not None:
            heads[index] = f"{head}（{unit.name}）"
        columns.append([_cell(c, place if unit is None else _in_unit(place, unit.show)) for c in cells])
    body = "".join(
        "<tr>" + "".join(f'<td class="num">{h}</td>' if num else f"<td>{h}</td>" for h, num in line) + "</tr>"
        for line in zip(*columns, strict=True)
    )
    head_html = "".join(f"<th>{escape(h)}</th>" for h in heads)
    html = f'<div class="measured-table"><table><thead><tr>{head_html}</tr></thead><tbody>{body}</tbody></table></div>'
    return Placed("", html, block=True)


def _cell(value: object, place: Callable[[object], Placed]) -> tuple[str, bool]:
    if isinstance(value, str):
        return escape(value), False
    placed = place(value)
    if placed.block:
        raise PageError("表格格子里不能放块（表格、输出、图……）")
    return placed.html, True


def _in_unit(place: Callable[[object], Placed], show: Callable[[float, int], str]) -> Callable[[object], Placed]:
    def placed(value: object) -> Placed:
        inner = place(value)
        if not isinstance(value, Quantity):
            return inner
        text = show(value.value, value.significant)
        return Placed(text, inner.html.replace(f">{escape(inner.text)}</a>", f">{escape(text)}</a>"))

    return placed


def output(
    view: RecordView, cases: Sequence[str], rounds: Sequence[int], lines: str | None, params: dict[str, int | str]
) -> Placed:
    """What programs printed, line for line. With `lines`, only lines holding that text; what is left out shows as an ellipsis."""
    record = view.data
    chosen: Sequence[Run | Output] = [
        one
        for one in (record.outputs if isinstance(record, Published) else record.runs)
        if one.case in cases and params.items() <= one.params.items() and (not rounds or one.round in (*rounds, None))
    ]
    if lines is not None:
        chosen = [one for one in chosen if lines in _printed(one)]
    for case in cases:
        view.has(case)
    if not chosen:
        raise PageError(
            f"{view.machine} 上没有 {'、'.join(cases)} 的输出（轮次 {list(rounds) or '全部'}，参数 {params or '不限'}{'' if lines is None else f'，含「{lines}」的行'}）"
        )
    text: list[str] = []
    for number_, group in _by_round([(one.round, _printed(one)) for one in chosen]):
        if number_ is not None and (len(rounds) != 1):
            text.append(f"## round {number_}")
        for one in group:
            text.extend(_only(one.rstrip("\n").split("\n"), lines))
    shown = "\n".join(_squeeze(text))
    when = record.source if isinstance(record, Published) else record.started[:10]
    return _figure(shown, f"{view.machine}，{when}；{view.load_note(chosen)}")


def _printed(one: Run | Output) -> str:
    return one.text if isinstance(one, Output) else one.stdout


def _by_round(chosen: list[tuple[int | None, str]]) -> list[tuple[int | None, list[str]]]:
    groups: dict[int | None, list[str]] = {}
    for round_, text in chosen:
        groups.setdefault(round_, []).append(text)
    return sorted(groups.items(), key=lambda g: (g[0] is None, g[0] or 0))


def _only(lines: list[str], wanted: str | None) -> list[str]:
    return lines if wanted is None else [line if wanted in line else ELIDED for line in lines]


def _squeeze(lines: list[str]) -> list[str]:
    return [line for i, line in enumerate(lines) if line != ELIDED or i == 0 or lines[i - 1] != ELIDED]


def versions(views: Sequence[RecordView], names: Sequence[str]) -> Placed:
    """One line of versions and the machine they were measured on."""
    parts = [f"{name} {v.version(name).text()}" for v in views for name in names if name in v.data.versions]
    m = views[0].data.machine
    kinds = f"{m.cores} 核" + (
        f"（{m.cores - m.efficiency_cores} 个性能核、{m.efficiency_cores} 个能效核）" if m.efficiency_cores else ""
    )
    where = f"{m.cpu}，{kinds}，{m.memory_gib} GiB，{m.system}" if m.memory_gib else f"{m.cpu}，{kinds}，{m.system}"
    text = f"版本：{'、'.join(dict.fromkeys(parts))}。机器：{where}{'，虚拟机' if m.virtual else ''}。"
    return Placed(text, f'<p class="versions">{escape(text)}</p>', block=True)


def conditions(view: RecordView) -> Placed:
    """When and under which load the record was taken."""
    record = view.data
    if isinstance(record, Published):
        text = f"这是发表过的数字（{record.source}），不是这个项目跑出来的。{record.conditions}。"
    else:
        text = f"{record.started[:10]} 测得，{record.rounds} 轮，每轮各实现轮流跑、顺序交替，共 {len(record.runs)} 个进程。{view.load_note()}"
        if record.runs:  # there are none where this machine has none of the hardware
            busy = [c.busy for r in record.runs for c in (r.before, r.after)]
            text += f"；每次运行前后，全机 CPU 占用 {min(busy):.0%} 到 {max(busy):.0%}"
        text += "。"
    return Placed(text, f'<p class="conditions">{escape(text)}</p>', block=True)


def features(view: RecordView) -> Placed:
    """What `cargo tree` resolved, a line for each build."""
    lines = [f"{b.package}: {line}" for b in view.data.builds for line in b.resolved]
    return _builds(view, lines, "cargo tree 解析的结果")


def declared(view: RecordView) -> Placed:
    """The dependency as each Cargo.toml declares it."""
    return _builds(view, [f"{b.package}: {b.declared}" for b in view.data.builds], "各个 Cargo.toml 里声明的依赖")


def _builds(view: RecordView, lines: Sequence[str], caption: str) -> Placed:
    if not lines:
        raise PageError(f"{view.machine} 的 {view.experiment} 没有构建记录")
    return _figure("\n".join(lines), f"{caption}，{view.machine}")


def _figure(text: str, caption: str) -> Placed:
    html = f'<figure class="output"><pre><code>{escape(text)}</code></pre><figcaption>{escape(caption)}</figcaption></figure>'
    return Placed(text, html, block=True)


def excerpt(view: RecordView, name: str) -> Placed:
    """Lines of a dependency's source, with crate, version, path and licence."""
    e = view.excerpt(name)
    where = f"{e.path} 第 {e.first_line} 行起" if "." in e.path else f"{e.path}/ 里每个文件出现的行数"
    caption = f"{e.source} {e.version}，{where}；{e.licence}；全文件 SHA-256 {e.sha256[:12]}…"
    return _figure(e.text, caption)


def not_tested(reason: str) -> Placed:
    """Says that something was not run here, and why."""
    text = f"没有测：{reason}"
    return Placed(text, f'<p class="not-tested">{escape(text)}</p>', block=True)


def absent(view: RecordView) -> Placed:
    """The cases this machine has nothing of, and why; nothing where all ran."""
    lines = [f"{case}：{reason}" for case, reason in dict.fromkeys((a.case, a.reason) for a in view.absent())]
    html = '<p class="not-tested">这台机器上没有：' + "；".join(escape(line) for line in lines) + "。</p>" if lines else ""
    return Placed("；".join(lines), html, block=True)
