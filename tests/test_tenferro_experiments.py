"""The experiments of the tenferro volume: what is declared for which machine, and all programs for real with few repetitions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from measure import protocol, runner
from measure.experiment import Case, Experiment, PythonProgram, RustProgram, load_all
from measure.experiments import trg
from measure.lines import Form
from measure.machine import this_machine
from measure.programs import tenferro_lines
from measure.record import Machine, Measured, Published
from measure.store import Store

NAMES = ("trg", "contraction-order", "svd-256", "grad-vector", "jax-pipeline")
FORMS = [form for form in vars(tenferro_lines).values() if isinstance(form, Form)]
M2 = Machine(label="m2", cpu="Apple M2 Max", cores=12, efficiency_cores=4, memory_gib=32, system="macOS")
LNZ = {"0.30": 0.790559063800966, "0.40": 0.879363060306852, "0.50": 1.025792858455947}
"""As published for χ = 16 and 20 steps, from JAX and from tenferro on another system."""


def quick(experiment: Experiment) -> Experiment:
    """All Rust programs and the first Python program: each of the others is run by `test_jax_programs`.

    Without the wide engine on a busy machine: a single call of that can take minutes, which is what it is there to show.
    """

    def cases(machine: Machine) -> tuple[Case, ...]:
        python = [c for c in experiment.cases(machine) if isinstance(c.program, PythonProgram)]
        rust = [c for c in experiment.cases(machine) if isinstance(c.program, RustProgram)]
        return (*python[:1], *(c for c in rust if (c.name, c.params.get("width")) != ("tenferro-busy", "performance")))

    return replace(experiment, cases=cases)


@pytest.mark.live
@pytest.mark.parametrize("name", NAMES)
def test_every_program_runs_and_its_record_is_whole(name: str, tmp_path: Path) -> None:
    experiment = quick(load_all()[name])
    record = runner.run(experiment, Store(tmp_path), quick=True)
    wanted = {(c.name, tuple(c.params.items())) for c in experiment.cases(this_machine())}
    assert {(r.case, tuple(r.params.items())) for r in record.runs} == wanted
    for run in record.runs:
        facts = {f.name: f.value for f in run.facts}
        assert (facts["dtype"], facts["device"]) == ("f64", "cpu")
        for line in run.stdout.splitlines():
            assert protocol.parse_line(line) or any(form.parse(line) for form in FORMS), line
    assert values_agree(record)


def values_agree(record: Measured) -> bool:
    """Every lnZ/N there is stands within 1e-12 of the published one."""
    found = [
        (f.params["beta"], f.value) for run in record.runs for f in run.facts if f.name == "lnz" and f.params.get("beta") in LNZ
    ]
    if record.experiment in ("trg", "contraction-order"):
        assert found
    return all(isinstance(value, float) and abs(value - LNZ[str(beta)]) < 1e-12 for beta, value in found)


def test_widths_have_names_that_hold_on_every_machine() -> None:
    assert trg.widths(M2) == {1: 1, "performance": 8, "all": 12}
    assert trg.widths(M2.model_copy(update={"cores": 2, "efficiency_cores": 0})) == {1: 1, "performance": 2}


def test_published_figures_use_the_names_of_the_experiments() -> None:
    """Otherwise a page would ask for one name and find the other machine's figures under another."""
    for name in NAMES:
        published = Store().load(name, "apple-m2-max")
        assert isinstance(published, Published)
        assert {series.case for series in published.series} <= {case.name for case in load_all()[name].cases(M2)}, name
