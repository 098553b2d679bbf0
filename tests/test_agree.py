"""Results against float64: the stored inputs are what they should be, and a wrong layout or dtype does not pass."""

from __future__ import annotations

import math
import os
import struct
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from measure.programs.burn_lines import ERROR
from measure.protocol import parse

ROOT = Path(__file__).parent.parent
INPUTS = ROOT / "measure/programs/inputs"
SIZE = 256

live = [
    pytest.mark.live,
    pytest.mark.skipif(find_spec("torch") is None, reason="这个环境里没有 torch；用 scripts/build --live 装好的环境跑"),
]


@pytest.mark.parametrize(("name", "function"), [("agree-a.f32", math.sin), ("agree-b.f32", math.cos)])
def test_stored_inputs_are_what_they_are_called(name: str, function: object) -> None:
    assert callable(function)
    values = struct.unpack(f"<{SIZE * SIZE}f", (INPUTS / name).read_bytes())
    assert all(abs(value - function(k)) < 4e-8 for k, value in enumerate(values))  # half a unit in the last place of f32


class TestChecks:
    pytestmark = live

    def test_layout_and_dtype(self) -> None:
        import numpy as np

        from measure.programs.agree import distance, stored
        from measure.programs.exec_gpu import TOLERANCE

        a, b = stored()
        exact = a.astype(np.float64) @ b.astype(np.float64)
        assert distance(a @ b, exact) < 1e-5
        assert distance((a @ b).T, exact) > TOLERANCE
        assert distance(a @ b.T, exact) > TOLERANCE
        assert math.isnan(distance(exact.astype(np.float16), exact))
        assert math.isnan(distance((a @ b).ravel(), exact))

    def test_other_inputs_are_refused(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        from measure.programs import agree

        files = []
        for file in agree.FILES:
            (tmp_path / file.name).write_bytes(file.read_bytes()[4:] + bytes(4))
            files.append(tmp_path / file.name)
        monkeypatch.setattr(agree, "FILES", tuple(files))
        with pytest.raises(SystemExit, match="存的输入变了"):
            agree.stored()

    def test_as_a_user_runs_it(self, tmp_path: Path) -> None:
        env = os.environ | {"MEASURE_OUT": str(tmp_path / "out.jsonl")}
        command = [sys.executable, "measure/programs/agree.py", "--threads", "1", "--quick"]
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, encoding="utf-8", timeout=300)
        assert done.returncode == 0, done.stderr
        found = {fact.name: fact.value for fact in parse((tmp_path / "out.jsonl").read_bytes()).facts}
        assert 0 < float(found["max-error"]) < 1e-5
        assert 0 < float(found["own-input-error"]) < 1e-6
        assert found["input-sha256"] == "5e4961c52d7a6df8edaa5b5206d62bd95464ebd382e95ecc2aaa5d9fe21c12fc"
        assert len(str(found["sum-bits"])) == 8
        assert any(ERROR.parse(line) for line in done.stdout.splitlines())
