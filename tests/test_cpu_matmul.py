"""The experiment behind the page, run for real with few repetitions into a scratch store."""

from __future__ import annotations

from pathlib import Path

import pytest

from measure import runner
from measure.experiments.cpu_matmul import EXPERIMENT, cases
from measure.machine import this_machine
from measure.record import Machine
from measure.store import Store

M2 = Machine(label="m2", cpu="Apple M2 Max", cores=12, efficiency_cores=4, memory_gib=32, system="macOS")
OLD = Machine(label="old", cpu="Some x86", flags=("avx2", "fma"), cores=4, memory_gib=8, system="Linux")


@pytest.mark.live
def test_every_program_runs_and_its_record_is_whole(tmp_path: Path) -> None:
    record = runner.run(EXPERIMENT, Store(tmp_path), quick=True)
    here = this_machine()
    wanted = {(c.name, tuple(c.params.items())) for c in cases(here) if c.missing(here) is None}
    assert {(r.case, tuple(r.params.items())) for r in record.runs} == wanted
    for run in record.runs:
        assert {s.metric for s in run.series} == {"matmul", "train-step", "mlp-matmuls"}
        assert all(len(s.samples) == 3 and s.phase == "steady" and s.scope == "ready" for s in run.series)
        facts = {f.name: f.value for f in run.facts}
        assert (facts["dtype"], facts["device"]) == ("f32", "cpu")
    features = {b.package: b.resolved for b in record.builds}
    assert features["pitb-exec-cpu"] == ("burn-flex v0.22.1 [std]",)
    assert features["pitb-exec-cpu-simd"] == ("burn-flex v0.22.1 [rayon,simd,std]",)
    assert features["pitb-exec-cpu-default"] == ("burn-flex v0.22.1 [default,rayon,simd,std]",)


def test_threads_are_symbolic_and_capped_at_eight() -> None:
    torch = {c.params["threads"]: c.threads for c in cases(M2) if c.name == "torch"}
    assert torch == {1: 1, "all": 8}
    simd = {c.params["threads"]: c.env.get("RAYON_NUM_THREADS") for c in cases(M2) if c.name == "burn-simd"}
    assert simd == {"unset": None, 1: "1", "all": "8"}
    assert [c.params for c in cases(M2) if c.name == "burn-template"] == [{"threads": "unset"}]


def test_hardware_decides_which_kernels_are_absent() -> None:
    assert {c.name for c in cases(M2) if c.missing(M2)} == {"burn-x86v4"}
    assert {c.name for c in cases(OLD) if c.missing(OLD)} == {"burn-amx", "burn-x86v4"}
