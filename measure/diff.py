"""What moved between two sets of records, and what the book says differently because of it.

Series are judged as claims on pages are: by their runs, beyond noise. The pages are those of the working tree, read once with the old records
and once with the new, so that what differs is due to the records alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

from measure import claims, reading
from measure.claims import Verdict
from measure.history import Side
from measure.quantity import PageError, Quantity
from measure.reading import PageChange, Source
from measure.record import Fact, Measured, Published, Unit
from measure.view import RecordView, SeriesView, facts_of

Kind = Literal["up", "down", "noise", "unjudged", "appeared", "vanished"]
Record = Measured | Published


@dataclass(frozen=True)
class SeriesChange:
    """One series in two records."""

    name: str
    unit: Unit
    kind: Kind
    """`up` is slower for a time. `unjudged`: the two cannot be compared, and `evidence` says why."""
    old: str
    new: str
    ratio: float | None = None
    """New over old."""
    evidence: str = ""


@dataclass(frozen=True)
class Flip:
    """Two series of which the other one is the smaller now, beyond noise before and after."""

    one: str
    other: str
    old: str
    """The ratio of the first to the other."""
    new: str


@dataclass(frozen=True)
class FactChange:
    """A fact that is another one now, or a version, or the features of a build."""

    name: str
    where: tuple[str, ...]
    """The cases and settings it changed for alike; empty for what belongs to the whole record."""
    old: str
    """Empty where there was none."""
    new: str


@dataclass(frozen=True)
class RecordChange:
    """One experiment on one machine, or on two where that was asked for."""

    experiment: str
    machine: str
    kind: Literal["changed", "appeared", "vanished"]
    series: tuple[SeriesChange, ...] = ()
    """Those in noise, too, where their samples differ."""
    flips: tuple[Flip, ...] = ()
    facts: tuple[FactChange, ...] = ()


@dataclass(frozen=True)
class Diff:
    """All that differs, in a fixed order."""

    old: str
    new: str
    records: tuple[RecordChange, ...]
    pages: tuple[PageChange, ...]
    problems: tuple[str, ...]
    """Records that cannot be read, and what a build would refuse with the new records and would not with the old."""


def diff(old: Side, new: Side, pages: Sequence[Source]) -> Diff:
    """Compare two sides, record by record, and read the pages that use what changed."""
    if old.chosen and new.chosen:
        pairs = [(old.chosen, new.chosen)]
    else:
        pairs = [(key, key) for key in sorted(old.records.keys() | new.records.keys())]
    pairs = [(a, b) for a, b in pairs if old.records.get(a) != new.records.get(b)]
    records = [_compare(a, b, old.records.get(a), new.records.get(b)) for a, b in pairs]
    read: list[PageChange] = []
    for page in pages:
        for before, after in sorted({(a[0], b[0]) for a, b in pairs if b[1] in page.experiments}):
            change = reading.compare(page, (before, old.records), (after, new.records))
            if change is not None:
                read.append(change)
    problems = (*old.problems, *new.problems, *(problem for change in read for problem in change.problems))
    return Diff(old.name, new.name, tuple(records), tuple(read), tuple(dict.fromkeys(problems)))


def _compare(before: tuple[str, str], after: tuple[str, str], old: Record | None, new: Record | None) -> RecordChange:
    machine = reading.both(before[0], after[0])
    if old is None or new is None:
        return RecordChange(after[1], machine, "appeared" if old is None else "vanished")
    series, flips, facts = _series(old, new), _flips(old, new), _facts(old, new)
    return RecordChange(after[1], machine, "changed", tuple(series), tuple(flips), tuple(facts))


def _series(old: Record, new: Record) -> Iterator[SeriesChange]:
    # Under another name the old runs are other processes to a verdict, and on the same machine the two can be compared.
    apart = old.model_copy(update={"experiment": f"{old.experiment}-old", "machine": new.machine})
    before, after = _by_name(apart), _by_name(new)
    for name in dict.fromkeys((*before, *after)):
        a, b = before.get(name), after.get(name)
        unit = (after[name] if a is None else a).unit
        change = SeriesChange(name, unit, "unjudged", _shown(a), _shown(b))
        if a is None or b is None:
            yield replace(change, kind="appeared" if a is None else "vanished")
        elif [p.series for p in a.points] != [p.series for p in b.points]:
            yield _moved(change, a, b)


def _shown(series: SeriesView | None) -> str:
    q = series and _standing(series)
    return q.text() if q else ""


def _by_name(record: Record) -> dict[str, SeriesView]:
    return {series.id: series for series in RecordView(record).all_series()}


def _moved(change: SeriesChange, old: SeriesView, new: SeriesView) -> SeriesChange:
    a, b = _standing(old), _standing(new)
    if a is None or b is None:
        return replace(change, evidence="发表的统计量不同，不能比")
    ratio = b.value / a.value if a.value else None
    try:
        verdict = claims.compare(b, ">", a)
    except PageError as error:
        return replace(change, kind="noise" if a.value == b.value else "unjudged", ratio=ratio, evidence=str(error))
    kinds: dict[str, Kind] = {"holds": "up", "fails": "down", "noise": "noise"}
    return replace(change, kind=kinds[verdict.state], ratio=ratio, evidence=_interval(verdict))


def _standing(series: SeriesView) -> Quantity | None:
    """What a series is compared by: the median of its run medians, or the smallest figure where no other was printed."""
    try:
        return series.typical
    except PageError:
        return series.statistic("min")


def _flips(old: Record, new: Record) -> Iterator[Flip]:
    """Of series that measure the same thing: of one case under two settings, or of two cases under one."""
    before, after = _by_name(old), _by_name(new)
    for one, other in combinations([name for name in before if name in after], 2):
        if not _alike(before[one], before[other]):
            continue
        a, b = (_above(side[one], side[other]) for side in (before, after))
        if a is not None and b is not None and {a.state, b.state} == {"holds", "fails"}:
            yield Flip(one, other, _interval(a), _interval(b))


def _alike(one: SeriesView, other: SeriesView) -> bool:
    a, b = one.points[0], other.points[0]
    same_thing = (a.series.metric, a.series.phase, a.series.scope) == (b.series.metric, b.series.phase, b.series.scope)
    return same_thing and (a.case == b.case or a.params == b.params)


def _above(one: SeriesView, other: SeriesView) -> Verdict | None:
    a, b = _standing(one), _standing(other)
    try:
        return claims.compare(a, ">", b)
    except PageError:
        return None  # another data type or device, or nothing that a verdict may rest on


def _interval(verdict: Verdict) -> str:
    """The ratio and how sure it is, without the statement and the verdict around it."""
    return verdict.evidence.rpartition("：")[2].rpartition("，")[0]


def _facts(old: Record, new: Record) -> Iterator[FactChange]:
    before, after = _facts_by_name(old), _facts_by_name(new)
    alike: dict[tuple[str, str, str], list[str]] = {}
    for name, where in dict.fromkeys((*before, *after)):
        a, b = before.get((name, where), []), after.get((name, where), [])
        if _differ(a, b):
            alike.setdefault((name, _text(a), _text(b)), []).append(where)
    for (name, a_text, b_text), places in alike.items():
        yield FactChange(name, tuple(filter(None, places)), a_text, b_text)


def _facts_by_name(record: Record) -> dict[tuple[str, str], list[Fact]]:
    """By name and by what they hold for: facts, and as such also versions and the features of builds."""
    found: dict[tuple[str, str], list[Fact]] = {}
    for name, version in record.versions.items():
        found[f"versions.{name}", ""] = [Fact(name="version", value=version)]
    for build in record.builds:
        found[f"features.{build.package}", ""] = [Fact(name="features", value=line) for line in build.resolved]
    for case, _, params, fact in facts_of(record):
        if fact.name.startswith("version-"):
            continue  # what a run read back of `versions`
        where = " ".join([case or "", *(f"{k}={v}" for k, v in sorted(params.items()))]).strip()
        found.setdefault((fact.name, where), []).append(fact)
    return found


def _differ(old: Sequence[Fact], new: Sequence[Fact]) -> bool:
    """Numbers that vary from run to run differ if no run of one side reaches the other side; all else, if anything does."""
    a, b = ({(f.value, f.of, f.bits) for f in facts} for facts in (old, new))
    numbers = [[f.value for f in facts if isinstance(f.value, int | float)] for facts in (old, new)]
    varying = len(a) > 1 or len(b) > 1
    if varying and all(numbers) and [len(n) for n in numbers] == [len(old), len(new)]:
        return max(numbers[0]) < min(numbers[1]) or max(numbers[1]) < min(numbers[0])
    return a != b


def _text(facts: Sequence[Fact]) -> str:
    values = dict.fromkeys(
        f"{f.value}{f' / {f.of}' if f.of is not None else ''}{f'（{f.bits}）' if f.bits else ''}" for f in facts
    )
    return "、".join(values)


Table = tuple[str, list[str], list[list[str]]]
"""Title, columns, rows."""


def tables(found: Diff) -> Iterator[Table]:
    """The differences as people read them. A title without rows says all; series in noise are only counted."""
    alone = [[r.experiment, r.machine, WORDS[r.kind][0]] for r in found.records if r.kind != "changed"]
    alone += [[p.page, p.machine, WORDS[p.kind][0]] for p in found.pages if p.kind != "changed"]
    if alone:
        yield "只有一边有", ["实验或页面", "机器", ""], alone
    for record in found.records:
        if record.kind == "changed":
            yield from _of_record(record)
    for page in found.pages:
        yield from _of_page(page)


def _of_record(record: RecordChange) -> Iterator[Table]:
    where = f"{record.experiment}，{record.machine}："
    moved = [s for s in record.series if s.kind != "noise"]
    quiet = len(record.series) - len(moved)
    rows = [[s.name, s.old, s.new, WORDS[s.kind][s.unit != "s"], s.evidence] for s in moved]
    title = f"{where}{len(moved)} 组数据变得超出噪声，或者只有一边有；{quiet} 组的变化在噪声之内"
    yield title, ["数据", "旧", "新", "", "依据"], rows
    if record.flips:
        rows = [[f.one, f.other, f.old, f.new] for f in record.flips]
        yield f"{where}谁大谁小反过来了", ["一边", "另一边", "旧", "新"], rows
    if record.facts:
        rows = [[f.name, _some(f.where), f.old, f.new] for f in record.facts]
        yield f"{where}变了的事实", ["事实", "在哪里", "旧", "新"], rows


def _of_page(page: PageChange) -> Iterator[Table]:
    where = f"{page.page}，{page.machine}："
    if page.claims:
        rows = [[str(c.line), c.old, c.new, c.evidence] for c in page.claims]
        yield f"{where}换了结论的 claim", ["行", "旧", "新", "新的依据"], rows
    for words, what in ((True, "换了说法的句子"), (False, "只换了数字的句子")):
        rows = [[str(s.line), s.old, s.new] for s in page.sentences if s.words is words]
        if rows:
            yield f"{where}{what}", ["行", "旧", "新"], rows


WORDS = {
    "up": ("慢了", "大了"),
    "down": ("快了", "小了"),
    "unjudged": ("不能比", "不能比"),
    "appeared": ("只有新的有", "只有新的有"),
    "vanished": ("只有旧的有", "只有旧的有"),
}
"""What became of a series: said of a time, and of anything else."""


def _some(where: Sequence[str]) -> str:
    return "、".join(where[:3]) + (f" 等 {len(where)} 处" if len(where) > 3 else "")
