"""The evidence of a page's sentences: counted, numbered, and reachable from its mark without a script."""

import re
from html import unescape

from measure import evidence
from measure.evidence import Claim

CLAIMS = [
    Claim(3, 0, "holds", "a > b：比值 2，成立 且 b > c：比值 3，成立", "甲比乙慢，<也>比丙慢。"),
    Claim(5, 0, "holds", "m.has", ""),  # its branch is empty: nobody reads it
    Claim(9, 1, "noise", "a > d：比值 1，在噪声之内", "分不出快慢。"),
]


def test_only_sentences_that_are_shown_count() -> None:
    assert [number for number, _ in evidence.shown(CLAIMS)] == [1, 3]
    summary = re.sub(r"<[^>]*>", "", evidence.summary(CLAIMS))
    assert summary == "这一页有 2 条结论，每一条都由记录核对过，成立才印出来；其中 1 条说的是差别在噪声之内。"
    assert "噪声" not in evidence.summary(CLAIMS[:2])


def test_a_page_without_claims_says_nothing_of_them() -> None:
    assert evidence.summary([]) == evidence.listing([]) == evidence.summary(CLAIMS[1:2]) == ""


def test_each_mark_opens_its_own_evidence() -> None:
    html = evidence.listing(CLAIMS)
    for number, claim in evidence.shown(CLAIMS):
        (target,) = re.findall(r'popovertarget="([^"]*)"', evidence.mark(claim, number))
        (item,) = re.findall(rf'<li id="{target}" value="{number}"[^>]* popover>.*?</li>', html)
        assert f'href="#claim-{number}"' in item
        assert f'id="claim-{number}"' in evidence.mark(claim, number)
        assert claim.sentence in unescape(item)
    assert re.findall(r"<strong>(.*?)</strong>", html) == ["成立", "差别在噪声之内"]


def test_each_comparison_stands_apart() -> None:
    (first, _) = re.findall(r"<li.*?</li>", evidence.listing(CLAIMS))
    assert [unescape(part) for part in re.findall(r"<span>(.*?)</span>", first)] == [
        "a > b：比值 2，成立",
        "且 b > c：比值 3，成立",
    ]
    assert "<也>" not in first


def test_a_sentence_is_quoted_without_its_marks() -> None:
    html = evidence.listing([Claim(1, 0, "holds", "a > b", "补上 `rayon` **快**，见[那一页](b.md#c)。")])
    assert ">补上 rayon 快，见那一页。</a>" in html
