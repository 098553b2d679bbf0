"""What a checked sentence rests on, where a reader can open it: a mark beside the sentence, and one list at the end of the page.

The list's items are popovers that the marks open, without a script. As endnotes they also print, and the link in the page's head
shows them all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from measure.stats import State

LISTED = "claims"
"""The id of the list."""
STATES: dict[State, str] = {"holds": "成立", "fails": "不成立", "noise": "差别在噪声之内"}


@dataclass(frozen=True)
class Claim:
    """What one claim came to in one rendering."""

    line: int
    """Of the file."""
    arm: int
    """Which of its sentences is shown, counted from 0; −1 where none is."""
    state: State
    evidence: str
    sentence: str = ""


def mark(claim: Claim, number: int) -> str:
    """What stands behind a claim's sentence and opens its evidence; `number` tells the page's claims apart."""
    return (
        f'<button type="button" class="claim-mark" id="claim-{number}" data-number="{number}" popovertarget="evidence-{number}" '
        f'title="{escape(claim.evidence)}" aria-label="依据 {number}"></button>'
    )


def shown(claims: Sequence[Claim]) -> list[tuple[int, Claim]]:
    """The claims that left a sentence on the page, by their numbers."""
    return [(number, claim) for number, claim in enumerate(claims, 1) if claim.sentence]


def listing(claims: Sequence[Claim]) -> str:
    """The evidence of every sentence that is shown; empty for a page without any."""
    items = "".join(_item(number, claim) for number, claim in shown(claims))
    if not items:
        return ""
    title = '<p class="evidence-title">句子的依据</p>'
    return f'<section class="evidence" id="{LISTED}" data-search-exclude="1" aria-label="句子的依据">{title}<ol>{items}</ol></section>'


def _item(number: int, claim: Claim) -> str:
    return (
        f'<li id="evidence-{number}" value="{number}" data-claim="{claim.state}" popover>'
        f'<a class="said" href="#claim-{number}">{escape(_plain(claim.sentence))}</a>'
        f"<strong>{STATES[claim.state]}</strong>{''.join(f'<span>{escape(part)}</span>' for part in _parts(claim.evidence))}</li>"
    )


def _plain(sentence: str) -> str:
    """The words of a sentence without Markdown's marks: it is a link here, and Markdown is through."""
    return re.sub(r"`|\*\*", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", sentence))


def _parts(evidence: str) -> list[str]:
    """One comparison each, with the word that joins it to the one before."""
    return re.split(r" (?=[且或] )", evidence)


def summary(claims: Sequence[Claim]) -> str:
    """How many sentences of the page were checked, and how many of them say that nothing can be told apart."""
    found = shown(claims)
    if not found:
        return ""
    noise = sum(claim.state == "noise" for _, claim in found)
    undecided = f"；其中 {noise} 条说的是差别在噪声之内" if noise else ""
    return f'<p class="claims-count">这一页有 <a href="#{LISTED}">{len(found)} 条结论</a>，每一条都由记录核对过，成立才印出来{undecided}。</p>'
