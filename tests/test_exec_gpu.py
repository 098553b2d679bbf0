"""The PyTorch programs on timing: run as a user runs them, and with another device in the place of torch's."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from measure.programs.burn_lines import FIRST, FIRST_SYNCED, INIT, WARM_UP, WAY
from measure.protocol import Output, Report, parse

ROOT = Path(__file__).parent.parent

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(find_spec("torch") is None, reason="这个环境里没有 torch；用 scripts/build --live 装好的环境跑"),
]

NAP = 0.02
"""Seconds the other device takes for whatever it is asked."""


class Lazy:
    """A device as a GPU is: calls return first, `sync` waits, and it has a clock of its own."""

    name = "cpu"  # where torch really computes
    clock = "own clock"

    def __init__(self) -> None:
        self.syncs = 0

    def sync(self) -> None:
        self.syncs += 1
        time.sleep(NAP)

    def timed(self, work: Callable[[], Any]) -> tuple[Any, int]:
        return work(), 12_345

    def adapter(self) -> str:
        return "an adapter"


def run(*args: str, out: Path | None = None) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    env.pop("MEASURE_OUT", None)
    if out:
        env["MEASURE_OUT"] = str(out)
    return subprocess.run([sys.executable, *args], cwd=ROOT, env=env, capture_output=True, encoding="utf-8", timeout=300)


def on_lazy_device(mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **options: object) -> tuple[Output, Lazy]:
    from measure.programs import exec_gpu
    from measure.programs.torch_device import observed

    monkeypatch.setattr(exec_gpu, "SMALL", 48)
    monkeypatch.setattr(exec_gpu, "LARGE", 64)
    monkeypatch.setattr(exec_gpu, "SIZE", 128)
    monkeypatch.setenv("MEASURE_OUT", str(tmp_path / "out.jsonl"))
    device = Lazy()
    args = argparse.Namespace(quick=True, threads=None, **options)
    with Report("exec-gpu", label="lazy", quick=True) as report:
        observed(report, device, exec_gpu.MODES[mode](report, device, args), None)
    return parse((tmp_path / "out.jsonl").read_bytes()), device


def test_every_clock_is_read_where_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, device = on_lazy_device("mm", tmp_path, monkeypatch)
    series = {(s.metric, s.scope, s.params["size"]): s for s in out.series if "timer" not in s.params}
    stamps = zip(series["matmul", "call", 128].samples, series["matmul", "ready", 128].samples, strict=True)
    assert all(ready >= call + NAP for call, ready in stamps)
    assert series["matmul", "device", 128].samples == (12_345e-9,) * 3
    assert min(series["matmul-dropped", "ready", 128].samples) >= NAP
    # three each: with sync, dropped, the other size; nine for the self-check, or more if it is tried again; six for calls in a row
    assert device.syncs >= 3 * 3 + 9 + 6


def test_a_first_call_returns_before_its_result_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, _ = on_lazy_device("first", tmp_path, monkeypatch, cache="as-is")
    first = {s.scope: s.samples for s in out.series if (s.metric, s.phase) == ("matmul", "first")}
    assert first["ready"][0] >= first["call"][0] + NAP
    assert [(s.metric, len(s.samples)) for s in out.series if s.phase == "init"] == [("device-init", 1)]
    lines = capsys.readouterr().out.splitlines()
    assert INIT.parse(lines[0])
    assert FIRST.parse(lines[1])
    assert WAY.parse(lines[2])


@pytest.mark.parametrize("kept", ["yes", "no"])
def test_a_warm_up_nobody_waits_for(
    kept: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, device = on_lazy_device("warm", tmp_path, monkeypatch, kept=kept)
    assert [s.params for s in out.series] == [{"run": 0}, {"run": 1}, {"run": 2}]
    assert device.syncs == 4  # the operands, then one a run: none for the warm-up
    read = [WARM_UP.parse(line) for line in capsys.readouterr().out.splitlines()]
    assert [line and line["kind"] for line in read] == [{"yes": "kept", "no": "dropped"}[kept]] * 3


def test_a_wrong_product_is_not_timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from measure.programs import exec_gpu

    real = exec_gpu.operands
    monkeypatch.setattr(exec_gpu, "operands", lambda size, device: [side.T for side in real(size, device)])
    with pytest.raises(SystemExit, match="结果不对"):
        on_lazy_device("mm", tmp_path, monkeypatch)


def test_on_the_cpu_as_a_user_runs_it(tmp_path: Path) -> None:
    done = run("measure/programs/exec_gpu.py", "mm", "--threads", "1", "--quick", out=tmp_path / "out.jsonl")
    assert done.returncode == 0, done.stderr
    out = parse((tmp_path / "out.jsonl").read_bytes())
    found = {fact.name: fact.value for fact in out.facts}
    assert (found["dtype"], found["device"], found["threads"], found["timer-threads"]) == ("f32", "cpu", 1, 1)
    assert "device" not in {s.scope for s in out.series}
    assert all(WAY.parse(line) for line in done.stdout.splitlines())
    first = run("measure/programs/exec_gpu.py", "first", "--quick", "--cache", "warm", "--threads", "1")
    assert first.returncode == 0, first.stderr
    assert [FIRST_SYNCED.parse(line) is not None for line in first.stdout.splitlines()] == [False, True, False]


@pytest.mark.parametrize("args", [("mm", "--threads", "0"), ("nonsense",), ()])
def test_nonsense_is_refused(args: tuple[str, ...]) -> None:
    assert run("-m", "measure.programs.exec_gpu", *args).returncode != 0
