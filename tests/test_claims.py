"""Three-valued verdicts, and what has none."""

from itertools import product
from typing import get_args

import pytest

from measure.claims import Verdict, as_verdict, both, compare, either, negate, same
from measure.quantity import Basis, PageError, Quantity, constant, ratio
from measure.stats import Runs, State

STATES: tuple[State, ...] = get_args(State)
STEADY = (0.99, 1.0, 1.0, 1.0, 1.01)
"""Run medians with a deviation of 0.7 %: two such series are told apart from about 2 % on."""


def series(centre: float, name: str = "a", *, runs: tuple[float, ...] = STEADY, machine: str = "box") -> Quantity:
    medians = tuple(centre * r for r in runs)
    return Quantity(centre, "s", name, basis=Basis(machine, "cpu-matmul"), factors={Runs(name, medians): 1.0})


def printed(value: float, name: str = "a") -> Quantity:
    return Quantity(value, "s", name, basis=Basis("m2", "cpu-matmul"), factors={Runs(name, (value,)): 1.0}, margin=1.05)


def test_a_verdict_has_no_truth_value() -> None:
    with pytest.raises(PageError, match="claim"):
        bool(Verdict("holds", ""))


@pytest.mark.parametrize(
    ("left", "operator", "right", "state"),
    [
        (2.0, ">", 1.0, "holds"),
        (2.0, "<", 1.0, "fails"),
        (1.0, "<", 2.0, "holds"),
        (2.0, ">=", 1.0, "holds"),
        (1.0, "<=", 2.0, "holds"),
        (1.01, ">", 1.0, "noise"),  # below the floor of 2 %
        (1.01, "<", 1.0, "noise"),
        (1.0, ">", 1.0, "noise"),
    ],
)
def test_comparisons_of_series(left: float, operator: str, right: float, state: State) -> None:
    assert compare(series(left), operator, series(right, "b")).state == state


def test_the_spread_of_runs_decides() -> None:
    wild = (0.5, 1.0, 1.0, 1.0, 1.6)
    assert compare(series(1.3), ">", series(1.0, "b")).state == "holds"
    assert compare(series(1.3, runs=wild), ">", series(1.0, "b", runs=wild)).state == "noise"


def test_factors_times_and_ratios_can_be_compared_with_numbers() -> None:
    slow, fast = series(27.0, "slow"), series(1.0, "fast")
    assert compare(slow, ">", 20 * fast).state == "holds"
    assert compare(slow, ">", 40 * fast).state == "fails"
    assert compare(slow / fast, ">", 20).state == "holds"
    assert compare(20, "<", slow / fast).state == "holds"
    assert compare(slow, ">", constant("1 s")).state == "holds"
    assert compare(slow / fast, ">", series(2.0, "c") / series(1.0, "d")).state == "holds"


def test_constants_among_themselves_are_exact() -> None:
    assert compare(constant("1001 ms"), ">", constant("1 s")).state == "holds"
    assert compare(constant("1000 ms"), ">", constant("1 s")).state == "noise"


def test_printed_figures_need_five_per_cent_also_when_they_are_equal() -> None:
    assert compare(printed(1.06), ">", printed(1.0, "b")).state == "holds"
    assert compare(printed(1.04), ">", printed(1.0, "b")).state == "noise"
    # The same three digits twice are two measurements, not one that cancels itself.
    assert compare(printed(1.0), ">", 0.99 * printed(1.0, "b")).state == "noise"
    assert "没有样本" in compare(printed(1.06), ">", printed(1.0, "b")).evidence


@pytest.mark.parametrize(
    ("b", "within", "state"),
    [(1.0, 0.05, "holds"), (1.03, 0.15, "holds"), (1.05, 0.05, "noise"), (1.5, 0.05, "fails"), (1 / 1.5, 0.05, "fails")],
)
def test_same_is_equivalence(b: float, within: float, state: State) -> None:
    assert same(series(1.0), series(b, "b"), within).state == state


def test_same_is_not_proven_by_a_lack_of_runs() -> None:
    assert same(series(1.0, runs=(1.0,)), series(1.0, "b", runs=(1.0,)), 0.05).state == "noise"


@pytest.mark.parametrize("within", [0, -0.1, 1, float("nan")])
def test_same_needs_a_sensible_tolerance(within: float) -> None:
    with pytest.raises(PageError, match="within"):
        same(series(1.0), series(1.0), within)


def test_kleenes_tables() -> None:
    """With fails < noise < holds, `and` is the least, `or` the greatest, `not` the mirror image."""
    order: tuple[State, ...] = ("fails", "noise", "holds")
    assert set(order) == set(STATES)
    for a, b in product(order, repeat=2):
        pair = (Verdict(a, "甲"), Verdict(b, "乙"))
        assert both(pair).state == min(a, b, key=order.index)
        assert either(pair).state == max(a, b, key=order.index)
    assert [negate(Verdict(s, "")).state for s in order] == ["holds", "noise", "fails"]
    assert both([Verdict("holds", "甲"), Verdict("noise", "乙")]).evidence == "甲 且 乙"


def test_plain_truth_is_a_verdict_and_nothing_else_is() -> None:
    assert (as_verdict(True).state, as_verdict(False).state) == ("holds", "fails")
    for value in (1, "holds", None, series(1.0)):
        with pytest.raises(PageError, match="判断"):
            as_verdict(value)


@pytest.mark.parametrize("other", ["1", None, True, [1.0], 0, -2, float("nan"), float("inf")])
def test_c27_only_positive_quantities_are_compared(other: object) -> None:
    with pytest.raises(PageError):
        compare(series(1.0), ">", other)
    with pytest.raises(PageError):
        same(other, series(1.0))


def test_c27_a_run_of_zero_is_an_error_and_not_a_crash() -> None:
    with pytest.raises(PageError, match="不是正数"):
        compare(series(1.0, runs=(0.0, 1.0, 1.0)), ">", series(1.0, "b"))


def test_verdicts_are_joined_by_words_and_equality_is_spelled_out() -> None:
    verdict = compare(series(2.0), ">", series(1.0, "b"))
    with pytest.raises(PageError, match="and、or"):
        compare(verdict, ">", series(1.0))
    for operator in ("==", "!=", "in"):
        with pytest.raises(PageError, match="same"):
            compare(series(1.0), operator, series(1.0))


def test_units_are_not_mixed() -> None:
    with pytest.raises(PageError, match="单位"):
        compare(series(1.0), ">", 4)


def test_a_statistic_without_spread_between_processes_gives_no_verdict() -> None:
    least = Quantity(1.0, "s", "min(a)", basis=Basis("box", "cpu-matmul"))
    with pytest.raises(PageError, match="typical"):
        compare(least, ">", series(1.0))


def test_c45_no_verdict_across_machines() -> None:
    with pytest.raises(PageError, match="两台机器"):
        compare(series(1.0), ">", series(2.0, "b", machine="laptop"))


def test_a_permitted_axis_stays_permitted() -> None:
    def scoped(value: float, scope: str) -> Quantity:
        return Quantity(
            value, "s", scope, basis=Basis("box", "e", scope=scope), factors={Runs(scope, tuple(value * r for r in STEADY)): 1.0}
        )

    launch, result = scoped(0.001, "call"), scoped(3.0, "ready")
    with pytest.raises(PageError, match="计时范围"):
        compare(result, ">", launch)
    assert compare(ratio(result, launch, across="scope"), ">", 2000).state == "holds"


def test_evidence_names_both_sides_and_their_values() -> None:
    evidence = compare(series(0.054, "tmpl"), ">", 4 * series(0.002, "torch")).evidence
    assert evidence.startswith("tmpl（54.0 ms） > torch * 4（8.00 ms）：比值 6.75，区间 ")
    assert evidence.endswith("，成立")
