"""Three-valued verdicts, and what has none."""

from itertools import product
from typing import get_args

import pytest

from measure.claims import (
    Verdict,
    all_over,
    as_verdict,
    both,
    compare,
    either,
    flips,
    identical,
    negate,
    ordered,
    parts,
    same,
    within_abs,
)
from measure.quantity import Basis, PageError, Quantity, constant, difference, ratio, total
from measure.record import Fact, Param, Statistic
from measure.stats import Form, Runs, State, level
from measure.view import FactView, Family, RecordView, SeriesView
from tests.records import measured, runs

STATES: tuple[State, ...] = get_args(State)
STEADY = (0.99, 1.0, 1.0, 1.0, 1.01)
"""Run medians with a deviation of 0.7 %: two such series are told apart from about 2 % on."""


def series(centre: float, name: str = "a", *, runs: tuple[float, ...] = STEADY, machine: str = "box") -> Quantity:
    medians = tuple(centre * r for r in runs)
    return Quantity(centre, "s", name, basis=Basis(machine, "cpu-matmul"), form=Form(level(Runs(name, medians))))


def printed(value: float, name: str = "a") -> Quantity:
    return Quantity(value, "s", name, basis=Basis("m2", "cpu-matmul"), form=Form(level(Runs(name, (value,)))), margin=1.05)


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


@pytest.mark.parametrize("within", [0, -0.1, 0.019, 1, float("nan")])
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
            value,
            "s",
            scope,
            basis=Basis("box", "e", scope=scope),
            form=Form(level(Runs(scope, tuple(value * r for r in STEADY)))),
        )

    launch, result = scoped(0.001, "call"), scoped(3.0, "ready")
    with pytest.raises(PageError, match="计时范围"):
        compare(result, ">", launch)
    assert compare(ratio(result, launch, across="scope"), ">", 2000).state == "holds"


def test_evidence_names_both_sides_and_their_values() -> None:
    evidence = compare(series(0.054, "tmpl"), ">", 4 * series(0.002, "torch")).evidence
    assert evidence.startswith("tmpl（54.0 ms） > torch * 4（8.00 ms）：比值 6.75，区间 ")
    assert evidence.endswith("，成立")


def test_sums_and_differences_of_series() -> None:
    """A call that returned after 1 and was ready after 100 waited for 99."""
    call, ready = series(1.0, "call"), series(100.0, "ready")
    wait = difference(ready, call)
    assert wait.value == pytest.approx(99.0)
    assert compare(wait, ">", 90 * call).state == "holds"
    assert compare(total(ready, call), ">", 1.005 * ready).state == "noise"  # below the floor
    assert total(ready, call).value == pytest.approx(101.0)


def test_a_difference_that_came_out_negative_is_less_than_anything() -> None:
    call, ready = series(1.0, "call"), series(100.0, "ready")
    verdict = compare(difference(call, ready), ">", constant("1 ms"))
    assert (verdict.state, "call - ready（不是正数） > 1.00 ms：减去的移到另一边，比值 0.01" in verdict.evidence) == (
        "fails",
        True,
    )
    assert compare(difference(call, ready) / ready, "<", 0.5).state == "holds"
    with pytest.raises(PageError, match="差不能做除数"):
        compare(call / difference(ready, call), "<", 0.5)


def test_a_difference_is_less_certain_than_its_terms() -> None:
    """100 − 98 against 1 is 100 against 99, which is within the floor: nothing can be said of it."""
    rest = difference(series(100.0, "whole"), series(98.0, "part"))
    assert rest.value == pytest.approx(2.0)
    assert compare(rest, ">", constant("1 s")).state == "noise"
    assert same(rest, constant("2 s"), 0.5).state == "noise"
    assert same(difference(series(100.0, "whole"), series(9.0, "part")), constant("90 s"), 0.1).state == "holds"


def test_the_margin_of_printed_figures_counts_in_a_difference() -> None:
    """100 − 90 against 5 is 100 against 95, five per cent and a bit; against 6 it is less than five."""
    assert compare(difference(printed(100.0, "a"), printed(90.0, "b")), ">", constant("6 s")).state == "noise"
    assert compare(difference(printed(100.0, "a"), printed(90.0, "b")), ">", constant("5 s")).state == "holds"
    assert compare(difference(printed(100.0, "a"), printed(10.0, "b")), ">", constant("5 s")).state == "holds"


def test_ordered_takes_every_neighbour() -> None:
    a, b, c = series(1.0, "a"), series(2.0, "b"), series(3.0, "c")
    assert ordered(a, b, c).state == "holds"
    assert ordered(a, c, b).state == "fails"
    assert ordered(a, series(1.0, "a2"), c).state == "noise"


def test_parts_add_up_or_do_not() -> None:
    """The published 32 × 5.4 ms of SVD exceeds the whole of 161 ms: such a sum has to fail."""
    whole = series(0.161, "whole")
    assert parts(whole, series(0.120, "svd"), series(0.040, "rest")).state == "holds"
    assert parts(whole, 32 * series(0.0054, "svd"), series(0.040, "rest")).state == "fails"
    with pytest.raises(PageError, match="两个部分"):
        parts(whole, series(0.120, "svd"))


@pytest.fixture
def view() -> RecordView:
    """Minimum and median disagree about who is faster: jax 10 and 17, tenferro 14.6 and 14.9, as once published."""
    jax = runs("jax", *((10.0 * f, 17.0 * f, 19.0 * f) for f in STEADY))
    tenferro = runs("tenferro", *((14.6 * f, 14.9 * f, 15.5 * f) for f in STEADY))
    slow = runs("slow", *((20.0 * f, 30.0 * f, 40.0 * f) for f in STEADY))
    return RecordView(measured(*jax, *tenferro, *slow))


def test_flips(view: RecordView) -> None:
    jax, tenferro, slow = (view.series(name, "matmul") for name in ("jax", "tenferro", "slow"))
    assert flips(jax, tenferro, "min", "median").state == "holds"
    assert flips(tenferro, jax, "median", "min").state == "holds"
    assert flips(tenferro, jax, "min", "median").state == "fails"  # it does flip, but the other way round
    assert flips(jax, slow, "min", "median").state == "fails"
    assert flips(jax, jax, "min", "median").state == "noise"


@pytest.mark.parametrize("statistic", ["min", "median"])
def test_minima_of_unequal_samples_are_refused(statistic: Statistic) -> None:
    """C6: the smallest of 200 is smaller than the smallest of 20 without being faster. Medians don't mind."""
    view = RecordView(measured(*runs("a", *[(1.0,) * 20] * 5), *runs("b", *[(1.0,) * 200] * 5)))
    a, b = view.series("a", "matmul"), view.series("b", "matmul")
    if statistic == "median":
        assert compare(a.by_run(statistic), "<", b.by_run(statistic)).state == "noise"
        return
    with pytest.raises(PageError, match="样本数不同"):
        flips(a, b, "min", "median")
    with pytest.raises(PageError, match="样本数不同"):
        compare(a.by_run("min"), "<", 2 * b.by_run("min"))


def test_all_over_holds_only_where_every_member_does(view: RecordView) -> None:
    one: dict[Param, SeriesView] = {"0.30": view.series("jax", "matmul"), "0.40": view.series("tenferro", "matmul")}
    slow: dict[Param, SeriesView] = {"0.30": view.series("slow", "matmul"), "0.40": view.series("slow", "matmul")}
    assert all_over("beta", Family("beta", one), "<", Family("beta", slow)).state == "holds"
    assert all_over("beta", Family("beta", one), ">", view.series("tenferro", "matmul").typical).state == "noise"
    with pytest.raises(PageError, match="不一样"):
        all_over("beta", Family("beta", one), "<", Family("beta", {"0.30": slow["0.30"]}))
    with pytest.raises(PageError, match="over"):
        all_over("width", Family("beta", one), "<", Family("beta", slow))


def fact(value: float | str, bits: str | None = None, view: RecordView | None = None, of: int | None = None) -> FactView:
    owner = view or RecordView(measured(*runs("a", (1.0,))))
    return FactView(Fact(name="x", value=value, bits=bits, of=of), f"fact({value})", "facts", owner)


def test_facts_are_exact() -> None:
    close = fact(0.790559063800966, "3fe94c4274329bdf"), fact(0.790559063800966, "3fe94c4274329bdc")
    assert identical(*close).state == "fails"
    assert identical(close[0], fact(0.790559063800966, "3fe94c4274329bdf")).state == "holds"
    assert within_abs(*close, 1e-12).state == "holds"
    assert within_abs(close[0], 0.790559070951263, 1e-12).state == "fails"
    assert compare(fact(10, of=10), "==", 10).state == "holds"
    assert compare(fact(9, of=10), "==", fact(9, of=10).of).state == "fails"
    assert compare(fact(9), "<", 10).state == "holds"
    with pytest.raises(PageError, match="不是数"):
        compare(fact("openblas"), "<", 10)
    with pytest.raises(PageError, match="same"):
        within_abs(series(1.0), series(2.0), 0.1)
