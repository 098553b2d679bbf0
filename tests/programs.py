"""Tiny programs that behave, or misbehave, as programs do, and a machine to run them on."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from pathlib import Path

import psutil
import pytest

from measure import cargo, machine, runner, staleness
from measure.experiment import Case, Experiment, RustProgram
from measure.record import Build
from measure.runner import RunFailedError
from measure.store import Store

ROOT = Path(__file__).parent.parent


class Notes:
    """A progress display that remembers."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.steps: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)

    def step(self, what: str, done: int, total: int, left: float | None, detail: str = "") -> None:
        self.steps.append(f"{done}/{total} {what}")


def described(package: str) -> Build:
    return Build(
        package=package, profile="release", declared="burn = 1", resolved=("burn-flex v1 []",), compiler="rustc 1.95.0", target="t", binary_bytes=1
    )  # fmt: skip


def fact(name: str, value: str) -> str:
    """One line of the protocol."""
    return json.dumps({"type": "fact", "name": name, "value": value})


def lines(
    samples: str = "[1000, 2000]", threads: int = 1, facts: tuple[str, ...] = (), end: int | None = None, quick: bool = False
) -> list[str]:
    """What a well-behaved program writes."""
    series = {"type": "series", "metric": "matmul", "phase": "steady", "scope": "ready", "unit": "ns", "warm_up": 1, "cores": 1.0}
    body = [
        json.dumps({"type": "header", "protocol": 1, "program": "fake", "quick": quick}),
        json.dumps(series)[:-1] + f', "samples": {samples}}}',
        json.dumps({"type": "fact", "name": "threads", "value": threads}),
        *facts,
    ]
    return [*body, json.dumps({"type": "end", "lines": len(body) if end is None else end})]


def experiment(*cases: Case, rounds: int = 1, timeout: float = 20) -> Experiment:
    return Experiment("x", "?", lambda machine: cases, rounds, timeout, estimate=1)


def failure(store: Store, case: Case, timeout: float = 20) -> tuple[str, str]:
    """Reason and stderr of the one failure that running `case` gives; nothing good is stored."""
    with pytest.raises(RunFailedError) as caught:
        runner.run(experiment(case, timeout=timeout), store)
    attempt = caught.value.attempt
    assert store.load("x", "lab") is None
    assert store.path("failed", "lab", "x").exists()
    assert case.name in str(caught.value)
    (only,) = attempt.failures
    return only.reason, only.stderr


def marked(mark: str) -> list[psutil.Process]:
    """Living processes that carry `mark` on their command line."""
    return [
        p for p in psutil.process_iter(["cmdline", "status"])
        if mark in " ".join(p.info["cmdline"] or ()) and p.info["status"] != psutil.STATUS_ZOMBIE and p.pid != os.getpid()
    ]  # fmt: skip


def lab(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """A quiet machine called `lab`, whose Rust programs are scripts in folder/bin."""
    patch.setenv("MEASURE_MACHINE", "lab")
    patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    patch.setattr(machine, "WINDOW", 0.01)
    patch.setattr(runner, "QUIET_LIMIT", 0)
    patch.setattr(staleness, "inputs", lambda experiment, root=ROOT: {"parameters": "0"})
    patch.setattr(cargo, "missing", lambda: None)
    patch.setattr(cargo, "build", lambda package, on_crate, root, features: folder / "bin" / package)
    patch.setattr(cargo, "describe", lambda program, binary, root: described(program.package))
    patch.setattr(cargo, "compiler", lambda root: {"rustc": "rustc 1.95.0", "release": "1.95.0"})


def program(folder: Path, name: str, body: str = "", written: list[str] | None = None) -> RustProgram:
    """A program in folder/bin: it writes `written` to MEASURE_OUT, then runs `body` (Python)."""
    file = folder / "bin" / name
    file.parent.mkdir(exist_ok=True)
    text = "\n".join(lines() if written is None else written) + "\n"
    start = f"#!{sys.executable}\nimport os, subprocess, sys, time\nopen(os.environ['MEASURE_OUT'], 'w').write({text!r})\n"
    file.write_text(start + textwrap.dedent(body), encoding="utf-8")
    file.chmod(0o755)
    return RustProgram(name)
