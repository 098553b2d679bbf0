"""`mkdocs serve` rebuilds once for each change, and for nothing else."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.books import contents, wait_for
from tests.projects import Project


@pytest.fixture
def port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.fixture
def log(project: Project, port: int) -> Iterator[Path]:
    """What `mkdocs serve` says in a project of its own."""
    log = project.root / "serve.log"
    with log.open("w", encoding="utf-8") as out:
        env = os.environ | {
            "PYTHONPATH": str(project.root),
            "XDG_CACHE_HOME": str(project.root / "cache"),
            "NO_MKDOCS_2_WARNING": "1",
        }
        env.pop("MEASURE", None)
        command = [sys.executable, "-m", "mkdocs", "serve", "-a", f"127.0.0.1:{port}"]
        server = subprocess.Popen(command, cwd=project.root, env=env, stdout=out, stderr=out)
    yield log
    server.terminate()
    server.wait(20)


def builds(log: Path) -> int:
    return log.read_text(encoding="utf-8").count("Building documentation...")


def test_c41_c42_one_rebuild_for_a_page_a_record_and_a_module(project: Project, port: int, log: Path) -> None:
    url = f"http://127.0.0.1:{port}/"
    wait_for(url, "第 1 版")
    watched = {folder: contents(project.root / folder) for folder in ("docs", "measure")}
    project.version(2)
    wait_for(url, "第 2 版")
    time.sleep(3)
    assert builds(log) == 2
    after = contents(project.root / "docs")
    assert after.keys() == watched["docs"].keys()
    assert {n for n in contents(project.root / "measure").keys() ^ watched["measure"].keys() if not n.endswith(".pyc")} == set()
    assert "1.00 ms" in wait_for(url, "第 2 版")
    record = project.record.read_text(encoding="utf-8")
    replaced = project.record.with_suffix(".new")
    replaced.write_text(record.replace("0.001", "0.002"), encoding="utf-8")
    replaced.replace(project.record)
    wait_for(url, "2.00 ms")
    time.sleep(2)
    assert builds(log) == 3
    with (project.root / "measure/plots.py").open("a", encoding="utf-8") as file:
        file.write("# edited\n")
    deadline = time.monotonic() + 20
    while builds(log) < 4 and time.monotonic() < deadline:
        time.sleep(0.2)
    wait_for(url, "2.00 ms")
    assert "plots.py 改过，重新启动 mkdocs serve 才会生效" in log.read_text(encoding="utf-8")
    time.sleep(2)
    assert builds(log) == 4
