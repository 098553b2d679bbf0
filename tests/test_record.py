"""What a record accepts: closed, strict, without values that mean nothing."""

import json
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from measure.record import Build, Fact, Machine, Measured, Name, Printed, Published, PublishedFact, PublishedSeries, Run, Series
from tests.records import LAB, measured, runs

STEADY: dict[str, Any] = {"metric": "matmul", "phase": "steady", "scope": "ready", "unit": "s"}
PRINTED: dict[str, Any] = {"case": "torch", "metric": "matmul", "phase": "steady", "scope": "ready"}


def published(*series: dict[str, Any]) -> Published:
    machine = Machine(label="m", cpu="c", cores=1, memory_gib=None, system="s")
    return Published(
        schema_version=1,
        origin="published",
        experiment="e",
        machine=machine,
        source="书",
        conditions="",
        versions={},
        series=tuple(PublishedSeries.model_validate(PRINTED | one) for one in series),
    )


def ms(text: str) -> Printed:
    return Printed(text=text, unit="ms")


@pytest.mark.parametrize("name", ["a", "cpu-matmul", "pitb-exec-cpu-x86v4", "0", "console", "com"])
def test_names_are_portable_file_names(name: str) -> None:
    assert TypeAdapter(Name).validate_python(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        "A",
        "CON",
        "con",
        "nul",
        "com1",
        "lpt9",
        "a/b",
        "../a",
        "a.b",
        "a--b",
        "-a",
        "a-",
        "加法 1",
        "a\n",
        "a_b",
        "jax:add@2024-01-01T00:00:00",
        "a" * 65,
        "<script>",
    ],
)
def test_c40_c33_other_names_are_refused(name: str) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(Name).validate_python(name)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf"), 0.0, -1e-9, "0.1", None])
def test_c27_a_duration_is_finite_positive_and_a_number(bad: object) -> None:
    with pytest.raises(ValidationError):
        Series.model_validate(STEADY | {"samples": (0.1, bad)})


def test_a_count_may_be_zero() -> None:
    assert Series.model_validate(STEADY | {"unit": "1", "samples": (0.0, -1.0)}).samples == (0.0, -1.0)


def test_c18_less_than_a_clock_tick_is_refused() -> None:
    with pytest.raises(ValidationError, match="optimised away"):
        Series.model_validate(STEADY | {"samples": (3e-10, 3e-10, 3e-10)})


def test_a_series_has_samples() -> None:
    with pytest.raises(ValidationError, match="no samples"):
        Series.model_validate(STEADY | {"samples": ()})


@pytest.mark.parametrize("unit", ["ms", "µs", "m", "", None])
def test_c25_samples_are_in_base_units(unit: str | None) -> None:
    with pytest.raises(ValidationError):
        Series.model_validate(STEADY | {"unit": unit, "samples": (1.0,)})


def test_unknown_fields_are_errors() -> None:
    with pytest.raises(ValidationError, match="Extra inputs"):
        Series.model_validate(STEADY | {"samples": (1.0,), "warmup": 3})


@pytest.mark.parametrize("value", [True, 3, 2.5, "f32"])
def test_a_fact_keeps_its_type(value: object) -> None:
    again = Fact.model_validate_json(Fact.model_validate({"name": "x", "value": value}).model_dump_json()).value
    assert (again, type(again)) == (value, type(value))


def test_only_release_builds_exist() -> None:
    """C22: a dev build cannot become a record."""
    with pytest.raises(ValidationError):
        Build.model_validate({"package": "p", "profile": "dev", "declared": "", "resolved": (), "compiler": ""})


def test_c46_a_run_or_a_series_counts_once() -> None:
    record = measured(*runs("a", (1.0,)))
    again: dict[str, Any] = {k: getattr(record, k) for k in Measured.model_fields}
    with pytest.raises(ValidationError, match=r"a run .* appears twice"):
        Measured.model_validate(again | {"runs": record.runs * 2})
    with pytest.raises(ValidationError, match="a series appears twice"):
        measured(*runs("a", (1.0,), series=record.runs[0].series))
    at = [Fact(name="lnz", value=1.0, params={"beta": beta}) for beta in ("0.30", "0.40")]
    assert len(measured(*runs("a", (1.0,), facts=at)).runs[0].facts) == 2 + 2
    with pytest.raises(ValidationError, match="a fact appears twice"):
        measured(*runs("a", (1.0,), facts=at * 2))


def test_c25_a_metric_has_one_unit() -> None:
    record = measured(*runs("a", (1.0,), (1.0,)))
    odd = record.runs[1].series[0].model_copy(update={"unit": "byte"})
    again: dict[str, Any] = {k: getattr(record, k) for k in Measured.model_fields}
    with pytest.raises(ValidationError, match="two units"):
        Measured.model_validate(again | {"runs": (record.runs[0], record.runs[1].model_copy(update={"series": (odd,)}))})


def test_what_a_publication_may_leave_out_a_measurement_may_not() -> None:
    with pytest.raises(ValidationError, match="memory"):
        measured(*runs("a", (1.0,)), machine=LAB.model_copy(update={"memory_gib": None}))
    build = Build(package="p", profile="release", declared="", resolved=(), compiler="rustc")
    with pytest.raises(ValidationError, match="target or size"):
        measured(*runs("a", (1.0,)), builds=(build,))


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("0.0123", "s", 0.0123),
        ("12.3", "ms", 0.0123),
        ("12300", "µs", 0.0123),
        ("12300000", "ns", 0.0123),
        ("7", "1", 7.0),
        ("512", "byte", 512.0),
    ],
)
def test_c25_printed_figures_come_to_the_same_float(text: str, unit: str, value: float) -> None:
    assert Printed.model_validate({"text": text, "unit": unit}).value == value


@pytest.mark.parametrize("text", ["12,5", "1e3", "nan", ".5", "5.", "+1", "", " 1", "1\n", "１２"])
def test_c28_other_spellings_of_numbers_are_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        ms(text)


def test_published_series_need_plausible_figures() -> None:
    assert published({"printed": {"min": ms("1.0"), "median": Printed(text="1100", unit="µs")}}).series[0].n is None
    for printed in ({}, {"min": ms("0.000")}, {"min": ms("1"), "value": Printed(text="1", unit="1")}):
        with pytest.raises(ValidationError):
            published({"printed": printed})


def test_c46_a_published_series_counts_once() -> None:
    one = {"printed": {"min": ms("1.0")}, "round": 1}
    published(one, one | {"round": 2})
    with pytest.raises(ValidationError, match="appears twice"):
        published(one, one)
    facts = [PublishedFact(name="rank", case=case, value=49) for case in ("jax", None)]
    whole: dict[str, Any] = {k: getattr(published(one), k) for k in Published.model_fields}
    assert len(Published.model_validate(whole | {"facts": (*facts,)}).facts) == 2
    with pytest.raises(ValidationError, match="appears twice"):
        Published.model_validate(whole | {"facts": (*facts, *facts)})


@pytest.mark.parametrize(
    "moment",
    [
        "",
        "yesterday",
        "2026-11-30",
        "2026-11-31T00:00:00Z",
        "2026-11-30T00:00:00",
        "2026-11-30T00:00:00+08:00",
        "２026-11-30T00:00:00Z",
    ],
)
def test_moments_are_moments(moment: str) -> None:
    """What the build makes dates of has to be one."""
    with pytest.raises(ValidationError, match=r"UTC|day is out of range"):
        measured(*runs("torch", (0.5,)), finished=moment)


@pytest.mark.parametrize("wall", [0, -1.0])
def test_a_run_takes_time(wall: float) -> None:
    """Its cores in use are CPU time over it."""
    run = measured(*runs("torch", (0.5,))).model_dump(mode="json")["runs"][0] | {"wall": wall}
    with pytest.raises(ValidationError, match="greater than 0"):
        Run.model_validate_json(json.dumps(run))


@pytest.mark.parametrize("size", [0, -1, 10**400])
def test_a_binary_has_a_size_that_can_be(size: int) -> None:
    with pytest.raises(ValidationError, match=r"than"):
        Build(package="a", profile="release", declared="", resolved=(), compiler="", target="t", binary_bytes=size)
