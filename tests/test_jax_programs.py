"""The programs on JAX, NumPy and SciPy, run as a user runs them."""

from __future__ import annotations

import os
import subprocess
import sys
from argparse import Namespace
from hashlib import sha256
from math import cos, fsum, sin
from pathlib import Path

import pytest

pytest.importorskip("jax", reason="这个环境里没有 jax；用 scripts/build --live 装好的环境跑")

from measure.programs import process, timing_jax
from measure.programs import tenferro_lines as lines
from measure.protocol import FactLine, Output, parse, parse_line

pytestmark = pytest.mark.live

ROOT = Path(__file__).parent.parent
FORMS = (lines.CALL, lines.AOT, lines.CHAINED, lines.VALUE, lines.CORES)
PARTS = ("svd", "contraction", "rest")


def run(tmp_path: Path, program: str, *args: str) -> tuple[list[str], Output]:
    env = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS") and name != "XLA_FLAGS"}
    env["OPENBLAS_NUM_THREADS"] = "1"  # its threads wait for each other in loops, for long where tests run side by side
    env["MEASURE_OUT"] = str(tmp_path / "out.jsonl")
    command = [sys.executable, f"measure/programs/{program}.py", "--quick", *args]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, encoding="utf-8", timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines(), parse((tmp_path / "out.jsonl").read_bytes())


def facts(out: Output, name: str) -> list[FactLine]:
    return [fact for fact in out.facts if fact.name == name]


def value(out: Output, name: str) -> bool | float | str:
    (fact,) = facts(out, name)
    return fact.value


def sizes(out: Output) -> dict[tuple[str, str, str], int]:
    return {(one.metric, one.phase, one.scope): len(one.samples) for one in out.series}


def settings(out: Output) -> tuple[object, object, bool]:
    return value(out, "dtype"), value(out, "device"), out.header.quick


@pytest.mark.parametrize("args", [(), ("--checkpoint",)], ids=["plain", "checkpoint"])
def test_timing_jax(tmp_path: Path, args: tuple[str, ...]) -> None:
    printed, out = run(tmp_path, "timing_jax", *args)
    expected = {
        ("chained", "steady", "call"): 10,
        ("chained-wait", "steady", "ready"): 1,
    }
    for metric in ("value", "grad", "value-and-grad"):
        for scope in ("call", "ready"):
            expected |= {(metric, "first", scope): 1, (metric, "steady", scope): 3}
        expected |= {(f"{metric}-aot", phase, "ready"): 1 for phase in ("trace", "compile", "first")}
    assert sizes(out) == expected
    assert settings(out) == ("f64", "cpu", True)
    times = {(one.metric, one.phase, one.scope): one.samples for one in out.series}
    assert all(
        call < ready for call, ready in zip(times["value", "steady", "call"], times["value", "steady", "ready"], strict=True)
    )
    assert value(out, "svd-count") == 40
    assert value(out, "svd-count-grad") == value(out, "svd-count-value-and-grad") == (80 if args else 40)
    (lnz,) = facts(out, "lnz")
    assert lnz.params == {"beta": "0.30"}
    assert lnz.value == pytest.approx(0.790559063800966, abs=1e-12)
    assert lnz.bits is not None
    assert value(out, "error") == pytest.approx(-7.150e-9, abs=1e-12)
    assert value(out, "energy") == pytest.approx(-0.70449868, abs=1e-7)
    assert value(out, "energy-error") == pytest.approx(3.913e-7, abs=1e-9)
    assert str(value(out, "ranks")).startswith("2 4 4 16 16 ")
    assert [sum(form.parse(line) is not None for line in printed) for form in FORMS] == [3, 3, 1, 1, 1]


@pytest.mark.parametrize("library", ["jax", "numpy", "scipy-gesdd", "scipy-gesvd"])
def test_svd_time(tmp_path: Path, library: str) -> None:
    printed, out = run(tmp_path, "svd_time", "--library", library)
    assert settings(out) == ("f64", "cpu", True)
    assert {(one.phase, one.params["matrix"]): len(one.samples) for one in out.series} == {
        (phase, matrix): n for matrix in ("trg", "random") for phase, n in (("first", 1), ("steady", 3))
    }
    assert {fact.params["matrix"]: fact.value for fact in facts(out, "rank")} == {"trg": 49, "random": 256}
    digests = {
        matrix: sha256((ROOT / f"measure/programs/inputs/svd-256-{matrix}.f64").read_bytes()).hexdigest()
        for matrix in ("trg", "random")
    }
    assert {fact.params["matrix"]: fact.value for fact in facts(out, "input-sha256")} == digests
    assert all(
        0 < float(fact.value) < 1e-11 for name in ("reconstruction-error", "orthogonality-error") for fact in facts(out, name)
    )
    assert [found["matrix"] for line in printed if (found := lines.SVD.parse(line))] == ["trg", "random"]


@pytest.mark.parametrize("library", ["jax", "numpy"])
def test_the_parts_of_an_evaluation_make_up_the_whole(tmp_path: Path, library: str) -> None:
    printed, out = run(tmp_path, "trg_inside", "--library", library)
    totals = {one.metric: one.samples for one in out.series if not one.params}
    steps = {part: [one.samples for one in out.series if one.metric == f"inside-{part}"] for part in PARTS}
    for evaluation in range(3):
        for part in PARTS:
            each = sum(samples[evaluation] for samples in steps[part])
            assert each == pytest.approx(totals[f"inside-{part}-total"][evaluation], abs=1e-9)
        whole = totals["inside-whole"][evaluation]
        assert 0.9 * whole < sum(totals[f"inside-{part}-total"][evaluation] for part in PARTS) <= whole
    assert [len(steps[part]) for part in PARTS] == [20, 20, 20]
    assert sum(lines.INSIDE.parse(line) is not None for line in printed) == 3


def test_contraction_order(tmp_path: Path) -> None:
    printed, out = run(tmp_path, "contraction_order", "--order", "einsum")
    assert {one.metric: len(one.samples) for one in out.series} == {"contraction": 3, "value": 3, "grad": 3}
    assert value(out, "path") == "(0, 1) (0, 1) (0, 1)"
    assert value(out, "lnz") == pytest.approx(0.790559063800966, abs=1e-12)
    found = [line for text in printed if (line := parse_line(text))]
    assert {line.label for line in found} == {"jax einsum"}
    assert len(found) == 3


@pytest.mark.parametrize(("args", "imported"), [((), False), (("--torch",), True)])
def test_ad_vec_timing(tmp_path: Path, args: tuple[str, ...], imported: bool) -> None:
    printed, out = run(tmp_path, "ad_vec_timing", *args)
    assert value(out, "torch-imported") is imported
    assert [(one.params, len(one.samples)) for one in out.series] == [({"trial": trial}, 100) for trial in range(3)]
    assert value(out, "checksum") == pytest.approx(sum_of_gradient(), rel=1e-14)
    assert [found["torch"] for line in printed if (found := lines.VECTOR.parse(line))] == [str(imported)] * 3


def sum_of_gradient() -> float:
    """Of sin x + x cos x + x at 0, 0.001, … 0.999."""
    return fsum(sin(i / 1000) + i / 1000 * cos(i / 1000) + i / 1000 for i in range(1000))


def test_timing_pipeline(tmp_path: Path) -> None:
    printed, out = run(tmp_path, "timing_pipeline")
    assert {(one.metric, one.scope): len(one.samples) for one in out.series} == {
        ("dispatched", "call"): 3,
        ("all-ready", "ready"): 3,
        ("each-waited", "ready"): 3,
    }
    assert value(out, "calls") == 3
    assert sum(lines.PIPELINE.parse(line) is not None for line in printed) == 3


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="这个操作系统没有 sched_setaffinity")
def test_a_pinned_program_is_allowed_one_core_and_uses_no_more(tmp_path: Path) -> None:
    _, out = run(tmp_path, "svd_time", "--library", "jax", "--pin")
    assert value(out, "cores-allowed") == 1
    assert 0 < float(value(out, "cores-observed")) <= 1.05


def test_pinning_says_where_it_cannot_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_setaffinity", raising=False)
    with pytest.raises(SystemExit, match=r"--pin 在这个操作系统上不能用"):
        process.settle(Namespace(pin=True))
    process.settle(Namespace(pin=False))


def test_a_wrong_result_ends_the_program() -> None:
    process.require(True, "lnZ/N", 0.0)
    for error in (1.0, float("nan")):
        with pytest.raises(SystemExit, match="不报时间"):
            process.require(error < 1e-12, "lnZ/N", error)


def test_the_gradient_is_checked_against_the_slope_of_the_value() -> None:
    known = {"value": lambda beta: 2 * beta}
    timing_jax.check("grad", 2.0, known)
    with pytest.raises(SystemExit, match="grad 的结果不对"):
        timing_jax.check("grad", 2.1, known)
    with pytest.raises(SystemExit, match="value 的结果不对"):
        timing_jax.check("value", 0.790559070951263, {})
