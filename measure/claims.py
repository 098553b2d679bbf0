"""Verdicts about quantities: holds, fails, or noise. They have no truth value of their own.

Logic is Kleene's (strong three-valued): noise stays noise unless the other side settles the matter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, expm1
from operator import ge, gt, le, lt

from measure import stats
from measure.quantity import PageError, Quantity, check_comparable, constant, total
from measure.record import Param, Statistic
from measure.stats import Form, State
from measure.view import FactView, Family, SeriesView

WORDS: dict[State, str] = {"holds": "成立", "fails": "不成立", "noise": "在噪声之内"}
EXACT: dict[str, Callable[[float, float], bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge}
FLIPPED: dict[State, State] = {"holds": "fails", "fails": "holds", "noise": "noise"}


@dataclass(frozen=True)
class Verdict:
    """What the data say of one statement, and by what values."""

    state: State
    evidence: str

    def __bool__(self) -> bool:
        raise PageError("判断有三种结果，不能当真假用：写成 [% claim … %]，不要写 [% if … %]")


def compare(left: object, operator: str, right: object) -> Verdict:
    """`left > right` and its kin, for two quantities or a quantity and a number.

    Raises `PageError` where the operands cannot be compared, or rest on a statistic that gives no verdict.
    """
    if isinstance(left, Verdict) or isinstance(right, Verdict):
        raise PageError("两个判断之间用 and、or，不能用比较号")
    if isinstance(left, FactView) or isinstance(right, FactView):
        return _compare_facts(left, operator, right)
    if operator in ("<", "<="):
        return compare(right, {"<": ">", "<=": ">="}[operator], left)
    if operator not in (">", ">="):
        raise PageError(f"量和量之间不能用 {operator}。相等要写 same(a, b, within=0.05)")
    a, b = _comparable(left), _comparable(right)
    e = _estimate(a, b)
    state = stats.above(e)
    return Verdict(state, f"{_show(a)} > {_show(b)}：{_interval(e, a, b)}，{WORDS[state]}")


def same(a: object, b: object, within: float = 0.05) -> Verdict:
    """Are two quantities equal up to a factor 1 + `within`? Shown by an interval that lies inside, not by failing to differ."""
    if not expm1(stats.FLOOR) <= within < 1:
        raise PageError(f"within 是 {expm1(stats.FLOOR):.2f} 到 1 之间的数，这里是 {within}；更小的差别一律算噪声")
    one, two = _comparable(a), _comparable(b)
    state = stats.near(_estimate(one, two, 1 + within), _estimate(two, one, 1 + within))
    shown = _interval(_estimate(one, two), one, two)
    return Verdict(state, f"{_show(one)} 与 {_show(two)} 相差不到 {within:.0%}：{shown}，{WORDS[state]}")


def ordered(*items: object) -> Verdict:
    """Is each smaller than the next?"""
    if len(items) < 2:
        raise PageError("ordered() 至少要两个量")
    return both([compare(a, "<", b) for a, b in pairwise(items)])


def parts(whole: object, *pieces: object, within: float = 0.1) -> Verdict:
    """Do the pieces add up to the whole, up to a factor 1 + `within`?"""
    if len(pieces) < 2:
        raise PageError("parts() 要一个总量和至少两个部分")
    return same(total(*map(_comparable, pieces)), whole, within)


def flips(a: SeriesView, b: SeriesView, one: Statistic, other: Statistic) -> Verdict:
    """Is `a` the smaller by the statistic `one` and yet the larger by `other`? Each by its value in every run."""
    return both([compare(a.by_run(one), "<", b.by_run(one)), compare(a.by_run(other), ">", b.by_run(other))])


def all_over(param: str, left: Family | Quantity, operator: str, right: Family | Quantity) -> Verdict:
    """Does `left operator right` hold at every value of `param`? Families go by `.typical`; a quantity is the same everywhere."""
    families = [f for f in (left, right) if isinstance(f, Family)]
    if not families or any(f.param != param for f in families):
        raise PageError(f'all_over("{param}", …) 要至少一边是 m.over("{param}", …)')
    values = list(families[0].members)
    if any(list(f.members) != values for f in families):
        raise PageError(f"all_over 两边的 {param} 不一样：{'；'.join('、'.join(map(str, f.members)) for f in families)}")

    def at(side: Family | Quantity, value: Param) -> Quantity:
        return side.members[value].typical if isinstance(side, Family) else side

    return both([compare(at(left, value), operator, at(right, value)) for value in values])


def identical(*facts: object) -> Verdict:
    """Are facts equal to the last bit? Where all have IEEE bits, those decide."""
    if len(facts) < 2:
        raise PageError("identical() 至少要两个事实")
    views = [_fact(f) for f in facts]
    bits = [v.fact.bits for v in views]
    values: list[object] = list(bits) if all(bits) else [v.fact.value for v in views]
    shown = "、".join(f"{v.formula} = {value}" for v, value in zip(views, values, strict=True))
    state: State = "holds" if all(value == values[0] for value in values[1:]) else "fails"
    return Verdict(state, f"{shown}：{'全等' if state == 'holds' else '不全等'}")


def within_abs(a: object, b: object, tolerance: float) -> Verdict:
    """Do two facts that are numbers (or a fact and a number) differ by at most `tolerance`?"""
    if not isinstance(a, FactView) and not isinstance(b, FactView):
        raise PageError("within_abs 至少一边是 m.fact(…)；量和量之间用 same")
    gap = abs(_number(a) - _number(b))
    state: State = "holds" if gap <= tolerance else "fails"
    return Verdict(state, f"{_name(a)} 与 {_name(b)} 相差 {gap:.2g}，限度 {tolerance:.2g}，{WORDS[state]}")


def _fact(value: object) -> FactView:
    if not isinstance(value, FactView):
        raise PageError(f"这里要事实（m.fact(…)），不是 {type(value).__name__}")
    return value


def _number(value: object) -> float:
    plain = value.fact.value if isinstance(value, FactView) else value
    if isinstance(plain, bool) or not isinstance(plain, (int, float)):
        raise PageError(f"{_name(value)} 不是数，不能比大小")
    return plain


def _name(value: object) -> str:
    return f"{value.formula}（{value.fact.value}）" if isinstance(value, FactView) else str(value)


def _compare_facts(left: object, operator: str, right: object) -> Verdict:
    """Facts are exact: no noise."""
    if operator in ("==", "!="):
        one, two = (v.fact.value if isinstance(v, FactView) else v for v in (left, right))
        holds = (one == two) == (operator == "==")
    elif operator in EXACT:
        holds = EXACT[operator](_number(left), _number(right))
    else:
        raise PageError(f"事实之间不能用 {operator}")
    state: State = "holds" if holds else "fails"
    return Verdict(state, f"{_name(left)} {operator} {_name(right)}，{WORDS[state]}")


def both(parts: Sequence[object]) -> Verdict:
    """Kleene's `and`."""
    return _fold(parts, "fails", "且")


def either(parts: Sequence[object]) -> Verdict:
    """Kleene's `or`."""
    return _fold(parts, "holds", "或")


def negate(part: object) -> Verdict:
    """Kleene's `not`."""
    verdict = as_verdict(part)
    return Verdict(FLIPPED[verdict.state], f"并非（{verdict.evidence}）")


def as_verdict(value: object) -> Verdict:
    """A plain truth (of `m.has`, or of two facts compared) is a verdict without noise."""
    if isinstance(value, Verdict):
        return value
    if isinstance(value, bool):
        return Verdict("holds" if value else "fails", "记录里有" if value else "记录里没有")
    raise PageError(f"claim 里要写判断（比较、same 等），这里是 {type(value).__name__}")


def _fold(parts: Sequence[object], decisive: State, word: str) -> Verdict:
    verdicts = [as_verdict(part) for part in parts]
    states = {v.state for v in verdicts}
    state = decisive if decisive in states else "noise" if "noise" in states else FLIPPED[decisive]
    return Verdict(state, f" {word} ".join(v.evidence for v in verdicts))


def _comparable(value: object) -> Quantity:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return constant(str(value))
    if not isinstance(value, Quantity):
        raise PageError(f"只有量能这样比较，这里是 {type(value).__name__}")
    _form(value)
    return value


def _form(q: Quantity) -> Form:
    if isinstance(q.form, str):
        raise PageError(f"{q.formula} 不能用来下结论：{q.form}")
    return q.form


def _estimate(a: Quantity, b: Quantity, factor: float = 1.0) -> stats.LogEstimate:
    """Of factor · a / b."""
    if a.unit != b.unit:
        raise PageError(f"{a.formula} 的单位是 {a.unit}，{b.formula} 的是 {b.unit}，不能比较")
    check_comparable(a, b, (*a.across, *b.across))
    if len(a.least_of | b.least_of) > 1:
        raise PageError(f"{a.formula} 和 {b.formula} 每次运行的样本数不同，最小值不能相比")
    margins = [m for m in (a.margin, b.margin) if m is not None]
    scaled = _form(a) * Form(stats.exactly(factor))
    return stats.estimate(scaled.against(_form(b)), max(margins, default=None))


def _show(q: Quantity) -> str:
    if q.value <= 0:
        return f"{q.formula}（不是正数）"
    return q.text() if q.formula == q.text() or q.basis is None else f"{q.formula}（{q.text()}）"


def _interval(e: stats.LogEstimate, a: Quantity, b: Quantity) -> str:
    ratio = "减去的移到另一边，比值" if a.may_be_negative or b.may_be_negative else "比值"
    if a.margin or b.margin:
        return f"{ratio} {exp(e.centre):.3g}，没有样本，差别超过 {expm1(e.margin):.0%} 才算数"
    return f"{ratio} {exp(e.centre):.3g}，区间 {exp(e.centre - e.halfwidth):.3g} 到 {exp(e.centre + e.halfwidth):.3g}"
