"""What one experiment did on one machine: the only thing that travels from a run to a page.

A record is a closed, versioned JSON document. Two origins share a base and differ in what they hold: `Measured` keeps every
sample of every run, `Published` keeps figures that somebody printed, with the precision they were printed in. This module
knows nothing of how records are made, stored or shown.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Hashable, Iterable
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, model_validator

SCHEMA_VERSION = 1

Unit = Literal["s", "1", "byte"]
Phase = Literal["init", "trace", "compile", "prepare", "first", "steady"]
Scope = Literal["call", "ready", "device", "readback", "wall"]
Param = int | str
"""A setting as the experiment names it (`1`, `"all"`, `"unset"`), not what it came to on a machine."""

Statistic = Literal["min", "median", "p90", "value"]

TIME_UNITS: dict[str, Decimal] = {
    "s": Decimal(1),
    "ms": Decimal("1e-3"),
    "us": Decimal("1e-6"),
    "µs": Decimal("1e-6"),  # U+00B5, MICRO SIGN
    "μs": Decimal("1e-6"),  # U+03BC, GREEK SMALL LETTER MU; keyboards and programs give either
    "ns": Decimal("1e-9"),
}
"""Every spelling of a unit of time that is read, in seconds."""


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError(f"{value} is not a finite number")
    return value


def _portable(name: str) -> str:
    if re.fullmatch(r"con|prn|aux|nul|(com|lpt)[0-9]", name):
        raise ValueError(f"{name} is the name of a device on Windows, not of a file")
    return name


def _moment(text: str) -> str:
    if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(Z|\+00:00)", text) is None:
        raise ValueError(f"{text!r} is not a moment in UTC, such as 2026-11-30T08:15:00Z")
    datetime.fromisoformat(text)  # there is no 31 November
    return text


Finite = Annotated[float, AfterValidator(_finite)]
Moment = Annotated[str, AfterValidator(_moment)]
"""UTC, ISO 8601, to the second."""
Name = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=64), AfterValidator(_portable)]
"""Lower case, digits and hyphens: a portable file name on every system, also where case is folded."""


class Model(BaseModel):
    """Frozen, closed to unknown fields, strict about types: a typing error in a record is an error, not a default."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)


class Machine(Model):
    """A label and the fingerprint behind it; never a host name, a user or a path."""

    label: Name
    cpu: str
    flags: tuple[str, ...] = ()
    """Instruction sets that numerical code chooses its kernels by, sorted."""
    cores: int
    efficiency_cores: int = 0
    """How many of `cores` are efficiency cores (Apple silicon, hybrid x86)."""
    memory_gib: int | None
    """None where a publication does not say."""
    system: str
    virtual: bool | None = None
    """Whether a hypervisor lies below; None where nobody could tell."""


class Fact(Model):
    """A value that is not a time: a checksum, a count, a version, a text."""

    name: Name
    params: dict[str, Param] = {}
    """What it holds for, beyond the settings of its run (`beta`), as with a series."""
    value: bool | int | Finite | str
    of: int | None = None
    """For a count k of n: the n."""
    bits: str | None = None
    """IEEE 754 bits of a float, in hexadecimal, where equality means equality of bits."""
    source: str = ""


class Series(Model):
    """Samples of one metric in one run, in the order they were taken."""

    metric: Name
    phase: Phase
    scope: Scope
    unit: Unit
    params: dict[str, Param] = {}
    warm_up: int = 0
    """How many calls came before the first sample."""
    cores: Finite | None = None
    """CPU time over wall time while the samples were taken: the cores really used."""
    samples: tuple[Finite, ...]

    @model_validator(mode="after")
    def _plausible(self) -> Self:
        if not self.samples:
            raise ValueError(f"series {self.metric} has no samples")
        if self.unit == "s" and min(self.samples) <= 0:
            raise ValueError(f"series {self.metric} holds a duration that is not positive")
        if self.unit == "s" and max(self.samples) < 2e-9:
            raise ValueError(
                f"series {self.metric}: {max(self.samples)} s is less than a clock tick; the work was optimised away"
            )
        return self


class Conditions(Model):
    """The state of the machine right before or after a run."""

    at: Moment
    load: Finite | None
    """Load average of the last minute; None where the system has none."""
    busy: Finite
    """Share of all cores' time that was in use during a short window without the run, 0 to 1."""


class Run(Model):
    """One process of one case in one round: the unit of inference."""

    case: Name
    params: dict[str, Param] = {}
    round: int
    command: tuple[str, ...]
    env: dict[str, str]
    """Only what was set for this run on purpose; names without a path of this machine."""
    before: Conditions
    after: Conditions
    wall: Annotated[Finite, Field(gt=0)]
    cpu: Finite
    """User and system time of the process and its children, in seconds."""
    stdout: str
    series: tuple[Series, ...]
    facts: tuple[Fact, ...] = ()


class Build(Model):
    """How a Rust program was built. Only release builds can be recorded."""

    package: Name
    profile: Literal["release"]
    declared: str
    """The dependency line of its Cargo.toml that this experiment is about."""
    resolved: tuple[str, ...]
    """What `cargo tree` says of the features that were really on, one line a crate."""
    compiler: str
    target: str | None = None
    """Target triple and the CPU it was compiled for; None where a publication does not say."""
    binary_bytes: Annotated[int, Field(gt=0, lt=2**50)] | None = None
    """None where a publication does not say."""


class Excerpt(Model):
    """Lines of somebody else's source, taken from the files that were compiled."""

    name: Name
    source: str
    version: str
    path: str
    first_line: int
    text: str
    sha256: str
    """Of the whole file."""
    licence: str


class Absent(Model):
    """A declared case that this record has nothing of, and why."""

    case: Name
    params: dict[str, Param] = {}
    reason: str


class Failure(Model):
    """A run that did not give a result. Only attempts hold failures; a record that pages use has none."""

    case: Name
    params: dict[str, Param] = {}
    round: int
    reason: str
    stderr: str = ""


class Measured(Model):
    """Everything about one experiment on one machine."""

    schema_version: Literal[1]
    origin: Literal["measured"]
    experiment: Name
    machine: Machine
    quick: bool
    """Few repetitions, for a smoke test; such a record is never committed and never shown."""
    protocol: int
    started: Moment
    finished: Moment
    rounds: int
    inputs: dict[str, str]
    """What the result depends on by intention, each with a SHA-256: sources, locks, parameters."""
    versions: dict[str, str]
    """What was really there: libraries, interpreters, compilers."""
    runs: tuple[Run, ...]
    builds: tuple[Build, ...] = ()
    excerpts: tuple[Excerpt, ...] = ()
    absent: tuple[Absent, ...] = ()
    failures: tuple[Failure, ...] = ()

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.machine.memory_gib is None:
            raise ValueError("the machine's memory is missing; only a publication may leave it out")
        for build in self.builds:
            if build.target is None or build.binary_bytes is None:
                raise ValueError(f"build {build.package} lacks its target or size; only a publication may leave them out")
        return self

    @model_validator(mode="after")
    def _each_run_once(self) -> Self:
        if _repeats((r.case, frozenset(r.params.items()), r.round) for r in self.runs):
            raise ValueError("a run (case, parameters, round) appears twice")
        for run in self.runs:
            if _repeats((s.metric, s.phase, s.scope, frozenset(s.params.items())) for s in run.series):
                raise ValueError(f"{run.case}, round {run.round}: a series appears twice")
            if _repeats((f.name, frozenset(f.params.items())) for f in run.facts):
                raise ValueError(f"{run.case}, round {run.round}: a fact appears twice")
        return self

    @model_validator(mode="after")
    def _one_unit_each(self) -> Self:
        units: dict[str, Unit] = {}
        for series in (s for r in self.runs for s in r.series):
            if units.setdefault(series.metric, series.unit) != series.unit:
                raise ValueError(f"metric {series.metric} has two units, {units[series.metric]} and {series.unit}")
        return self


class Printed(Model):
    """A statistic as it was printed: `text` in `unit`, digits kept."""

    text: Annotated[str, Field(pattern=r"^-?[0-9]+(\.[0-9]+)?$")]
    unit: Literal["s", "ms", "µs", "ns", "1", "byte"]

    @property
    def value(self) -> float:
        """In seconds for a time, else as it stands."""
        return float(Decimal(self.text) * TIME_UNITS.get(self.unit, Decimal(1)))

    @property
    def kind(self) -> Unit:
        """The unit of `value`."""
        return "1" if self.unit == "1" else "byte" if self.unit == "byte" else "s"


class PublishedSeries(Model):
    """What was printed of one series in one round; there are no samples."""

    case: Name
    metric: Name
    phase: Phase
    scope: Scope
    params: dict[str, Param] = {}
    round: int | None = None
    n: int | None = None
    warm_up: int | None = None
    cores: None = None
    source: str = ""
    """Where the figure stood, or how it was read, if the outputs alone do not show it."""
    printed: dict[Statistic, Printed]

    @model_validator(mode="after")
    def _plausible(self) -> Self:
        if len({p.kind for p in self.printed.values()}) != 1:
            raise ValueError(f"series {self.metric} needs at least one figure, and all of one unit")
        if any(p.kind == "s" and p.value <= 0 for p in self.printed.values()):
            raise ValueError(f"series {self.metric} holds a duration that is not positive")
        return self


class PublishedFact(Fact):
    """A fact of one case, or of the whole record where `case` is None. Its `params` are all the settings it holds for."""

    case: Name | None = None


class Output(Model):
    """Lines as they were printed, of one case or of several under one heading."""

    case: Name
    params: dict[str, Param] = {}
    round: int | None = None
    load: str = ""
    """The load average beside these lines, as it was printed: a value or a range. Empty where the publication has only one
    for all."""
    text: str


class Published(Model):
    """Figures somebody else printed. Never stale, never presented as a run of ours."""

    schema_version: Literal[1]
    origin: Literal["published"]
    experiment: Name
    machine: Machine
    source: str
    """Where they were printed, for the reader."""
    conditions: str
    """The state of the machine, in the words of the publication: a value, a range or a trend."""
    versions: dict[str, str]
    series: tuple[PublishedSeries, ...]
    facts: tuple[PublishedFact, ...] = ()
    outputs: tuple[Output, ...] = ()
    builds: tuple[Build, ...] = ()
    absent: tuple[Absent, ...] = ()

    @model_validator(mode="after")
    def _each_figure_once(self) -> Self:
        if _repeats((s.case, s.metric, s.phase, s.scope, frozenset(s.params.items()), s.round) for s in self.series):
            raise ValueError("a series (case, metric, phase, scope, parameters, round) appears twice")
        if _repeats((f.case, f.name, frozenset(f.params.items())) for f in self.facts):
            raise ValueError("a fact (case, name, parameters) appears twice")
        return self


def _repeats(keys: Iterable[Hashable]) -> bool:
    return max(Counter(keys).values(), default=1) > 1


Record = Annotated[Measured | Published, Field(discriminator="origin")]
ADAPTER: TypeAdapter[Measured | Published] = TypeAdapter(Record, config=ConfigDict(defer_build=True))
