"""A number that knows where it comes from, how it prints, and what it may be compared with."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_EVEN, Context, Decimal

from measure.record import TIME_UNITS, Unit
from measure.stats import Form, exactly

PRINTED_UNITS = (("s", 0), ("ms", -3), ("µs", -6), ("ns", -9))
BYTE_UNITS = (("GiB", 30), ("MiB", 20), ("KiB", 10))
ANY_FLOAT = Context(prec=330)
"""Digits enough for the whole part of any float."""
MOST_DIGITS = 15
"""What a float holds of any decimal number."""
LONGEST_FORMULA = 5000
"""Characters. A formula doubles with every line that multiplies a value by itself."""
NO_SPREAD = "样本的最小值和单独一轮都没有跨进程的误差。用 .typical"
DIVIDED_BY_A_DIFFERENCE = "差不能做除数。把它乘到比较的另一边"


class PageError(Exception):
    """Something a page asked for that cannot be given. The message says what exists, or what to write instead."""


@dataclass(frozen=True)
class Basis:
    """What two operands must share. `machine` can never be crossed; the others only where the page names the axis."""

    machine: str
    experiment: str
    dtype: str | None = None
    device: str | None = None
    phase: str | None = None
    scope: str | None = None


AXES = {"dtype": "数据类型", "device": "设备", "phase": "阶段", "scope": "计时范围"}


@dataclass(frozen=True)
class Quantity:
    """A value in seconds, bytes or 1, with its provenance."""

    value: float
    unit: Unit
    formula: str
    """How it was computed, in a form a script can follow back to the record."""
    basis: Basis | None = None
    form: Form | str = NO_SPREAD
    """What verdicts go by, or why there can be none."""
    margin: float | None = None
    """For printed figures: a ratio that an effect has to exceed, since there are no samples."""
    significant: int = 3
    note: str = ""
    """For the reader who points at the number: statistic, n, spread; of a computed one, from what it was computed."""
    taken: str = ""
    """On which machine, when, under which load."""
    anchor: str = ""
    """Where on the record's page the number stands."""
    across: tuple[str, ...] = ()
    least_of: frozenset[int] = frozenset()
    """For smallest samples: of how many samples in a run. The smallest of more is smaller without being faster."""

    def __post_init__(self) -> None:
        if not math.isfinite(self.value):
            raise PageError(f"{self.formula} 不是有限的数")
        if len(self.formula) > LONGEST_FORMULA:
            raise PageError(f"{self.formula[:80]}… 的算式太长，读者看不懂它从哪里来")

    def digits(self, n: int) -> Quantity:
        """The same, printed with n significant digits."""
        if n not in range(1, MOST_DIGITS + 1):
            raise PageError(f"{self.formula} 能写 1 到 {MOST_DIGITS} 位有效数字，不能写 {n!r} 位")
        return replace(self, significant=int(n))

    def __truediv__(self, other: object) -> Quantity:
        return self._times(other, -1)

    def __mul__(self, other: object) -> Quantity:
        return self._times(other, 1)

    def __rmul__(self, other: object) -> Quantity:
        return self._times(other, 1)

    def _times(self, other: object, power: int) -> Quantity:
        if isinstance(other, (int, float)) and not isinstance(other, bool):
            if not 0 < other < math.inf:
                raise PageError(f"{self.formula} 只能乘除正数，这里是 {other}")
            factor = float(other) ** power
            sign = "*" if power == 1 else "/"
            form = self.form * Form(exactly(factor)) if isinstance(self.form, Form) else self.form
            formula, note = f"{self.formula} {sign} {other}", f"{self.described} {sign} {other}"
            return replace(self, value=self.value * factor, form=form, formula=formula, note=note)
        if not isinstance(other, Quantity):
            raise PageError(f"{self.formula} 不能和 {type(other).__name__} 相乘除")
        if power == 1 and "1" not in (self.unit, other.unit):
            raise PageError(f"{self.formula} 和 {other.formula} 相乘没有意义")
        return combine(self, other, power)

    @property
    def may_be_negative(self) -> bool:
        """Whether it is a difference, or a multiple of one."""
        return isinstance(self.form, Form) and self.form.minus is not None

    @property
    def described(self) -> str:
        """Its formula and, unless that is a plain number, its value."""
        if self.basis is None:
            return self.formula
        return f"{self.formula}（{self.text() if self.value > 0 else '不是正数'}）"

    def text(self) -> str:
        """As it stands on a page. Raises `PageError` for a difference that came out negative: no time is."""
        if self.value <= 0 and self.may_be_negative:
            raise PageError(f"{self.formula} 不是正数，不能印出来。先用 claim 判断它大于什么，再在那一支里写它")
        return format_value(self.value, self.unit, self.significant)


def check_comparable(a: Quantity, b: Quantity, across: tuple[str, ...] = ()) -> Basis | None:
    """The basis two quantities share. Raises `PageError` naming the first thing they differ in."""
    if a.basis is None or b.basis is None:
        return a.basis or b.basis
    if a.basis.machine != b.basis.machine:
        raise PageError(f"{a.formula} 和 {b.formula} 来自两台机器（{a.basis.machine}、{b.basis.machine}），不能放在一起算")
    for axis, name in AXES.items():
        one, two = getattr(a.basis, axis), getattr(b.basis, axis)
        if one is not None and two is not None and one != two and axis not in across:
            raise PageError(
                f'{a.formula} 和 {b.formula} 的{name}不同（{one}、{two}）。确实要比，就写 ratio(a, b, across="{axis}")'
            )
    merged = {axis: getattr(a.basis, axis) if getattr(a.basis, axis) == getattr(b.basis, axis) else None for axis in AXES}
    same_experiment = (
        a.basis.experiment if a.basis.experiment == b.basis.experiment else f"{a.basis.experiment}+{b.basis.experiment}"
    )
    return Basis(a.basis.machine, same_experiment, **merged)


def combine(a: Quantity, b: Quantity, power: int, across: tuple[str, ...] = ()) -> Quantity:
    """a·b (power 1) or a/b (power −1)."""
    basis = check_comparable(a, b, across)
    if power == -1 and b.unit not in (a.unit, "1"):
        raise PageError(f"{a.formula} 的单位是 {a.unit}，{b.formula} 的是 {b.unit}，不能相除")
    for q, divides in ((b, power == -1), (a, False)):
        if q.value <= 0 and (divides or not q.may_be_negative):
            raise PageError(f"{q.formula} 不是正数，不能拿来相乘除")
    unit: Unit = a.unit if b.unit == "1" else ("1" if power == -1 else b.unit)
    margins = [m for m in (a.margin, b.margin) if m is not None]
    sign = "/" if power == -1 else "*"
    right = f"({b.formula})" if " " in b.formula else b.formula
    return Quantity(
        value=a.value / b.value if power == -1 else a.value * b.value,
        unit=unit,
        formula=f"{a.formula} {sign} {right}",
        basis=basis,
        form=_product(a.form, b.form, power),
        margin=max(margins, default=None),
        significant=2 if unit == "1" else 3,
        note=f"{a.described} {sign} {b.described}",
        taken=_taken(a, b),
        anchor=a.anchor,
        across=across,
        least_of=a.least_of | b.least_of,
    )


def _product(a: Form | str, b: Form | str, power: int) -> Form | str:
    if isinstance(a, str) or isinstance(b, str):
        return a if isinstance(a, str) else b
    if power == 1:
        return a * b
    return DIVIDED_BY_A_DIFFERENCE if b.minus else a.over(b.plus)


def _taken(*operands: Quantity) -> str:
    """Where and when the operands were measured, each record named once."""
    return "；".join(dict.fromkeys(q.taken for q in operands if q.taken))


def ratio(a: Quantity, b: Quantity, across: str | None = None) -> Quantity:
    """a/b; `across` permits the one named axis to differ."""
    return combine(a, b, -1, _axes(across))


def _axes(across: str | None) -> tuple[str, ...]:
    if across is not None and across not in AXES:
        raise PageError(f"across 只能是 {'、'.join(AXES)}，这里是 {across}")
    return () if across is None else (across,)


def total(*parts: Quantity, across: str | None = None) -> Quantity:
    """The sum of quantities of one unit on one machine; `across` permits the one named axis to differ."""
    if len(parts) < 2:
        raise PageError("total() 至少要两个量")
    return _linear([(1, part) for part in parts], _axes(across))


def difference(a: Quantity, b: Quantity, across: str | None = None) -> Quantity:
    """The first less the second; `across` permits the one named axis to differ.

    It may come out negative: a claim can ask about it all the same. Only what is printed has to be positive.
    """
    return _linear([(1, a), (-1, b)], _axes(across))


def _linear(terms: list[tuple[int, Quantity]], across: tuple[str, ...]) -> Quantity:
    """Σ ± q. A printed figure's margin is that of what is compared in the end: sums on both sides."""
    first = terms[0][1]
    basis, form = first.basis, first.form
    for sign, q in terms[1:]:
        if q.unit != first.unit:
            raise PageError(f"{first.formula} 的单位是 {first.unit}，{q.formula} 的是 {q.unit}，不能相加减")
        basis = check_comparable(replace(first, basis=basis), q, across)
        if isinstance(form, Form):
            form = q.form if isinstance(q.form, str) else form + q.form if sign > 0 else form - q.form
    signed = [("-" if sign < 0 else "+", q) for sign, q in terms]
    formula = " ".join(f"{sign} {q.formula}" for sign, q in signed).removeprefix("+ ")
    return Quantity(
        value=sum(sign * q.value for sign, q in terms),
        unit=first.unit,
        formula=formula,
        basis=basis,
        form=form,
        margin=max((q.margin for _, q in terms if q.margin is not None), default=None),
        note=" ".join(f"{sign} {q.described}" for sign, q in signed).removeprefix("+ "),
        taken=_taken(*(q for _, q in terms)),
        anchor=first.anchor,
        across=across,
        least_of=frozenset().union(*(q.least_of for _, q in terms)),
    )


def constant(text: str) -> Quantity:
    """`q("1 s")`: a fixed threshold to compare with. Raises `PageError` for a unit that isn't one."""
    number, _, unit = text.partition(" ")
    try:
        value = Decimal(number)
    except ArithmeticError:
        raise PageError(f'q("{text}")：{number} 不是十进制数。写成 q("1 s") 这样') from None
    if unit and unit not in TIME_UNITS:
        raise PageError(f'q("{text}")：不认识的单位 {unit}。能用 {"、".join(TIME_UNITS)}')
    if not value.is_finite() or value <= 0:
        raise PageError(f"和 {text} 比较没有意义：时间和比值都是正数")
    size = float(value * TIME_UNITS.get(unit, Decimal(1)))
    return Quantity(size, "s" if unit else "1", text, form=Form(exactly(size)))


def _rounded(value: float, digits: int) -> Decimal:
    """`value` at `digits` significant digits, exactly as decimal rounding gives it."""
    exact = Decimal(repr(value))
    if exact == 0:
        return Decimal(0)
    return exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits + 1), ROUND_HALF_EVEN, ANY_FLOAT)


def _plain(number: Decimal, digits: int) -> str:
    """A rounded number without an exponent; zeros after the point are kept up to `digits` significant ones."""
    places = max(0, digits - 1 - number.adjusted()) if number else 0
    return f"{number:.{places}f}"


def format_value(value: float, unit: Unit, digits: int = 3) -> str:
    """A value in what suits its unit."""
    if unit == "s":
        return format_time(value, digits)
    return format_bytes(value, digits) if unit == "byte" else format_number(value, digits)


def format_number(value: float, digits: int) -> str:
    """A ratio or count: `digits` significant digits; a ratio keeps three before the point, a whole number all."""
    before = len(str(int(abs(value))))
    rounded = _rounded(value, max(digits, before if float(value).is_integer() else min(before, 3)))
    return _plain(rounded, digits)


def format_time(seconds: float, digits: int = 3) -> str:
    """Seconds in the unit that suits them after rounding: 999.96 µs is 1.00 ms."""
    unit = time_unit(seconds, digits)
    return f"{unit.show(seconds, digits)} {unit.name}"


@dataclass(frozen=True)
class TimeUnit:
    """One unit for a whole column."""

    name: str
    exponent: int

    def show(self, seconds: float, digits: int) -> str:
        """`seconds` in this unit at `digits` significant digits, without the unit."""
        return _plain(_rounded(seconds, digits).scaleb(-self.exponent), digits)


def time_unit(seconds: float, digits: int = 3) -> TimeUnit:
    """The unit that suits `seconds` at `digits` significant digits."""
    rounded = _rounded(seconds, digits)
    return next(TimeUnit(unit, e) for unit, e in PRINTED_UNITS if rounded.adjusted() >= e or unit == "ns")


def format_scientific(value: float, digits: int) -> str:
    """`value` at `digits` significant digits, with a power of ten where zeros would have to be counted: −7.15 × 10⁻⁹."""
    if value == 0 or 1e-3 <= abs(value) < 1e6:
        return format_number(value, digits).replace("-", "−")
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    raised = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{mantissa} × 10{raised}".replace("-", "−")


def format_bytes(value: float, digits: int = 3) -> str:
    """Bytes in the binary unit that suits them after rounding: 1023.9 KiB is 1.00 MiB."""
    for unit, power in BYTE_UNITS:
        if value >= 2**power - 2 ** (power - 11):  # from here on the next smaller unit would be rounded to 1024
            return f"{format_number(value / 2**power, digits)} {unit}"
    return f"{value:.0f} B"
