"""How often verdicts are wrong, with few trials; `measure/programs/verdicts.py` by hand with `--trials 10000` shows the limits themselves."""

import math
from dataclasses import replace

import pytest

from measure.programs.verdicts import FALSE, MISSES, Rate, rates, trials

TRIALS = 150


@pytest.mark.parametrize("spread", [0.0, 2.0])
def test_verdicts_are_wrong_no_more_often_than_chance_lets_150_trials_show(spread: float) -> None:
    """Four standard errors above the limit: a rate at the limit is found there once in 10,000 times, and the seed is fixed anyway."""
    found = list(rates(TRIALS, seed=20261201, spreads=(spread,)))
    assert {(rate.kind, rate.verdict) for rate in found} == {("false", v) for v in FALSE} | {("miss", v) for v in MISSES}
    assert [str(r) for r in found if r.rate > r.limit + 4 * math.sqrt(r.limit / TRIALS)] == []


def test_the_simulation_can_fail() -> None:
    """Equals that differ by a tenth with hardly any spread are told apart; an effect of nothing is missed."""
    unequal = [replace(t, b=t.b.times(1.5)) for t in trials(20, 0.0, (200, 200), 1)]
    assert all(FALSE["compare"](t) for t in unequal)
    assert all(MISSES["compare"][1](replace(t, effect=1.0)) for t in trials(20, 0.0, (200, 200), 1))
    assert not Rate("false", "compare", 0.0, (20, 20), 0.011, 0.01).kept
