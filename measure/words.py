"""The words that say how measured things compare, each with one definition: how its number is written, or what a claim has to show.

慢 N 倍 and 是…的 N 倍 both mean a/b = N, so 慢一倍 could mean two things and is refused (`handtyped`). 快 p % means 1 − a/b; one 成 is ten
per cent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from measure import claims, handtyped
from measure.claims import Verdict
from measure.handtyped import Typed
from measure.quantity import PageError, Quantity, ratio

MOSTLY = 0.8
"""绝大部分: at least this part of the whole."""
ALMOST_ALL = 0.95
"""几乎全部: at least this."""
ABOUT = 0.1
"""约: up to this factor above 1, either way."""

WORDS = {
    "绝大部分": (re.compile("绝大(?:部分|多数)"), "mostly", "mostly(部分, 全部)"),
    "几乎全部": (re.compile("几乎(?:全部|全是|全都|所有)"), "almost_all", "almost_all(部分, 全部)"),
    "约": (
        re.compile(r"大?约(?=\s*(?:\x00|[0-9０-９一二两三四五六七八九十百千万]))"),
        "about",
        'about(a, b)，比如 about(a, q("1 s"))',
    ),
}
"""How each is recognised, the macro whose claim carries it, and how that is called."""

_CLAIM = re.compile(r"\[%-?\s*claim\s(.*?)\[%-?\s*endclaim", re.DOTALL)
_ARM = re.compile(r"(?:\A|\[%-?\s*elif\s)(.*?)%\](.*?)(?=\[%-?\s*(?:elif|noise)\b|\Z)", re.DOTALL)


def times(q: Quantity) -> str:
    """A ratio, as N 倍."""
    return f"{q.text()} 倍"


def faster(q: Quantity) -> str:
    """A ratio below 1, as 快 p %. Raises `PageError` for what is no faster."""
    if q.value >= 1:
        raise PageError(f"{q.formula} 的比值是 {q.text()}，并不快")
    return f"快 {100 * (1 - q.value):.0f} %"


def share(q: Quantity) -> str:
    """A ratio, in per cent."""
    return f"{100 * q.value:.0f} %"


def mostly(part: Quantity, whole: Quantity) -> Verdict:
    """Is the part 绝大部分 of the whole?"""
    return claims.compare(ratio(part, whole), ">", MOSTLY)


def almost_all(part: Quantity, whole: Quantity) -> Verdict:
    """Is the part 几乎全部 of the whole?"""
    return claims.compare(ratio(part, whole), ">", ALMOST_ALL)


def about(a: Quantity, b: Quantity) -> Verdict:
    """Is a 约 b?"""
    return claims.same(a, b, ABOUT)


def find(source: str) -> Iterator[tuple[Typed, str]]:
    """Defined words of a page that no claim carries, and what to tell the author. Lines count from 1."""
    prose, waived = handtyped.prose(source), handtyped.waived(source)
    arms = list(_arms(source))
    for word, (pattern, macro, call) in WORDS.items():
        for match in pattern.finditer(prose):
            line = source.count("\n", 0, match.start()) + 1
            condition = next((text for start, end, text in arms if start <= match.start() < end), None)
            if line not in waived and (condition is None or not re.search(rf"(?<!\bnot )\b{macro}\(", condition)):
                yield Typed(line, match[0]), f"「{word}」只能写在 claim 里，它那一支的条件是 {call}"


def _arms(source: str) -> Iterator[tuple[int, int, str]]:
    """Where each sentence of each claim begins and ends, and its condition."""
    for claim in _CLAIM.finditer(source):
        for arm in _ARM.finditer(claim[1]):
            yield claim.start(1) + arm.start(2), claim.start(1) + arm.end(2), arm[1]
