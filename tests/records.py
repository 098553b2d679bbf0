"""A small measured record, made by hand, for tests that vary one thing in it."""

from collections.abc import Mapping, Sequence

from measure.record import Conditions, Fact, Machine, Measured, Run, Series

MACHINE = Machine(label="box", cpu="Some CPU", flags=("avx2",), cores=2, memory_gib=8, system="Linux")
QUIET = Conditions(at="2026-01-01T00:00:00Z", load=0.25, busy=0.01)


def timed(metric: str, *samples: float, unit: str = "s", scope: str = "ready") -> Series:
    return Series.model_validate(
        {"metric": metric, "phase": "steady", "scope": scope, "unit": unit, "samples": samples, "cores": 1.0}, strict=True
    )


def make_measured(
    cases: Mapping[str, Sequence[Sequence[float]]],
    *,
    facts: Mapping[str, Sequence[Fact]] | None = None,
    series: Sequence[Series] = (),
    **changed: object,
) -> Measured:
    """`make_measured({"case": [run, …]})`, where a run is the samples of `matmul` in one round, all with threads=1."""
    runs = tuple(
        Run(
            case=case,
            params={"threads": 1},
            round=number,
            command=("python", "cpu_bench.py"),
            env={"OMP_NUM_THREADS": "1"},
            before=QUIET,
            after=QUIET.model_copy(update={"load": 1.0}),
            wall=2.0,
            cpu=1.5,
            stdout="计时 µs\n",
            series=(timed("matmul", *samples), *series),
            facts=tuple((facts or {}).get(case, ())),
        )
        for case, rounds in cases.items()
        for number, samples in enumerate(rounds, 1)
    )
    whole: dict[str, object] = {
        "schema_version": 1,
        "origin": "measured",
        "experiment": "cpu-matmul",
        "machine": MACHINE,
        "quick": False,
        "protocol": 1,
        "started": "2026-01-01T00:00:00Z",
        "finished": "2026-01-01T00:01:00Z",
        "rounds": max((len(r) for r in cases.values()), default=0),
        "inputs": {"a.py": "0" * 64},
        "versions": {"torch": "2.15.0"},
        "runs": runs,
    }
    return Measured.model_validate(whole | changed)
