"""The PyTorch program, run as a user runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from measure.protocol import parse, parse_line

ROOT = Path(__file__).parent.parent

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(find_spec("torch") is None, reason="这个环境里没有 torch；用 scripts/build --live 装好的环境跑"),
]


def run(*args: str, out: Path | None = None) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    env.pop("MEASURE_OUT", None)
    if out:
        env["MEASURE_OUT"] = str(out)
    return subprocess.run([sys.executable, *args], cwd=ROOT, env=env, capture_output=True, encoding="utf-8", timeout=300)


def test_c19_c24_prints_and_writes_what_it_observed(tmp_path: Path) -> None:
    done = run("measure/programs/cpu_bench.py", "--threads", "1", "--quick", out=tmp_path / "out.jsonl")
    assert done.returncode == 0, done.stderr
    out = parse((tmp_path / "out.jsonl").read_bytes())
    facts = {fact.name: fact.value for fact in out.facts}
    assert out.header.quick
    assert (facts["dtype"], facts["device"], facts["threads"]) == ("f32", "cpu", 1)
    assert {"blas", "version-torch", "version-python"} <= facts.keys()
    assert 0 < float(facts["matmul-max-error"]) < 1e-2
    series = {one.metric: one for one in out.series}
    assert {name: (len(one.samples), one.warm_up) for name, one in series.items()} == {
        "matmul": (3, 1),
        "train-step": (3, 3),
        "mlp-matmuls": (3, 3),
    }
    assert all(one.cores is not None and one.cores < 1.2 for one in out.series)
    for text, one in zip(done.stdout.splitlines(), out.series, strict=True):
        line = parse_line(text)
        assert line is not None
        assert line.label == "torch threads 1"
        assert line.min == f"{min(one.samples) * 1e3:.3f}"


def test_runs_by_hand_as_a_module_and_refuses_nonsense() -> None:
    done = run("-m", "measure.programs.cpu_bench", "--threads", "0")
    assert done.returncode == 2
    assert "--threads" in done.stderr
