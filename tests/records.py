"""Records made up for tests: samples are chosen, so that every value and verdict can be worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from measure.record import Conditions, Fact, Machine, Measured, Run, Series

LAB = Machine(label="lab", cpu="Test CPU", cores=2, memory_gib=4, system="Linux x86_64", virtual=False)
CALM = Conditions(at="2026-11-30T00:00:00+00:00", load=0.1, busy=0.0)


def timed(metric: str, *samples: float, unit: str = "s", **changed: object) -> Series:
    """A steady series; `changed` may hold another phase, scope or params."""
    whole: dict[str, object] = {"metric": metric, "phase": "steady", "scope": "ready", "unit": unit, "samples": samples}
    return Series.model_validate(whole | {"warm_up": 1, "cores": 1.0} | changed)


def run(
    case: str,
    round_: int,
    samples: tuple[float, ...],
    *,
    dtype: str = "f32",
    device: str = "cpu",
    stdout: str = "",
    series: Sequence[Series] = (),
    facts: Sequence[Fact] = (),
    **params: int | str,
) -> Run:
    """One process of one case that timed one matmul, and whatever else is in `series`."""
    known = (Fact(name="dtype", value=dtype), Fact(name="device", value=device))
    return Run(
        case=case, params=dict(params), round=round_, command=(case,), env={}, before=CALM,
        after=CALM.model_copy(update={"load": 1.0}), wall=1.0, cpu=1.0, stdout=stdout or f"{case}: 计时 µs\n",
        series=(timed("matmul", *samples), *series), facts=(*known, *facts),
    )  # fmt: skip


def runs(
    case: str,
    *samples: tuple[float, ...],
    dtype: str = "f32",
    device: str = "cpu",
    series: Sequence[Series] = (),
    facts: Sequence[Fact] = (),
    **params: int | str,
) -> tuple[Run, ...]:
    """A run for each group of samples, in rounds 1, 2, …"""
    alike = partial(run, dtype=dtype, device=device, series=series, facts=facts)
    return tuple(alike(case, k, group).model_copy(update={"params": params}) for k, group in enumerate(samples, 1))


def rounds(case: str, *medians: float, dtype: str = "f32", device: str = "cpu") -> tuple[Run, ...]:
    """A run for each median, with three samples 1 % around it."""
    return runs(case, *((0.99 * m, m, 1.01 * m) for m in medians), dtype=dtype, device=device)


def measured(*of: Run, **changed: object) -> Measured:
    """A record of these runs, with `changed` fields."""
    whole: dict[str, object] = {
        "schema_version": 1, "origin": "measured", "experiment": "x", "machine": LAB, "quick": False, "protocol": 1,
        "started": "2026-11-30T00:00:00+00:00", "finished": "2026-11-30T00:01:00+00:00", "rounds": max(r.round for r in of),
        "inputs": {}, "versions": {"lib": "1.2"}, "runs": of,
    }  # fmt: skip
    return Measured.model_validate(whole | changed)


SLOW_AND_FAST = measured(
    *rounds("slow", 0.040, 0.0402, 0.0398, 0.0401, 0.0399), *rounds("fast", 0.010, 0.0101, 0.0099, 0.01, 0.01002)
)
"""`slow` takes four times as long as `fast`, far beyond the spread of half a per cent."""
EQUAL = measured(*rounds("slow", 0.0100, 0.0104, 0.0097, 0.0101, 0.0099), *rounds("fast", 0.0101, 0.0098, 0.0103, 0.0099, 0.01))
"""No difference that five runs with this spread could show."""
