"""What moved between two records: beyond noise or not, what came and went, and who became the faster."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from measure.diff import FactChange, RecordChange, SeriesChange, diff, tables
from measure.history import Side
from measure.record import ADAPTER, Fact, Measured, Published, Run
from measure.store import Records
from tests.records import LAB, SLOW_AND_FAST, measured, rounds, run, runs, timed

SPREAD = (0.0100, 0.0108, 0.0092, 0.0104, 0.0096)
"""Medians of five runs that vary by 6 %."""


def side(*records: Measured | Published, name: str = "a") -> Side:
    return Side(name, {(r.machine.label, r.experiment): r for r in records})


def compare(old: Measured | Published, new: Measured | Published) -> RecordChange:
    (change,) = diff(side(old), side(new, name="b"), []).records
    return change


def kinds(old: Iterable[Run], new: Iterable[Run]) -> dict[str, str]:
    return {s.name.split("/")[0]: s.kind for s in compare(measured(*old), measured(*new)).series}


def times(case: str, factor: float, *medians: float) -> tuple[Run, ...]:
    return rounds(case, *(factor * m for m in medians))


@pytest.mark.parametrize(
    ("medians", "factor", "kind"),
    [
        ((0.040, 0.0402, 0.0398, 0.0401, 0.0399), 1.5, "up"),
        ((0.040, 0.0402, 0.0398, 0.0401, 0.0399), 0.5, "down"),
        ((0.040, 0.0402, 0.0398, 0.0401, 0.0399), 1.03, "up"),  # six run deviations
        ((0.040, 0.0402, 0.0398, 0.0401, 0.0399), 1.015, "noise"),  # below 2 %, however sure
        (SPREAD, 1.04, "noise"),  # two thirds of a run deviation
        (SPREAD, 1.5, "up"),
        ((0.040, 0.041), 1.15, "noise"),  # two runs: nothing below 20 % counts
        ((0.040, 0.041), 1.5, "up"),
    ],
)
def test_a_series_moves_beyond_noise_or_not(medians: tuple[float, ...], factor: float, kind: str) -> None:
    assert kinds(times("a", 1, *medians), times("a", factor, *medians)) == {"a": kind}


def test_runs_of_two_records_are_not_paired() -> None:
    """Every run is 4 % slower than the one of its round before: taken in pairs that would be certain, and it is chance."""
    assert kinds(times("a", 1, *SPREAD), times("a", 1.04, *SPREAD)) == {"a": "noise"}


def test_how_much_and_how_sure() -> None:
    (moved,) = compare(measured(*times("a", 1, 0.02, 0.02, 0.02)), measured(*times("a", 2, 0.02, 0.02, 0.02))).series
    assert moved.ratio == pytest.approx(2)
    assert replace(moved, ratio=None) == SeriesChange(
        "a/matmul/steady/ready", "s", "up", "20.0 ms", "40.0 ms", None, "比值 2，区间 2 到 2"
    )


def test_equal_records_do_not_differ() -> None:
    found = diff(side(SLOW_AND_FAST), side(SLOW_AND_FAST), [])
    assert (found.records, list(tables(found))) == ((), [])


def test_what_came_and_what_went() -> None:
    old, new = rounds("a", 0.01, 0.01, 0.01) + rounds("b", 0.01, 0.01, 0.01), rounds("a", 0.01, 0.01, 0.01)
    change = compare(measured(*old), measured(*new))
    assert [(s.name, s.kind, s.old, s.new) for s in change.series] == [("b/matmul/steady/ready", "vanished", "10.0 ms", "")]
    change = compare(measured(*new), measured(*old))
    assert [(s.name, s.kind, s.old, s.new) for s in change.series] == [("b/matmul/steady/ready", "appeared", "", "10.0 ms")]
    y = SLOW_AND_FAST.model_copy(update={"experiment": "y"})
    found = diff(side(SLOW_AND_FAST), side(y), [])
    assert [(r.experiment, r.kind, r.series) for r in found.records] == [("x", "vanished", ()), ("y", "appeared", ())]


def test_another_data_type_is_not_compared() -> None:
    """C24."""
    (found,) = compare(measured(*rounds("a", 0.01, 0.01, 0.01)), measured(*rounds("a", 0.02, 0.02, 0.02, dtype="f64"))).series
    assert found.kind == "unjudged"
    assert "数据类型不同（f64、f32）" in found.evidence


def test_a_series_that_is_no_time_and_may_be_zero() -> None:
    def counted(*values: float) -> Measured:
        more = [run("a", k, (0.01, 0.01), series=[timed("count", value, unit="1")]) for k, value in enumerate(values, 1)]
        return measured(*more)

    assert [s.kind for s in compare(counted(0, 0, 0), counted(0, 1, 0)).series] == ["noise"]
    (found,) = compare(counted(0, 0, 0), counted(1, 1, 1)).series
    assert (found.kind, found.ratio) == ("unjudged", None)
    assert [s.kind for s in compare(counted(4, 4, 4), counted(8, 8, 8)).series] == ["up"]


def test_who_became_the_faster() -> None:
    swapped = measured(
        *times("slow", 1, 0.010, 0.0101, 0.0099, 0.01, 0.01002), *times("fast", 1, 0.040, 0.0402, 0.0398, 0.0401, 0.0399)
    )
    (flip,) = compare(SLOW_AND_FAST, swapped).flips
    assert (flip.one, flip.other) == ("slow/matmul/steady/ready", "fast/matmul/steady/ready")
    assert flip.old.startswith("比值 4，")
    assert flip.new.startswith("比值 0.25，")
    nearer = measured(*times("slow", 0.26, 0.040, 0.0402, 0.0398, 0.0401, 0.0399), *SLOW_AND_FAST.runs[5:])
    assert compare(SLOW_AND_FAST, nearer).flips == ()


def test_only_like_is_set_against_like() -> None:
    """Two cases with different settings measure different things, and so do two metrics."""

    def one(first: float, other: float) -> Measured:
        return measured(
            *runs("a", *[(first, first)] * 3, size=1),
            *runs("b", *[(other, other)] * 3, size=2, series=[timed("other", first)]),
        )

    change = compare(one(0.01, 0.02), one(0.02, 0.01))
    assert [s.kind for s in change.series] == ["up", "down", "up"]
    assert change.flips == ()


def facts(*values: object, of: int | None = None, bits: str | None = None) -> Measured:
    each = [
        run("a", k, (0.01, 0.01), facts=[Fact.model_validate({"name": "f", "value": value, "of": of, "bits": bits})])
        for k, value in enumerate(values, 1)
    ]
    return measured(*each)


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        (facts("mkl", "mkl"), facts("openblas", "openblas"), ("mkl", "openblas")),
        (facts(4, 4), facts(5, 5), ("4", "5")),
        (facts(3, 3, of=10), facts(4, 4, of=10), ("3 / 10", "4 / 10")),
        (facts(0.5, bits="3fe0000000000000"), facts(0.5, bits="3fe0000000000001"), ("0.5（3fe0000000000000）", "0.5（3fe0000000000001）")),
        (facts(1.98, 1.94), facts(1.96, 1.99), None),  # what varies from run to run, and overlaps
        (facts(1.98, 1.94), facts(1.0, 0.97), ("1.98、1.94", "1.0、0.97")),
        (facts("a", "b"), facts("b", "a"), None),
        (facts(True, True), facts(True, True), None),
    ],
)  # fmt: skip
def test_facts(old: Measured, new: Measured, shown: tuple[str, str] | None) -> None:
    new = new.model_copy(update={"finished": "later"})
    expected = () if shown is None else (FactChange("f", ("a",), *shown),)
    assert compare(old, new).facts == expected


def test_a_fact_that_changed_for_many_cases_alike_is_named_once() -> None:
    one = [run(case, 1, (0.01, 0.01), facts=[Fact(name="f", value=1)]) for case in ("a", "b", "c")]
    two = [run(case, 1, (0.01, 0.01), facts=[Fact(name="f", value=2)]) for case in ("a", "b", "c")]
    assert compare(measured(*one), measured(*two)).facts == (FactChange("f", ("a", "b", "c"), "1", "2"),)


def test_versions_are_facts() -> None:
    new = SLOW_AND_FAST.model_copy(update={"versions": {"lib": "1.3", "more": "1"}})
    found = compare(SLOW_AND_FAST, new).facts
    assert found == (FactChange("versions.lib", (), "1.2", "1.3"), FactChange("versions.more", (), "", "1"))


def test_two_machines_where_they_are_asked_for() -> None:
    box = LAB.model_copy(update={"label": "box"})
    there = measured(*times("slow", 0.5, 0.040, 0.0402, 0.0398, 0.0401, 0.0399), machine=box)
    records: Records = {("lab", "x"): SLOW_AND_FAST, ("box", "x"): there}
    (change,) = diff(Side("x@lab", records, (), ("lab", "x")), Side("x@box", records, (), ("box", "x")), []).records
    assert (change.experiment, change.machine) == ("x", "lab → box")
    assert [(s.name.split("/")[0], s.kind) for s in change.series] == [("slow", "down"), ("fast", "vanished")]
    assert diff(Side("a", records), Side("b", records), []).records == ()


def published(text: str, statistic: str = "median") -> Published:
    made = ADAPTER.validate_python({
        "schema_version": 1, "origin": "published", "experiment": "x", "machine": LAB.model_dump(), "source": "a page", "conditions": "",
        "versions": {}, "series": ({"case": "a", "metric": "matmul", "phase": "steady", "scope": "ready", "round": 1,
                                    "printed": {statistic: {"text": text, "unit": "ms"}}},),
    })  # fmt: skip
    assert isinstance(made, Published)
    return made


def test_printed_figures_go_by_a_margin() -> None:
    assert [s.kind for s in compare(published("20.0"), published("20.9")).series] == ["noise"]
    assert [s.kind for s in compare(published("20.0"), published("21.1")).series] == ["up"]
    assert [s.kind for s in compare(published("20.0", "min"), published("21.1", "min")).series] == ["up"]
    assert [s.kind for s in compare(published("20.0", "p90"), published("21.1", "p90")).series] == ["unjudged"]


def test_what_people_read() -> None:
    slower = measured(
        *times("slow", 2, 0.040, 0.0402, 0.0398, 0.0401, 0.0399), *times("fast", 1.001, 0.010, 0.0101, 0.0099, 0.01, 0.01002)
    )
    found = list(tables(diff(side(SLOW_AND_FAST), side(slower.model_copy(update={"versions": {"lib": "2"}})), [])))
    assert [title for title, _, _ in found] == [
        "x，lab：1 组数据变得超出噪声，或者只有一边有；1 组的变化在噪声之内",
        "x，lab：变了的事实",
    ]
    assert found[0][2][0][:4] == ["slow/matmul/steady/ready", "40.0 ms", "80.0 ms", "慢了"]
    assert found[1][2] == [["versions.lib", "", "1.2", "2"]]
    for _, columns, rows in found:
        assert {len(row) for row in rows} == {len(columns)}
