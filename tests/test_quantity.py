"""How numbers print, what they combine with, and what they refuse."""

import math
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from measure.quantity import (
    Basis,
    PageError,
    Quantity,
    check_comparable,
    constant,
    difference,
    format_bytes,
    format_number,
    format_scientific,
    format_time,
    ratio,
    time_unit,
    total,
)
from measure.record import Unit
from measure.stats import Form, Runs, level

HERE = Basis("box", "cpu-matmul", "f32", "cpu", "steady", "ready")


def quantity(value: float, name: str = "a", unit: Unit = "s", basis: Basis | None = HERE) -> Quantity:
    return Quantity(value, unit, name, basis=basis, form=form(name, value))


def form(name: str, value: float) -> Form | str:
    return Form(level(Runs(name, (value,) * 3))) if value > 0 else "不是正数"


def powers(q: Quantity) -> dict[str, float]:
    assert isinstance(q.form, Form)
    return {runs.series: power for runs, power in q.form.plus.powers.items()}


def at(q: Quantity) -> float:
    """Where the data put what verdicts go by."""
    assert isinstance(q.form, Form)
    return math.exp(q.form.plus.log) - (math.exp(q.form.minus.log) if q.form.minus else 0)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.021424123, "21.4 ms"),
        (0.000574, "574 µs"),
        (999.96e-6, "1.00 ms"),
        (999.4e-6, "999 µs"),
        (0.9996, "1.00 s"),
        (1.0, "1.00 s"),
        (59.99, "60.0 s"),
        (1234.0, "1230 s"),
        (7e-9, "7.00 ns"),
        (9.999e-7, "1.00 µs"),
        (4e-10, "0.400 ns"),
        (0.1 + 0.2, "300 ms"),
    ],
)
def test_times_take_the_unit_that_suits_after_rounding(seconds: float, text: str) -> None:
    assert format_time(seconds) == text


def test_the_unit_suits_the_digits_asked_for() -> None:
    assert format_time(999.96e-6, 5) == "999.96 µs"
    assert format_time(999.96e-6, 2) == "1.0 ms"
    assert format_time(0.0214, 1) == "20 ms"


SIZES = {"s": Decimal(1), "ms": Decimal("1e-3"), "µs": Decimal("1e-6"), "ns": Decimal("1e-9")}


@settings(derandomize=True, deadline=None)
@given(st.floats(1e-9, 999.0), st.integers(1, 9))
def test_any_time_reads_back_to_the_digits_shown(seconds: float, digits: int) -> None:
    number, unit = format_time(seconds, digits).split(" ")
    read = Decimal(number) * SIZES[unit]
    assert abs(read / Decimal(repr(seconds)) - 1) <= Decimal("0.5") * Decimal(10) ** (1 - digits)
    assert Decimal(number) < 1000 or unit == "s"
    assert set(number) <= set("0123456789.")


@pytest.mark.parametrize("text", ["0.0123 s", "12.3 ms", "12300 µs", "12300 μs", "12300 us", "12300000 ns"])
def test_c25_every_spelling_of_a_duration_is_the_same_duration(text: str) -> None:
    q = constant(text)
    assert (q.text(), q.unit) == ("12.3 ms", "s")
    assert ratio(q, constant("0.0123 s")).digits(3).text() == "1.00"


@pytest.mark.parametrize(
    "text", ["0.0123 m", "1 min", "1 S", "1  s", " 1 s", "ms", "", "nan s", "inf s", "0 s", "-1 s", "12,5 ms"]
)
def test_c25_c27_c28_a_constant_is_a_positive_decimal_with_a_known_unit(text: str) -> None:
    with pytest.raises(PageError):
        constant(text)


def test_a_constant_without_unit_is_a_ratio() -> None:
    assert (constant("4").unit, constant("4").value) == ("1", 4.0)


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (26.96, 2, "27"),
        (0.9996, 2, "1.0"),
        (9.96, 2, "10"),
        (99.96, 2, "100"),
        (12345.6, 2, "12300"),
        (12345.0, 2, "12345"),
        (0.0374, 2, "0.037"),
        (2.0, 2, "2.0"),
        (0.0, 2, "0"),
        (-0.0, 2, "0"),
    ],
)
def test_ratios_keep_their_whole_part(value: float, digits: int, text: str) -> None:
    assert format_number(value, digits) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 B"),
        (1, "1 B"),
        (1023, "1023 B"),
        (1024, "1.00 KiB"),
        (1536, "1.50 KiB"),
        (1023 * 1024, "1023 KiB"),
        (2**20 - 1, "1.00 MiB"),
        (5 * 2**20, "5.00 MiB"),
        (2**30, "1.00 GiB"),
        (3000 * 2**30, "3000 GiB"),
    ],
)
def test_bytes_take_the_unit_that_suits_after_rounding(value: float, text: str) -> None:
    assert format_bytes(value) == text


def test_one_unit_for_a_column() -> None:
    unit = time_unit(0.0007)
    assert (unit.name, unit.show(0.0007, 3), unit.show(0.0214, 3), unit.show(1.5, 3)) == ("µs", "700", "21400", "1500000")


@pytest.mark.parametrize("n", [0, -1, 16, 2.5, "3", None])
def test_digits_are_few_and_whole(n: object) -> None:
    with pytest.raises(PageError, match="有效数字"):
        quantity(1.0).digits(n)  # type: ignore[arg-type]  # what a page may write


def test_a_ratio_has_two_digits_and_says_how_it_came_about() -> None:
    q = quantity(0.054, "a") / quantity(0.002, "b")
    assert (q.text(), q.unit, q.formula, q.basis) == ("27", "1", "a / b", HERE)
    assert powers(q) == {"a": 1.0, "b": -1.0}
    assert (quantity(6.0) / q).formula == "a / (a / b)"


def test_numbers_scale_a_quantity_from_either_side() -> None:
    twice = 2 * quantity(0.5)
    assert (twice.text(), twice.formula, (twice / 4).value) == ("1.00 s", "a * 2", 0.25)
    assert [at(twice), at(twice / 4)] == pytest.approx([1.0, 0.25])


def test_what_is_divided_by_itself_leaves_nothing_to_judge_by() -> None:
    q = quantity(0.5)
    assert powers(q / q) == {}
    assert (q / replace(q, form="为什么")).form == "为什么"


@pytest.mark.parametrize("other", [0, -1, math.nan, math.inf, True, "2", None])
def test_c27_only_positive_numbers_scale(other: object) -> None:
    with pytest.raises(PageError):
        quantity(1.0) / other
    with pytest.raises(PageError):
        other * quantity(1.0)


def test_a_difference_may_be_negative_until_it_is_printed_or_divided_by() -> None:
    a, b, c = quantity(2.0, "a"), quantity(3.0, "b"), quantity(4.0, "c")
    less = difference(a, b)
    assert (less.value, less.formula) == (-1.0, "a - b")
    assert [at(less), at(less / c), at(2 * less), at(total(less, c))] == pytest.approx([-1.0, -0.25, -2.0, 3.0])
    assert at(difference(c, less)) == pytest.approx(5.0)
    for use in (less.text, (less / c).text):
        with pytest.raises(PageError, match="不是正数"):
            use()
    with pytest.raises(PageError, match="a - b 不是正数"):
        c / less
    assert isinstance((c / difference(b, a)).form, str)  # may be printed, but nothing rests on it
    assert difference(b, a).text() == "1.00 s"


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_c27_nothing_infinite_gets_on_a_page(value: float) -> None:
    with pytest.raises(PageError, match="a 不是有限的数"):
        quantity(value)


@pytest.mark.parametrize("value", [0.0, -0.0, -1e-9])
def test_c27_a_ratio_names_what_is_not_positive(value: float) -> None:
    for a, b in ((quantity(1.0, "good"), quantity(value, "bad")), (quantity(value, "bad"), quantity(1.0, "good"))):
        with pytest.raises(PageError, match="bad 不是正数"):
            ratio(a, b)


def test_c27_what_is_too_small_to_divide_by_is_not_infinite() -> None:
    with pytest.raises(PageError, match="不是有限的数"):
        ratio(quantity(1e300), quantity(1e-300, "b"))


def test_units_that_make_no_sense_together() -> None:
    time, size, count = quantity(1.0), quantity(1.0, "b", "byte"), quantity(1.0, "n", "1")
    for a, b in ((time, size), (count, time)):
        with pytest.raises(PageError, match="不能相除"):
            a / b
    with pytest.raises(PageError, match="没有意义"):
        time * time


def test_c45_machines_are_never_put_together() -> None:
    other = quantity(1.0, "b", basis=replace(HERE, machine="laptop"))
    for across in (None, "scope", "dtype"):
        with pytest.raises(PageError, match="两台机器（box、laptop）"):
            ratio(quantity(1.0), other, across)
    with pytest.raises(PageError, match="across 只能是"):
        ratio(quantity(1.0), other, "machine")


@pytest.mark.parametrize(("axis", "value"), [("dtype", "f64"), ("device", "cuda"), ("phase", "first"), ("scope", "call")])
def test_c24_other_axes_only_where_the_page_names_them(axis: str, value: str) -> None:
    changed: dict[str, Any] = {axis: value}
    open_: dict[str, Any] = {axis: None}
    other = quantity(2.0, "b", basis=replace(HERE, **changed))
    with pytest.raises(PageError, match=f'across="{axis}"'):
        ratio(quantity(1.0), other)
    crossed = ratio(quantity(1.0), other, axis)
    assert (crossed.value, crossed.across) == (0.5, (axis,))
    assert crossed.basis == replace(HERE, **open_)
    wrong = "scope" if axis != "scope" else "phase"
    with pytest.raises(PageError, match=f'across="{axis}"'):
        ratio(quantity(1.0), other, wrong)


def test_constants_take_the_basis_of_what_they_meet() -> None:
    assert check_comparable(quantity(1.0), constant("1 s")) == HERE
    assert check_comparable(constant("1 s"), constant("1 s")) is None


def test_two_experiments_on_one_machine_are_both_named() -> None:
    basis = check_comparable(quantity(1.0), quantity(1.0, basis=replace(HERE, experiment="other")))
    assert basis is not None
    assert basis.experiment == "cpu-matmul+other"


@pytest.mark.parametrize(
    ("value", "text"),
    [(-7.150297e-9, "−7.15 × 10⁻⁹"), (4.576e-8, "4.58 × 10⁻⁸"), (0.0, "0"), (-0.5, "−0.500"), (1234567.0, "1.23 × 10⁶")],
)
def test_small_facts_have_a_power_of_ten(value: float, text: str) -> None:
    assert format_scientific(value, 3) == text


@pytest.mark.parametrize("power", [27, 28, 40, 308])
def test_a_number_of_any_size_can_be_printed(power: int) -> None:
    assert format_number(float(f"1e{power}"), 2) == "1" + power * "0"
    assert format_time(float(f"1e{power}")) == "1" + power * "0" + " s"
