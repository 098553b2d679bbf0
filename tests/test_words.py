"""Words for comparisons: each stands only where a claim carries it."""

import pytest

from measure.quantity import Basis, PageError, Quantity
from measure.stats import Form, Runs, State, level
from measure.words import about, almost_all, faster, find, mostly, share, times


def series(value: float, name: str) -> Quantity:
    medians = tuple(value * x for x in (0.999, 1.0, 1.0, 1.0, 1.001))
    return Quantity(value, "s", name, basis=Basis("box", "x"), form=Form(level(Runs(name, medians))))


def number(value: float) -> Quantity:
    return Quantity(value, "1", "a / b", significant=2)


def test_how_numbers_are_written() -> None:
    """27 times as slow; 1 − 0.7 = 30 % faster; 0.83 of the whole."""
    assert times(number(27.31)) == "27 倍"
    assert faster(number(0.7)) == "快 30 %"
    assert share(number(0.831)) == "83 %"
    with pytest.raises(PageError, match="并不快"):
        faster(number(1.0))


@pytest.mark.parametrize(
    ("part", "most", "all_of_it"),
    [(0.70, "fails", "fails"), (0.90, "holds", "fails"), (0.99, "holds", "holds"), (0.80, "noise", "fails")],
)
def test_most_and_almost_all(part: float, most: State, all_of_it: State) -> None:
    """80 % and 95 %; what lies at the limit is noise."""
    assert mostly(series(part, "part"), series(1.0, "whole")).state == most
    assert almost_all(series(part, "part"), series(1.0, "whole")).state == all_of_it


@pytest.mark.parametrize(("value", "state"), [(1.05, "holds"), (0.95, "holds"), (1.2, "fails"), (0.8, "fails"), (1.1, "noise")])
def test_about_is_ten_per_cent_either_way(value: float, state: State) -> None:
    assert about(series(value, "a"), series(1.0, "b")).state == state


@pytest.mark.parametrize(
    "source",
    [
        "时间绝大部分在 SVD 上。",
        "[% claim a > b %]绝大部分在 SVD 上。[% endclaim %]",
        "[% claim mostly(a, b) %]好。[% elif a > b %]绝大部分在 SVD 上。[% endclaim %]",
        "[% claim mostly(a, b) %]好。[% noise %]绝大部分在 SVD 上。[% endclaim %]",
        "[% claim not mostly(a, b) %]绝大部分在 SVD 上。[% endclaim %]",
        "[% claim mostly(a, b) %]几乎全部在 SVD 上。[% endclaim %]",
        "几乎所有的时间都在等。",
        "大约 [= a.typical =] 返回。",
        "约 20 步。",
        "约三十个。",
        "[% claim mostly(a, b) %]好。[% endclaim %]绝大部分在别处。",
        "[% inferred %]绝大多数时间在等。[% endinferred %]",
    ],
)
def test_a_word_that_no_claim_carries_is_found(source: str) -> None:
    assert [typed.line for typed, _ in find("# 题\n\n" + source)] == [3]


@pytest.mark.parametrize(
    "source",
    [
        "[% claim mostly(a, b) %]绝大部分在 SVD 上。[% endclaim %]",
        "[% claim a > b %]好。[% elif c > d and mostly(a, b) %]绝大部分在 SVD 上。[% noise %]不知道。[% endclaim %]",
        "[% claim almost_all(a, b) %]几乎全部在 SVD 上。[% endclaim %]",
        '[% claim about(a, q("1 s")) %]约 [= a =]。[% endclaim %]',
        "约定写在前面。",
        "节约时间的约束",
        "`绝大部分` 是一个词",
        "绝大部分读者不用看 [## 手写数字：说的不是测量 ##]",
    ],
)
def test_what_a_claim_carries_or_nobody_measured_is_left_alone(source: str) -> None:
    assert list(find(source)) == []
