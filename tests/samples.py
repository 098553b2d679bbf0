"""Records made up for tests: run medians are chosen, so that every value and verdict can be worked out by hand."""

from __future__ import annotations

from measure.record import Conditions, Fact, Machine, Measured, Run, Series

LAB = Machine(label="lab", cpu="Test CPU", cores=2, memory_gib=4, system="Linux x86_64", virtual=False)
CALM = Conditions(at="2026-11-30T00:00:00+00:00", load=0.1, busy=0.0)


def run(
    case: str,
    round_: int,
    samples: tuple[float, ...],
    *,
    dtype: str = "f32",
    device: str = "cpu",
    stdout: str = "",
    **params: int | str,
) -> Run:
    """One process of one case that timed one matmul."""
    series = Series(metric="matmul", phase="steady", scope="ready", unit="s", warm_up=1, cores=1.0, samples=samples)
    facts = (Fact(name="dtype", value=dtype), Fact(name="device", value=device))
    return Run(
        case=case, params=dict(params), round=round_, command=(case,), env={}, before=CALM, after=CALM, wall=1.0, cpu=1.0,
        stdout=stdout or f"{case}: done\n", series=(series,), facts=facts,
    )  # fmt: skip


def measured(*runs: Run, machine: Machine = LAB, experiment: str = "x") -> Measured:
    """A record of these runs."""
    return Measured(
        schema_version=1, origin="measured", experiment=experiment, machine=machine, quick=False, protocol=1,
        started="2026-11-30T00:00:00+00:00", finished="2026-11-30T00:01:00+00:00", rounds=max(r.round for r in runs),
        inputs={}, versions={"lib": "1.2"}, runs=runs,
    )  # fmt: skip


def rounds(case: str, *medians: float, **extra: str) -> tuple[Run, ...]:
    """A run for each median, with three samples 1 % around it."""
    return tuple(run(case, k, (0.99 * m, m, 1.01 * m), **extra) for k, m in enumerate(medians, 1))


SLOW_AND_FAST = measured(
    *rounds("slow", 0.040, 0.0402, 0.0398, 0.0401, 0.0399), *rounds("fast", 0.010, 0.0101, 0.0099, 0.01, 0.01002)
)
"""`slow` takes four times as long as `fast`, far beyond the spread of half a per cent."""
EQUAL = measured(*rounds("slow", 0.0100, 0.0104, 0.0097, 0.0101, 0.0099), *rounds("fast", 0.0101, 0.0098, 0.0103, 0.0099, 0.01))
"""No difference that five runs with this spread could show."""
