"""One experiment on all machines side by side. Nothing is computed across them: a row is for looking, not for dividing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from measure.late import Placed, token
from measure.quantity import PageError
from measure.record import Measured, Published, PublishedSeries, Statistic
from measure.view import RecordView, SeriesView

Record = Measured | Published


def page(question: str, records: Sequence[Record], changed: Mapping[str, Sequence[str]]) -> tuple[str, list[Placed]]:
    """Markdown with tokens, and what they stand for. `changed` are the stale inputs by machine."""
    experiment = records[0].experiment
    html = f'<div class="wide beside"><table>{_head(records, changed)}{_body(records)}</table></div>'
    text = f"# {experiment}：各台机器并排\n\n{question}\n\n{NOTE}\n\n{token(0)}\n"
    return text, [Placed("", html, block=True)]


NOTE = (
    "每一列是一台机器的一份记录，数字点开是它的分布。不同机器的数字不相除，也不排名次：CPU、系统和负载都不一样。"
    "测出来的写典型值（各轮中位数的中位数）和全部样本里的最小值；标着「已发表」的一列照原样抄录印出来的数字，每一轮用斜线隔开。"
)


def _head(records: Sequence[Record], changed: Mapping[str, Sequence[str]]) -> str:
    cells = "".join(f"<th>{_machine(record, changed.get(record.machine.label, ()))}</th>" for record in records)
    return f"<thead><tr><th>数据</th>{cells}</tr></thead>"


def _machine(record: Record, changed: Sequence[str]) -> str:
    m = record.machine
    link = f'<a href="../../{m.label}/{record.experiment}/">{m.label}</a>'
    when = "<em>已发表</em>" if isinstance(record, Published) else record.started[:10]
    stale = '<strong class="stale-mark">过期</strong>' if changed else ""
    about = "，".join([m.cpu, f"{m.cores} 核", m.system])
    return f"{link} {when} {stale}<small>{escape(about)}<br>{escape(RecordView(record).load_note())}</small>"


def _body(records: Sequence[Record]) -> str:
    """A row for each series that any machine has, under a heading for each metric, phase and scope."""
    columns = [{view.id: view for view in RecordView(record).all_series()} for record in records]
    groups: dict[tuple[str, str, str], dict[str, SeriesView]] = {}
    for views in columns:
        for name, view in views.items():
            one = view.points[0].series
            groups.setdefault((one.metric, one.phase, one.scope), {}).setdefault(name, view)
    rows = []
    for key, views in groups.items():
        rows.append(f'<tr><th colspan="{len(records) + 1}" scope="rowgroup">{escape(" · ".join(key))}</th></tr>')
        for name, view in views.items():
            point = view.points[0]
            settings = "".join(f" {k}={v}" for k, v in sorted(point.params.items()))
            cells = "".join(
                f"<td>{_values(record, views_[name]) if name in views_ else _missing(record, view)}</td>"
                for record, views_ in zip(records, columns, strict=True)
            )
            rows.append(f'<tr><th scope="row">{escape(point.case + settings)}</th>{cells}</tr>')
    return f"<tbody>{''.join(rows)}</tbody>"


def _values(record: Record, view: SeriesView) -> str:
    href = escape(f"../../{record.machine.label}/{record.experiment}/#{view.anchor}")
    if isinstance(record, Published):
        shown = [f"{label} {text}" for name, label in PRINTED.items() if (text := _printed(view, name))]
    else:
        try:
            shown = [f"典型值 {view.typical.text()}", f"最小 {view.min.text()}"]
        except PageError as error:  # the runs do not agree on what they measured
            shown = [str(error)]
    count = f"<small>n = {view.n}</small>" if view.n else ""
    return f'<a href="{href}">{escape(shown[0])}</a>{"".join(f"<small>{escape(more)}</small>" for more in shown[1:])}{count}'


PRINTED: dict[Statistic, str] = {"median": "中位数", "value": "没有写明是哪种", "min": "最小", "p90": "第 90 百分位"}


def _printed(view: SeriesView, name: Statistic) -> str:
    series = [p.series for p in view.points if isinstance(p.series, PublishedSeries)]
    figures = [s.printed[name] for s in series if name in s.printed]
    return " / ".join(f"{f.text} {f.unit}" if f.unit != "1" else f.text for f in figures)


def _missing(record: Record, view: SeriesView) -> str:
    case, params = view.points[0].case, view.points[0].params
    for absent in record.absent:
        if absent.case == case and absent.params.items() <= params.items():
            return f"<small>没有：{escape(absent.reason)}</small>"
    return f"<small>{'没有发表' if isinstance(record, Published) else '没有测'}</small>"
