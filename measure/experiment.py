"""What to run: an experiment is one question, its cases, and what each case needs.

Declarations only. Nothing here starts a process or reads a record.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from measure.record import Machine, Param

HERE = Path(__file__).parent


@dataclass(frozen=True)
class PythonProgram:
    """A module of `measure/programs`, by its short name, run with this interpreter."""

    module: str
    packages: tuple[str, ...]
    """Distributions it needs; their part of the lock is an input of the record."""


@dataclass(frozen=True)
class RustProgram:
    """A package of the workspace `rust_examples`, built in release mode and run as its binary."""

    package: str
    dependency: str = "burn"
    """The dependency whose line in Cargo.toml the record keeps."""
    features_of: tuple[str, ...] = ("burn-flex",)
    """Crates whose resolved features the record keeps."""
    features: tuple[str, ...] | None = None
    """Features of the package itself, instead of its default ones; None leaves the choice to its Cargo.toml."""


def everywhere(machine: Machine) -> None:
    """The default of `Case.missing`: nothing special is needed."""


@dataclass(frozen=True)
class Case:
    """One implementation and setting."""

    name: str
    program: PythonProgram | RustProgram
    args: tuple[str, ...] = ()
    params: Mapping[str, Param] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    threads: int | None = None
    """How many threads the program has to report (fact `threads`); None where the case does not set it."""
    rounds: int | None = None
    """For a case that takes very long: fewer rounds than the experiment has. Only large effects count then."""
    missing: Callable[[Machine], str | None] = everywhere
    """Why this hardware cannot run the case, in Chinese; None where it can."""


@dataclass(frozen=True)
class SourceLines:
    """Which lines of a library's source to keep: from the first line that contains `start` to the next that matches `end`.

    Without `end` every line that contains `start` is kept. Where `path` is a folder, the excerpt counts the lines that
    contain `start`, one `path:count` for each file that has any.
    """

    name: str
    package: str | None
    """The workspace package into which the library was compiled; None for an installed Python package."""
    source: str
    """The crate, or the Python package."""
    path: str
    start: str
    end: str | None = None
    """A regular expression."""


@dataclass(frozen=True)
class Experiment:
    """One question; one record per machine.

    `cases` is a function of the machine because parameters are symbolic: `"all"` becomes a number only where it runs.
    """

    id: str
    question: str
    cases: Callable[[Machine], tuple[Case, ...]]
    rounds: int
    timeout: float
    """Seconds one run may take."""
    estimate: float
    """Seconds one round of all cases is expected to take, for the progress display."""
    excerpts: tuple[SourceLines, ...] = ()
    data: tuple[str, ...] = ()
    """Files that the programs read, from the project's root: inputs of the record like the programs themselves."""


def load_all() -> dict[str, Experiment]:
    """Every experiment declared in `measure/experiments`, by id. Raises ValueError if two share an id."""
    found: dict[str, Experiment] = {}
    for module in sorted(m.name for m in iter_modules([str(HERE / "experiments")])):
        experiment = import_module(f"measure.experiments.{module}").EXPERIMENT
        if experiment.id in found:
            raise ValueError(f"measure/experiments/{module}.py：实验名 {experiment.id} 已经用过")
        found[experiment.id] = experiment
    return found
