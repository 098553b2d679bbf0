"""The page of a record: what was run, on what, and every sample. Generated for each record that a page uses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from statistics import median

from measure.late import Placed, token
from measure.quantity import format_bytes, format_time
from measure.record import Measured, Param, Published, PublishedSeries, Series, Statistic
from measure.view import RecordView, SeriesView

Row = Sequence[str]


def page(
    record: Measured | Published, question: str, changed: Sequence[str], pages: Sequence[tuple[str, str]]
) -> tuple[str, list[Placed]]:
    """Markdown with tokens, and what they stand for. `pages` are (title, URL) of the pages that show this record."""
    values: list[Placed] = []

    def put(html: str) -> str:
        values.append(Placed("", html, block=True))
        return token(len(values) - 1)

    parts = [f"# {record.experiment}：{record.machine.label}", question, put(_head(record, changed, pages))]
    parts += ["## 数据", put(_series(record) if isinstance(record, Measured) else _figures(record))]
    if isinstance(record, Measured):
        parts += ["## 每次运行 { #runs }", put(_runs(record))]
        parts += ["## 全部样本 { #samples }", put(_samples(record))]
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
        state = "已发表" if isinstance(record, Published) else f"过期：{escape('、'.join(changed))} 改过" if changed else "最新"
        date = "—" if isinstance(record, Published) else record.started[:10]
        rows.append(f"<tr><td>{link}</td><td>{record.machine.label}</td><td>{date}</td><td>{state}</td></tr>")
    html = (
        "<table><thead><tr><th>实验</th><th>机器</th><th>日期</th><th>状态</th></tr></thead><tbody>"
        + "".join(rows)
        + "</tbody></table>"
    )
    return f"# 全部记录\n\n书里每个测出来的数字，都来自下面的一份记录。\n\n{token(0)}\n", [Placed("", html, block=True)]


def _head(record: Measured | Published, changed: Sequence[str], pages: Sequence[tuple[str, str]]) -> str:
    m = record.machine
    cores = f"{m.cores} 核" + (f"（其中 {m.efficiency_cores} 个能效核）" if m.efficiency_cores else "")
    rows = [["机器", f"{m.cpu}，{cores}，{m.system}{'，虚拟机' if m.virtual else ''}"]]
    if m.memory_gib:
        rows.append(["内存", f"{m.memory_gib} GiB"])
    if isinstance(record, Measured):
        reproduce = f"measure run {record.experiment} --force"
        rows += [
            ["时间", f"{record.started} 到 {record.finished}"],
            ["轮数", f"{record.rounds} 轮，共 {len(record.runs)} 个进程；每轮各实现轮流跑，顺序交替"],
            ["条件", RecordView(record).load_note()],
            ["状态", f"过期：{'、'.join(changed)} 改过" if changed else "最新：输入都没有变"],
            ["重做", reproduce],
        ]
    else:
        rows += [["来源", record.source], ["条件", record.conditions], ["状态", "发表过的数字，没有样本，不是这个项目跑出来的"]]
    used = "、".join(f'<a href="{escape(url)}">{escape(title)}</a>' for title, url in pages)
    shown = f"<p>用到它的页面：{used}。</p>" if used else ""
    return f'{_table(["", ""], rows)}{shown}<p><a href="../{record.experiment}.json" download>下载这份记录（JSON）</a></p>'


def _series(record: Measured) -> str:
    rows = []
    for view in RecordView(record).all_series():
        rounds = [view.round(k) for k in view.round_numbers]
        each = " / ".join(_statistic(r, "median") for r in rounds) if len(rounds) > 1 else ""
        cells = [view.id, str(view.n or "—"), _statistic(view, "min"), _statistic(view, "median"), _statistic(view, "p90"), each]
        rows.append(f'<tr id="{escape(view.anchor)}">' + "".join(f"<td>{escape(c)}</td>" for c in cells) + "</tr>")
    head = "".join(f"<th>{h}</th>" for h in ["数据", "n", "最小", "中位数", "第 90 百分位", "各轮中位数"])
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


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


def _statistic(view: SeriesView, name: Statistic) -> str:
    value = view.statistic(name)
    return "—" if value is None else value.digits(4).text()


def _runs(record: Measured) -> str:
    rows = []
    for r in sorted(record.runs, key=lambda r: r.before.at):
        env = " ".join(f"{k}={v}" for k, v in sorted(r.env.items()) if k not in COMMON)
        load = " → ".join("—" if c.load is None else f"{c.load:.2f}" for c in (r.before, r.after))
        busy = f"{r.before.busy:.0%} → {r.after.busy:.0%}"
        rows.append(
            [
                str(r.round),
                r.case + _settings(r.params),
                " ".join(filter(None, [env, *r.command])),
                load,
                busy,
                f"{r.cpu / r.wall:.2f}",
            ]
        )
    return _table(["轮", "实现", "命令", "1 分钟负载", "全机占用", "CPU / 墙钟"], rows)


COMMON = frozenset({"LANG", "LC_ALL", "PYTHONUTF8", "PYTHONHASHSEED"})
"""Set alike for every run; only what differs tells the reader something."""


def _samples(record: Measured) -> str:
    out = []
    for r in record.runs:
        for s in r.series:
            shown = " ".join(_sample(s, x) for x in s.samples)
            title = f"{r.case}{_settings({**r.params, **s.params})} {s.metric}，第 {r.round} 轮，{len(s.samples)} 次，中位数 {_sample(s, median(s.samples))}"
            out.append(f"<details><summary>{escape(title)}</summary><pre><code>{escape(shown)}</code></pre></details>")
    return "".join(out)


def _sample(s: Series, x: float) -> str:
    return format_time(x, 5) if s.unit == "s" else format_bytes(x) if s.unit == "byte" else f"{x:.6g}"


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
