"""What a page sees of a record: series and facts chosen by name. Selection never guesses.

Every look-up that does not match exactly one thing is a `PageError` that lists what exists.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from statistics import fmean, median

from measure.quantity import MOST_DIGITS, NO_SPREAD, Basis, PageError, Quantity, check_comparable, format_scientific, format_value
from measure.record import (
    Absent,
    Build,
    Excerpt,
    Fact,
    Measured,
    Output,
    Param,
    Printed,
    Published,
    PublishedSeries,
    Run,
    Series,
    Statistic,
    Unit,
)
from measure.stats import Form, Runs, level, median_error, percentile

PUBLISHED_MARGIN = 1.05
"""Printed figures have no samples: an effect has to exceed 5 % before a sentence may rest on it."""
NOT_POSITIVE = "有一次运行的值不是正数，比值没有意义"


@dataclass(frozen=True)
class Point:
    """One series in one run (or one printed round), with the settings of both."""

    case: str
    params: dict[str, Param]
    round: int | None
    series: Series | PublishedSeries
    process: int | None = None
    """Which run of the record it is: series of one run come from one process. None for printed figures."""


@dataclass(frozen=True)
class FactView:
    """A fact as a page prints it: in full."""

    fact: Fact
    formula: str
    anchor: str
    owner: RecordView
    significant: int | None = None
    """How many digits of a number to print; None for all."""

    @property
    def of(self) -> int:
        """The n of a count k of n."""
        if self.fact.of is None:
            raise PageError(f"{self.formula} 不是「n 次里的 k 次」，没有 .of")
        return self.fact.of

    def digits(self, n: int) -> FactView:
        """The same number, printed with n significant digits."""
        if isinstance(self.fact.value, (str, bool)):
            raise PageError(f"{self.formula} 不是数，不能写 .digits")
        if n not in range(1, MOST_DIGITS + 1):
            raise PageError(f"{self.formula} 能写 1 到 {MOST_DIGITS} 位有效数字，不能写 {n!r} 位")
        return replace(self, significant=n)

    def text(self) -> str:
        """The value, with its n where it is a count."""
        if self.fact.of is not None:
            return f"{self.fact.value} / {self.fact.of}"
        if self.significant is not None and not isinstance(self.fact.value, (str, bool)):
            return format_scientific(self.fact.value, self.significant)
        return str(self.fact.value)


@dataclass(frozen=True)
class Family:
    """Series that differ in one parameter only, by its values."""

    param: str
    members: dict[Param, SeriesView]


class SeriesView:
    """All rounds of one series (case, metric, phase, scope, parameters) on one machine."""

    def __init__(self, record: RecordView, points: tuple[Point, ...]) -> None:
        self._record = record
        self._points = points

    @cached_property
    def id(self) -> str:
        """`burn-simd/matmul/steady/ready/threads=1`, as in `data-formula` and in the anchors of a record's page."""
        p = self._points[0]
        settings = [f"{k}={v}" for k, v in sorted(p.params.items())]
        return "/".join([p.case, p.series.metric, p.series.phase, p.series.scope, *settings])

    @property
    def case(self) -> str:
        """The name of the case."""
        return self._points[0].case

    @property
    def n(self) -> int:
        """Samples over all rounds; for printed figures, as far as they say."""
        return sum(len(p.series.samples) if isinstance(p.series, Series) else p.series.n or 0 for p in self._points)

    @cached_property
    def min(self) -> Quantity:
        """The smallest sample."""
        return self._statistic("min")

    @cached_property
    def median(self) -> Quantity:
        """The median of all samples pooled. Printed rounds cannot be pooled: take `.round(k).median` or `.typical`."""
        return self._statistic("median")

    @cached_property
    def p90(self) -> Quantity:
        """The 90th percentile of all samples pooled."""
        return self._statistic("p90")

    @cached_property
    def typical(self) -> Quantity:
        """The median of the run medians: exists for printed rounds too, and is what verdicts go by."""
        medians = self._run_medians
        return self._quantity(median(medians), "typical", 3, self._form(medians))

    @cached_property
    def first(self) -> Quantity:
        """The first sample of each run, their median: what happens once in a process."""
        return self._of_runs("first", lambda samples: samples[0], "value")

    def by_run(self, name: Statistic) -> Quantity:
        """A statistic of each run, and their median: what a verdict on that statistic goes by."""
        return self._of_runs(name, lambda samples: _of(samples, name), name)

    def _of_runs(self, name: str, of: Callable[[Sequence[float]], float], printed: Statistic) -> Quantity:
        values = []
        for p in self._points:
            if isinstance(p.series, Series):
                values.append(of(p.series.samples))
            elif printed in p.series.printed:
                values.append(p.series.printed[printed].value)
            else:
                raise PageError(f"{self.id} 没有发表 {name}")
        least_of = self._samples_a_run() if name == "min" else frozenset[int]()
        return replace(self._quantity(median(values), name, 3), form=self._form(tuple(values), f"/{name}"), least_of=least_of)

    def _samples_a_run(self) -> frozenset[int]:
        """How many samples the runs took; empty where nobody says."""
        counts = (len(p.series.samples) if isinstance(p.series, Series) else p.series.n for p in self._points)
        return frozenset(n for n in counts if n is not None)

    @property
    def points(self) -> tuple[Point, ...]:
        """What was measured in each run, for plots."""
        return self._points

    @cached_property
    def cores(self) -> Quantity:
        """Cores really used while the samples were taken: CPU time over wall time, median of the runs."""
        used = tuple(p.series.cores for p in self._points if p.series.cores is not None)
        if not used:
            raise PageError(f"{self.id} 没有记录用了几个核")
        return Quantity(
            median(used),
            "1",
            f"cores({self._where()})",
            basis=self._basis(),
            form=self._form(used, "/cores"),
            significant=2,
            note=self._note("cores"),
            taken=self._record.taken,
            anchor=self.anchor,
        )

    @property
    def anchor(self) -> str:
        """Where the series stands on the record's page."""
        return self.id.replace("/", "-").replace("=", "-")

    @property
    def round_numbers(self) -> tuple[int, ...]:
        """The rounds there are, in order."""
        return tuple(sorted({p.round for p in self._points if p.round is not None}))

    def statistic(self, name: Statistic) -> Quantity | None:
        """A statistic for a table of everything: None where it does not exist."""
        try:
            return self._statistic(name)
        except PageError:
            return None

    def round(self, k: int) -> SeriesView:
        """This series in one round."""
        chosen = tuple(p for p in self._points if p.round == k)
        if not chosen:
            raise PageError(f"{self.id} 没有第 {k} 轮；有 {_list(str(p.round) for p in self._points)}")
        return SeriesView(self._record, chosen)

    @cached_property
    def _run_medians(self) -> tuple[float, ...]:
        out = []
        for p in self._points:
            if isinstance(p.series, Series):
                out.append(median(p.series.samples))
            else:
                printed = p.series.printed.get("median") or p.series.printed.get("value")
                if printed is None:
                    raise PageError(f"{self.id} 没有发表中位数")
                out.append(printed.value)
        return tuple(out)

    def _statistic(self, name: Statistic) -> Quantity:
        series = [p.series for p in self._points]
        samples = [s for one in series if isinstance(one, Series) for s in one.samples]
        if samples:
            judged = name == "median" and len(self._points) > 1
            return self._quantity(_of(samples, name), name, 3, self._form(self._run_medians) if judged else NO_SPREAD)
        printed = [one.printed[name] for one in series if isinstance(one, PublishedSeries) and name in one.printed]
        if len(printed) < len(series):
            raise PageError(f"{self.id} 没有发表 {name}")
        if len(printed) > 1 and name != "min":
            raise PageError(f"{self.id} 发表了 {len(printed)} 轮，没有样本，合不出总的 {name}。用 .round(1).{name} 或 .typical")
        lowest = min(printed, key=lambda p: p.value)
        return self._quantity(lowest.value, name, min(3, _significant(lowest)), self._form((lowest.value,)))

    def _form(self, values: tuple[float, ...], of: str = "") -> Form | str:
        """What a verdict goes by that rests on one value of each run; their medians, unless `of` says of what else."""
        if min(values) <= 0:
            return NOT_POSITIVE
        runs = [p for p in self._points if p.process is not None]
        processes = tuple(f"{self._record.experiment}:{p.process}" for p in runs) if len(runs) == len(values) else ()
        errors = [median_error(p.series.samples) for p in runs if isinstance(p.series, Series)]
        sampling = math.sqrt(fmean(e**2 for e in errors)) if errors and not of else 0.0
        return Form(level(Runs(f"{self._record.experiment}/{self._where()}{of}", values, processes, sampling)))

    def _quantity(self, value: float, statistic: str, digits: int, form: Form | str = NO_SPREAD) -> Quantity:
        published = isinstance(self._points[0].series, PublishedSeries)
        return Quantity(
            value,
            self.unit,
            f"{statistic}({self._where()})",
            basis=self._basis(),
            form=form,
            margin=PUBLISHED_MARGIN if published else None,
            significant=digits,
            note=self._note(statistic),
            taken=self._record.taken,
            anchor=self.anchor,
        )

    @property
    def unit(self) -> Unit:
        """Of all its samples."""
        first = self._points[0].series
        if isinstance(first, Series):
            return first.unit
        return next(iter(first.printed.values())).kind

    def _where(self) -> str:
        rounds = {p.round for p in self._points}
        one = f"@{next(iter(rounds))}" if len(self._points) == 1 and None not in rounds and self._record.rounds > 1 else ""
        return f"{self.id}{one}"

    def _basis(self) -> Basis:
        p = self._points[0]
        settings = {name: self._record.settings(name, p.case) for name in ("dtype", "device")}
        return Basis(
            self._record.machine, self._record.experiment, settings["dtype"], settings["device"], p.series.phase, p.series.scope
        )

    def _note(self, statistic: str) -> str:
        names = {
            "min": "最小值",
            "median": "中位数",
            "p90": "第 90 百分位",
            "typical": "各次运行中位数的中位数",
            "first": "各次运行第一个样本的中位数",
            "cores": "CPU 时间 / 墙钟时间",
        }
        if any(isinstance(p.series, PublishedSeries) and "value" in p.series.printed for p in self._points):
            names["typical"] = "发表的数，没有写明是哪种统计量" if self.n == 0 else "发表的数"
        rounds = f"{len(self._points)} 轮" if len(self._points) > 1 else "一轮"
        count = f"，{rounds}共 {self.n} 次" if self.n else ""
        return f"{names[statistic]}{count}{self._spread}；{self._where()}"

    @cached_property
    def _spread(self) -> str:
        """How far the runs lie apart; of a single one, its samples. Empty for printed figures."""
        samples = [p.series.samples for p in self._points if isinstance(p.series, Series)]
        if len(samples) > 1:
            what, values = "各轮的中位数", self._run_medians
        elif samples and len(samples[0]) > 1:
            what, values = "样本", samples[0]
        else:
            return ""
        return f"；{what} {format_value(min(values), self.unit)} 到 {format_value(max(values), self.unit)}"


class RecordView:
    """One record, as a page asks it."""

    def __init__(self, record: Measured | Published, peers: tuple[Measured | Published, ...] = ()) -> None:
        """See the record, and its peers: the same experiment's records on other machines.

        Names declared there are known, and excerpts of source code, which are no property of a machine, may come from there if
        the version is the same.
        """
        self._record = record
        self._peers = peers
        self._views: dict[tuple[int, ...], SeriesView] = {}
        self._points = tuple(_points(record))
        declared = [p for r in (record, *peers) for p in _points(r)]
        facts = [(case, params, fact) for r in (record, *peers) for case, _, params, fact in facts_of(r)]
        absent = [a for r in (record, *peers) for a in r.absent]
        self._cases = {p.case for p in declared} | {c for c, _, _ in facts if c is not None} | {a.case for a in absent}
        self._metrics = {p.series.metric for p in declared}
        settings = [*(p.params for p in declared), *(params for _, params, _ in facts), *(a.params for a in absent)]
        self._params = {item for params in settings for item in params.items()}

    @property
    def data(self) -> Measured | Published:
        """The record itself, for blocks. Pages cannot reach it."""
        return self._record

    @property
    def machine(self) -> str:
        """The label of its machine."""
        return self._record.machine.label

    @property
    def experiment(self) -> str:
        """The id of its experiment."""
        return self._record.experiment

    @property
    def published(self) -> bool:
        """Whether these are figures somebody printed, not runs of ours."""
        return isinstance(self._record, Published)

    @property
    def rounds(self) -> int:
        """How many rounds were run or printed."""
        return len({p.round for p in self._points if p.round is not None})

    def has(self, case: str, metric: str | None = None, **params: Param) -> bool:
        """Whether this machine has it: false for a case that is declared but absent or unpublished here; an error for an unknown one."""
        self._known(case, metric, params)
        return any(self._matches(p, case, metric, params) for p in self._points)

    def series(
        self, case: str, metric: str, *, phase: str | None = None, scope: str | None = None, **params: Param
    ) -> SeriesView:
        """The one series with these names. Raises `PageError` for none, or more than one."""
        self._known(case, metric, params)
        found = [
            p
            for p in self._points
            if self._matches(p, case, metric, params) and phase in (None, p.series.phase) and scope in (None, p.series.scope)
        ]
        asked = _settings(
            {"metric": metric, **({"phase": phase} if phase else {}), **({"scope": scope} if scope else {}), **params}
        )
        if not found:
            here = [p for p in self._points if p.case == case]
            if not here:
                reason = next((a.reason for a in self._record.absent if a.case == case), "没有发表")
                raise PageError(f'{self.machine} 上没有 {case}（{reason}）。先问 [% if m.has("{case}") %]')
            raise PageError(f"{case} 没有 {asked}；有 {_list(_settings({'metric': p.series.metric, **p.params}) for p in here)}")
        distinct = {(p.series.phase, p.series.scope, frozenset(p.params.items())) for p in found}
        if len(distinct) > 1:
            each = _list(f"{p.series.phase} {p.series.scope} {_settings(p.params)}" for p in found)
            raise PageError(f"{case} 有 {len(distinct)} 组都符合 {asked}：{each}。写明是哪一组")
        return self._view(tuple(found))

    def over(
        self, param: str, case: str, metric: str, *, phase: str | None = None, scope: str | None = None, **params: Param
    ) -> Family:
        """The series that differ in `param` only, for `all_over`."""
        self._known(case, metric, params)
        values = {p.params[param] for p in self._points if self._matches(p, case, metric, params) and param in p.params}
        if not values:
            raise PageError(f"{self.machine} 上 {case} 的 {metric} 没有按 {param} 分开的数据")
        found = {v: self.series(case, metric, phase=phase, scope=scope, **{**params, param: v}) for v in sorted(values, key=str)}
        return Family(param, found)

    def _view(self, points: tuple[Point, ...]) -> SeriesView:
        """One view of the same points, so that pages share what was computed for one of them."""
        return self._views.setdefault(tuple(map(id, points)), SeriesView(self, points))

    def all_series(self) -> list[SeriesView]:
        """Everything there is, in the order it was recorded."""
        groups: dict[str, list[Point]] = {}
        for p in self._points:
            groups.setdefault(SeriesView(self, (p,)).id, []).append(p)
        return [self._view(tuple(points)) for points in groups.values()]

    def fact(
        self,
        name: str,
        case: str | None = None,
        *,
        round: int | None = None,  # noqa: A002 - the word that pages use
        **params: Param,
    ) -> FactView:
        """The one fact of this name that has these settings, its run's or its own. Raises `PageError`.

        More than one may have them if they agree on value and bits, as the runs of a case do; `round` takes one run. Counts k of n
        are added up over the runs.
        """
        self._known(case, None, params)
        of_case = [
            (c, p, f) for c, r, p, f in facts_of(self._record) if (case is None or c in (case, None)) and round in (None, r)
        ]
        found = [(c, p, f) for c, p, f in of_case if f.name == name and params.items() <= p.items()]
        rounds = {} if round is None else {"round": round}
        where = "/".join([case or "*", name, *(f"{k}={v}" for k, v in sorted({**params, **rounds}.items()))])
        if not found:
            known = _list(f"{f.name}（{_settings(p)}）" if p else f.name for _, p, f in of_case)
            raise PageError(f"{self.machine} 的 {self.experiment} 没有事实 {where}；有 {known}")
        facts = [f for _, _, f in found]
        if all(f.of is not None for f in facts) and len({(c, *sorted(p.items())) for c, p, _ in found}) == 1:
            facts = [Fact(name=name, value=sum(int(f.value) for f in facts), of=sum(f.of or 0 for f in facts))]
        if len({f.model_dump_json(include={"value", "of", "bits"}) for f in facts}) > 1:
            values = dict.fromkeys(f"{f.value}（{f.bits}）" if f.bits else str(f.value) for f in facts)
            raise PageError(f"事实 {where} 有不同的值：{_list(values)}。写明 case、参数或 round")
        return FactView(facts[0], f"fact({where})", "facts", self)

    def version(self, name: str) -> FactView:
        """The version of a library or tool that the record was made with."""
        if name not in self._record.versions:
            raise PageError(f"{self.experiment} 没有 {name} 的版本；有 {_list(self._record.versions)}")
        return FactView(Fact(name="version", value=self._record.versions[name]), f"version({name})", "versions", self)

    def build(self, package: str) -> Build:
        """How a Rust program was built."""
        for build in self._record.builds:
            if build.package == package:
                return build
        raise PageError(f"{self.machine} 上没有构建过 {package}；有 {_list(b.package for b in self._record.builds)}")

    def binary(self, package: str) -> Quantity:
        """The size of a program's binary."""
        size = self.build(package).binary_bytes
        if size is None:
            raise PageError(f"{package} 的大小没有发表")
        basis = Basis(self.machine, self.experiment)
        return Quantity(
            float(size), "byte", f"binary({package})", basis=basis, note="release 构建", taken=self.taken, anchor="builds"
        )

    def excerpt(self, name: str) -> Excerpt:
        """Lines of a crate's source, from this record or, for the same version of the crate's family, from another machine's."""
        known: list[str] = []
        for record in (self._record, *self._peers):
            for excerpt in record.excerpts if isinstance(record, Measured) else ():
                known.append(excerpt.name)
                here = {version.split("+")[0] for version in self._record.versions.values()}
                if excerpt.name == name and excerpt.version in here:
                    return excerpt
        raise PageError(f"{self.experiment} 没有摘录 {name}；有 {_list(known)}")

    @cached_property
    def _values(self) -> dict[tuple[str, str | None], set[str]]:
        """What was found for a fact of a case, over all runs. Every quantity of a page asks for two of them."""
        found: dict[tuple[str, str | None], set[str]] = {}
        for case, _, _, fact in facts_of(self._record):
            found.setdefault((fact.name, case), set()).add(str(fact.value))
        return found

    def settings(self, name: str, case: str) -> str | None:
        """A fact all runs of a case agree on, or None where nobody recorded it."""
        values = self._values.get((name, case), set()) | self._values.get((name, None), set())
        if len(values) > 1:
            raise PageError(f"{case} 的各次运行 {name} 不一致：{_list(values)}")
        return next(iter(values), None)

    @cached_property
    def taken(self) -> str:
        """On which machine, when, and under which load it was measured."""
        when = "已发表的数字" if isinstance(self._record, Published) else self._record.started[:10]
        return f"{self.machine}，{when}；{self.load_note()}"

    def load_note(self, of: Sequence[Run | Output] = ()) -> str:
        """The load while it was measured, in words: during some of the runs, beside some of the outputs, or during all."""
        if isinstance(self._record, Published):
            printed = dict.fromkeys(one.load or "没有写明" for one in of if isinstance(one, Output))
            return (
                f"负载 {'、'.join(printed)}"
                if any(isinstance(one, Output) and one.load for one in of)
                else self._record.conditions
            )
        runs = [one for one in of if isinstance(one, Run)] or self._record.runs
        loads = [c.load for r in runs for c in (r.before, r.after) if c.load is not None]
        return f"1 分钟负载 {min(loads):.1f} 到 {max(loads):.1f}" if loads else "没有负载读数"

    def absent(self) -> tuple[Absent, ...]:
        """The cases this machine has nothing of, and why."""
        return self._record.absent

    def _known(self, case: str | None, metric: str | None, params: dict[str, Param]) -> None:
        if case is not None and case not in self._cases:
            raise PageError(f"{self.experiment} 没有叫 {case} 的实现；有 {_list(self._cases)}")
        if metric is not None and metric not in self._metrics:
            raise PageError(f"{self.experiment} 没有叫 {metric} 的指标；有 {_list(self._metrics)}")
        for name, value in params.items():
            if (name, value) not in self._params:
                raise PageError(
                    f"{self.experiment} 没有 {name}={value} 这个设置；有 {_list(f'{k}={v}' for k, v in self._params)}"
                )

    @staticmethod
    def _matches(p: Point, case: str, metric: str | None, params: dict[str, Param]) -> bool:
        return p.case == case and metric in (None, p.series.metric) and params.items() <= p.params.items()


def best(*series: SeriesView) -> SeriesView:
    """The one with the smallest minimum; the quantity it gives says whose it is."""
    if not series:
        raise PageError("best() 至少要一组数据")
    for other in series[1:]:
        check_comparable(series[0].min, other.min)
        if other.min.unit != series[0].min.unit:
            raise PageError(f"{series[0].id} 和 {other.id} 的单位不同，比不出最小的")
    return min(series, key=lambda s: s.min.value)


def _points(record: Measured | Published) -> Iterable[Point]:
    if isinstance(record, Published):
        for s in record.series:
            yield Point(s.case, s.params, s.round, s)
    else:
        for process, run in enumerate(record.runs):
            for one in run.series:
                yield Point(run.case, {**run.params, **one.params}, run.round, one, process)


def facts_of(record: Measured | Published) -> list[tuple[str | None, int | None, dict[str, Param], Fact]]:
    """Facts with their case (None: of the whole record), their round, and all settings they hold for."""
    if isinstance(record, Published):
        return [(f.case, None, f.params, f) for f in record.facts]
    return [(r.case, r.round, {**r.params, **f.params}, f) for r in record.runs for f in r.facts]


def _of(samples: Sequence[float], name: Statistic) -> float:
    statistics: dict[str, Callable[[Sequence[float]], float]] = {"min": min, "median": median, "p90": lambda s: percentile(s, 90)}
    if name not in statistics:
        raise PageError(f"没有统计量 {name}；有 {_list(statistics)}")
    return statistics[name](samples)


def _significant(printed: Printed) -> int:
    return len(Decimal(printed.text).as_tuple().digits)


def _settings(params: dict[str, Param]) -> str:
    return " ".join(f"{k}={v}" for k, v in sorted(params.items()))


def _list(names: Iterable[str]) -> str:
    return "、".join(sorted(set(names))) or "（无）"
