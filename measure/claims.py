"""Verdicts about quantities: holds, fails, or noise. They have no truth value of their own.

Logic is Kleene's (strong three-valued): noise stays noise unless the other side settles the matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log

from measure import stats
from measure.quantity import PageError, Quantity, combine, constant
from measure.stats import State

WORDS: dict[State, str] = {"holds": "成立", "fails": "不成立", "noise": "在噪声之内"}
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
    if operator in ("<", "<="):
        return compare(right, {"<": ">", "<=": ">="}[operator], left)
    if operator not in (">", ">="):
        raise PageError(f"量和量之间不能用 {operator}。相等要写 same(a, b, within=0.05)")
    a, b = _comparable(left), _comparable(right)
    e = _ratio_estimate(a, b)
    state = stats.above(e)
    return Verdict(state, f"{_show(a)} > {_show(b)}：{_interval(e, a, b)}，{WORDS[state]}")


def same(a: object, b: object, within: float = 0.05) -> Verdict:
    """Are two quantities equal up to a factor 1 + `within`? Shown by an interval that lies inside, not by failing to differ."""
    if not 0 < within < 1:
        raise PageError(f"within 是 0 到 1 之间的数，这里是 {within}")
    one, two = _comparable(a), _comparable(b)
    e = _ratio_estimate(one, two)
    state = stats.near(e, within)
    return Verdict(state, f"{_show(one)} 与 {_show(two)} 相差不到 {within:.0%}：{_interval(e, one, two)}，{WORDS[state]}")


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
    if value.factors is None:
        raise PageError(f"{value.formula} 不能用来下结论：样本的最小值和单独一轮都没有跨进程的误差。用 .typical")
    if any(median <= 0 for runs in value.factors for median in runs.medians):
        raise PageError(f"{value.formula} 不能用来下结论：有一次运行的值不是正数，比值没有意义")
    return value


def _ratio_estimate(a: Quantity, b: Quantity) -> stats.LogEstimate:
    if a.unit != b.unit:
        raise PageError(f"{a.formula} 的单位是 {a.unit}，{b.formula} 的是 {b.unit}，不能比较")
    quotient = combine(a, b, -1, (*a.across, *b.across))
    assert quotient.factors is not None, "both sides are comparable"
    if not a.factors and not b.factors:
        return stats.LogEstimate(log(quotient.constant), 0.0, 0.0)
    return stats.estimate(quotient.factors, quotient.constant, quotient.margin)


def _show(q: Quantity) -> str:
    return q.text() if q.formula == q.text() or q.basis is None else f"{q.formula}（{q.text()}）"


def _interval(e: stats.LogEstimate, a: Quantity, b: Quantity) -> str:
    if a.margin or b.margin:
        return f"比值 {exp(e.centre):.3g}，没有样本，差别超过 {exp(e.margin) - 1:.0%} 才算数"
    return f"比值 {exp(e.centre):.3g}，区间 {exp(e.centre - e.halfwidth):.3g} 到 {exp(e.centre + e.halfwidth):.3g}"
