"""The machine: label, fingerprint, conditions, lock."""

from __future__ import annotations

import multiprocessing
import os
import platform
import re
from pathlib import Path

import pytest

from measure import machine


def test_label_needs_no_setting_and_names_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEASURE_MACHINE", raising=False)
    here = machine.this_machine()
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*-\d+c", here.label)
    text = here.model_dump_json()
    assert platform.node() not in text
    assert str(Path.home()) not in text
    assert here == machine.this_machine()
    assert list(here.flags) == sorted(set(here.flags))


def test_label_can_be_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEASURE_MACHINE", "my-desk")
    assert machine.this_machine().label == "my-desk"


def test_a_label_that_another_machine_has_gets_a_suffix(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two machines of one kind: neither refuses to measure, and their records stay apart."""
    monkeypatch.delenv("MEASURE_MACHINE", raising=False)
    plain = machine.this_machine()
    other = plain.model_dump() | {"memory_gib": 1}
    apart = machine.this_machine(lambda _: other)
    assert re.fullmatch(re.escape(plain.label) + "-[0-9a-f]{4}", apart.label)
    assert apart == machine.this_machine(lambda _: other)
    assert machine.this_machine(lambda _: plain.model_dump()) == plain


def test_a_given_label_is_never_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEASURE_MACHINE", "my-desk")
    assert machine.this_machine(lambda _: {"cpu": "another"}).label == "my-desk"


@pytest.mark.parametrize("label", ["My Desk", "../x", "a--b", "机器"])
def test_bad_label_is_refused_with_the_cure(label: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEASURE_MACHINE", label)
    with pytest.raises(machine.MachineError, match="MEASURE_MACHINE="):
        machine.this_machine()


@pytest.mark.parametrize(
    ("cpu", "family"),
    [
        ("Intel(R) Xeon(R) Processor", "xeon"),
        ("AMD EPYC 9R14 96-Core Processor", "epyc"),
        ("Intel(R) Core(TM) i7-9750H CPU @ 2.60GHz", "core"),
        ("Apple M2 Max", "m2-max"),
        ("aarch64", "aarch64"),
        ("", "cpu"),
    ],
)
def test_family(cpu: str, family: str) -> None:
    assert machine.family(cpu) == family


def test_efficiency_cores_are_counted_from_ranges() -> None:
    assert machine._count("16-23,26\n") == 9


def test_conditions_are_plausible() -> None:
    found = machine.conditions()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", found.at)
    assert 0 <= found.busy <= 1


def test_waiting_for_quiet_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    busy = machine.conditions().model_copy(update={"busy": 0.9})
    monkeypatch.setattr(machine, "conditions", lambda: busy)
    assert machine.wait_until_quiet(0) is busy


def _die_holding_the_lock(ready: multiprocessing.synchronize.Event) -> None:
    context = machine.exclusive()
    context.__enter__()
    ready.set()
    os._exit(1)


def test_lock_survives_a_crash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    spawn = multiprocessing.get_context("spawn")
    ready = spawn.Event()
    process = spawn.Process(target=_die_holding_the_lock, args=(ready,))
    process.start()
    process.join()
    assert ready.is_set()
    with machine.exclusive():
        pass
