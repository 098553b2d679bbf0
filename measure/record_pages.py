"""The page of a record: what was run, on what, and every sample. Generated for each record that a page uses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from statistics import median

from measure import distribution
from measure.late import Placed, token
from measure.quantity import format_bytes, format_value
from measure.record import Measured, Param, Published, PublishedSeries, Run, Series
from measure.stats import percentile
from measure.view import RecordView, SeriesView

Row = Sequence[str]
LISTED = 50
"""Samples of a run that are written out on the page; the first calls are among them."""
MANY = 40
"""More series than this are folded, so that a reader finds the one he came for."""


def page(
    record: Measured | Published, question: str, changed: Sequence[str], pages: Sequence[tuple[str, str]]
) -> tuple[str, list[Placed]]:
    """Markdown with tokens, and what they stand for. `pages` are (title, URL) of the pages that show this record."""
    values: list[Placed] = []

    def put(html: str) -> str:
        values.append(Placed("", html, block=True))
        return token(len(values) - 1)

    parts = [f"# {record.experiment}：{record.machine.label}", question, put(_head(record, changed, pages))]
    if isinstance(record, Measured):
        series = [view for view in RecordView(record).all_series() if view.n]
        parts += ["## 数据", put(_series(series))]
        parts += ["## 分布 { #distribution }", LEGEND, put(_distributions(series))]
        parts += ["## 命令 { #runs }", COMMANDS, put(_runs(record))]
    else:
        parts += ["## 数据", put(_figures(record))]
    parts += ["## 事实 { #facts }", put(_facts(record))]
    if record.builds:
        parts += ["## 构建 { #builds }", put(_builds(record))]
    parts += ["## 版本 { #versions }", put(_table(["名字", "版本"], sorted(record.versions.items())))]
    if record.absent:
        rows = [[a.case + _settings(a.params), a.reason] for a in record.absent]
        parts += ["## 没有的 { #absent }", put(_table(["实现", "原因"], rows))]
    parts += ["## 原始输出 { #output }", put(_outputs(record))]
    if isinstance(record, Measured):
        parts += [
            "## 输入 { #inputs }",
            "下面任何一样改了，这份记录就算过期。",
            put(_table(["输入", "SHA-256"], sorted(record.inputs.items()))),
        ]
    return "\n\n".join(parts) + "\n", values


def index(records: Iterable[tuple[Measured | Published, Sequence[str]]]) -> tuple[str, list[Placed]]:
    """The list of all records with their age and state."""
    rows = []
    for record, changed in records:
        link = f'<a href="{record.machine.label}/{record.experiment}/">{record.experiment}</a>'
        beside = f'<a href="compare/{record.experiment}/">并排</a>'
        if isinstance(record, Published):
            state, date = "已发表", "—"
            holds = f"{sum(len(s.printed) for s in record.series) + len(record.facts)} 个印出来的值"
        else:
            state = f'<strong class="stale-mark">过期</strong>：{escape("、".join(changed))} 改过' if changed else "最新"
            date = f'<time data-age datetime="{record.finished}">{record.finished[:10]}</time>'
            holds = f"{len(record.runs)} 个进程，{sum(len(s.samples) for r in record.runs for s in r.series)} 个样本"
        cells = "".join(f"<td>{cell}</td>" for cell in (link, record.machine.label, date, state, holds, beside))
        rows.append(f"<tr>{cells}</tr>")
    head = "".join(f"<th>{h}</th>" for h in ("实验", "机器", "测于", "状态", "里面有", "各台机器"))
    html = f'<div class="wide records"><table><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
    return f"# 全部记录\n\n书里每个测出来的数字，都来自下面的一份记录。\n\n{token(0)}\n", [Placed("", html, block=True)]


def _head(record: Measured | Published, changed: Sequence[str], pages: Sequence[tuple[str, str]]) -> str:
    m = record.machine
    cores = f"{m.cores} 核" + (f"（其中 {m.efficiency_cores} 个能效核）" if m.efficiency_cores else "")
    rows = [["机器", f"{m.cpu}，{cores}，{m.system}{'，虚拟机' if m.virtual else ''}"]]
    if m.memory_gib:
        rows.append(["内存", f"{m.memory_gib} GiB"])
    if isinstance(record, Measured):
        rows += [
            ["时间", f"{record.started} 到 {record.finished}"],
            ["轮数", f"{record.rounds} 轮，共 {len(record.runs)} 个进程；每轮各实现轮流跑，顺序交替"],
            ["条件", RecordView(record).load_note()],
            ["状态", f"过期：{'、'.join(changed)} 改过" if changed else "最新：输入都没有变"],
            ["在自己的机器上重做", f"measure run {record.experiment} --force"],
        ]
    else:
        rows += [["来源", record.source], ["条件", record.conditions], ["状态", "发表过的数字，没有样本，不是这个项目跑出来的"]]
    used = "、".join(f'<a href="{escape(url)}">{escape(title)}</a>' for title, url in pages)
    shown = f"<p>用到它的页面：{used}。</p>" if used else ""
    links = (
        f'<a href="../{record.experiment}.json" download>下载这份记录（JSON）</a>',
        f'<a href="../../compare/{record.experiment}/">和别的机器并排看</a>',
        '<a href="../../">全部记录</a>',
    )
    return f"{_table(['', ''], rows)}{shown}<p>{' · '.join(links)}</p>"


LEGEND = (
    "每一轮是一个进程，各占一行。一道竖线是一个样本，落在同一处的只画一次；圆点是最小值，粗线是中位数。"
    f"样本按先后列在图下，每轮最多 {LISTED} 个；全部样本在上面的 JSON 里。"
)
COMMANDS = "下面是运行器执行的命令和为它设的环境变量。每个程序也能这样单独运行，印出来的和记录里的原始输出是同样的行。"


def _series(series: Sequence[SeriesView]) -> str:
    rows = []
    for view in series:
        runs = [p.series.samples for p in view.points if isinstance(p.series, Series)]
        pooled = sorted(x for samples in runs for x in samples)
        values = [pooled[0], median(pooled), percentile(pooled, 90)]
        each = " / ".join(format_value(median(samples), view.unit, 4) for samples in runs) if len(runs) > 1 else ""
        numbers = [str(len(pooled)), *(format_value(x, view.unit, 4) for x in values)]
        link = f'<a href="#{escape(view.anchor)}">{escape(view.id)}</a>'
        cells = "".join(f'<td class="num">{number}</td>' for number in numbers)
        rows.append(f"<tr><td>{link}</td>{cells}<td>{each}</td></tr>")
    head = "".join(f"<th>{h}</th>" for h in ["数据", "n", "最小", "中位数", "第 90 百分位", "各轮中位数"])
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def _distributions(series: Sequence[SeriesView]) -> str:
    """A figure for each series, and its samples in the order they were taken. Folded where there are many."""
    unfolded = " open" if len(series) <= MANY else ""
    return "".join(
        f'<details class="series"{unfolded}><summary><code>{escape(view.id)}</code></summary>'
        f'<div id="{escape(view.anchor)}">{distribution.draw(view)}{_samples(view)}</div></details>'
        for view in series
    )


def _samples(view: SeriesView) -> str:
    runs = [(p.round, p.series) for p in view.points if isinstance(p.series, Series)]
    axis = distribution.axis_for([x for _, one in runs for x in one.samples], view.unit)
    lines = []
    for round_, one in runs:
        shown = " ".join(map(axis.sample, one.samples[:LISTED]))
        rest = f" …… 共 {len(one.samples)} 个" if len(one.samples) > LISTED else ""
        warm = f"，之前热身 {one.warm_up} 次" if one.warm_up else ""
        cores = f"，用了 {one.cores:.2f} 个核" if one.cores is not None else ""
        lines.append(f"第 {round_} 轮{warm}{cores}：{shown}{rest}")
    unit = f"（{axis.name}）" if axis.name else ""
    return f"<details><summary>样本{unit}</summary><pre><code>{escape(chr(10).join(lines))}</code></pre></details>"


def _figures(record: Published) -> str:
    """Every printed figure in the digits it was printed in. Without samples there is nothing to pool."""
    rows = []
    for view in RecordView(record).all_series():
        for k, p in enumerate(view.points):
            assert isinstance(p.series, PublishedSeries)
            texts = {name: f"{figure.text} {figure.unit}" for name, figure in p.series.printed.items()}
            shown = [texts.get(name, "—") for name in ("min", "median", "p90", "value")]
            cells = [view.id, str(p.round or "—"), str(p.series.n or "—"), *shown, p.series.source]
            anchor = f' id="{escape(view.anchor)}"' if k == 0 else ""
            rows.append(f"<tr{anchor}>" + "".join(f"<td>{escape(c)}</td>" for c in cells) + "</tr>")
    names = ["数据", "轮", "n", "最小", "中位数", "第 90 百分位", "没有写明是哪种", "出处"]
    head = "".join(f"<th>{h}</th>" for h in names)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def _runs(record: Measured) -> str:
    """What was run, each command once, with the state of the machine around each of its processes."""
    commands: dict[tuple[str, str], list[Run]] = {}
    for r in sorted(record.runs, key=lambda r: r.before.at):
        env = " ".join(f"{k}={v}" for k, v in sorted(r.env.items()) if k not in COMMON)
        commands.setdefault((r.case + _settings(r.params), " ".join(filter(None, [env, *r.command]))), []).append(r)
    rows = []
    for (case, command), runs in commands.items():
        load = "、".join(" → ".join("—" if c.load is None else f"{c.load:.2f}" for c in (r.before, r.after)) for r in runs)
        busy = "、".join(f"{r.before.busy:.0%} → {r.after.busy:.0%}" for r in runs)
        cores = "、".join(f"{r.cpu / r.wall:.2f}" for r in runs)
        rows.append([case, command, "、".join(str(r.round) for r in runs), load, busy, cores])
    return _table(["实现", "命令", "轮", "1 分钟负载，前 → 后", "全机占用，前 → 后", "CPU / 墙钟"], rows)


COMMON = frozenset({"LANG", "LC_ALL", "PYTHONUTF8", "PYTHONHASHSEED"})
"""Set alike for every run; only what differs tells the reader something."""


def _facts(record: Measured | Published) -> str:
    rows: list[Row] = []
    if isinstance(record, Measured):
        merged: dict[tuple[str, str, str], list[int]] = {}
        for r in record.runs:
            for f in r.facts:
                merged.setdefault((r.case + _settings({**r.params, **f.params}), f.name, _fact(f.value, f.of)), []).append(
                    r.round
                )
        rows = [[case, name, value, "、".join(map(str, rounds))] for (case, name, value), rounds in merged.items()]
    else:
        rows = [[(f.case or "") + _settings(f.params), f.name, _fact(f.value, f.of), f.source] for f in record.facts]
    return _table(["实现", "名字", "值", "轮" if isinstance(record, Measured) else "出处"], rows)


def _fact(value: object, of: int | None) -> str:
    return f"{value} / {of}" if of is not None else str(value)


def _builds(record: Measured | Published) -> str:
    rows = []
    for b in record.builds:
        size = format_bytes(b.binary_bytes) if b.binary_bytes else "—"
        rows.append([b.package, b.declared, "；".join(b.resolved), size, b.compiler or "—", b.target or "—"])
    return _table(["包", "Cargo.toml", "cargo tree", "大小", "编译器", "目标"], rows)


def _outputs(record: Measured | Published) -> str:
    if isinstance(record, Measured):
        items = [(_output_title(r.case, r.params, r.round), r.stdout) for r in record.runs]
    else:
        items = [
            (_output_title(o.case, o.params, o.round) + (f"，负载 {o.load}" if o.load else ""), o.text) for o in record.outputs
        ]
    return "".join(
        f"<details><summary>{escape(t)}</summary><pre><code>{escape(text)}</code></pre></details>" for t, text in items
    )


def _output_title(case: str, params: dict[str, Param], round_: int | None) -> str:
    return f"{case}{_settings(params)}" + (f"，第 {round_} 轮" if round_ is not None else "")


def _settings(params: dict[str, Param]) -> str:
    return "".join(f" {k}={v}" for k, v in params.items())


def _table(header: Row, rows: Iterable[Row]) -> str:
    head = "".join(f"<th>{escape(h)}</th>" for h in header)
    body = "".join("<tr>" + "".join(f"<td>{escape(c)}</td>" for c in row) + "</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
