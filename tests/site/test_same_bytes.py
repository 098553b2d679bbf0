"""C28, C43: the whole book, built once more from a copy in another folder, on another day, under another seed and locale."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests import elsewhere
from tests.site.conftest import ROOT

PARTS = ("docs", "measure", "requirements", "rust_examples", "theme")
"""What a build reads, beside `mkdocs.yml`."""


def contents(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_the_book_built_elsewhere_is_the_same_byte_for_byte(site: Path, tmp_path: Path) -> None:
    copy = tmp_path / "别处 and elsewhere"
    for part in PARTS:
        shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("target", "__pycache__"))
    shutil.copy(ROOT / "mkdocs.yml", copy)
    for path in copy.rglob("*"):
        os.utime(path, (1e9, 1e9))  # 2001
    unwanted = {"SOURCE_DATE_EPOCH", "LANG", "PYTHONDONTWRITEBYTECODE"}
    env = {name: value for name, value in os.environ.items() if name not in unwanted}
    env |= elsewhere.in_a_thousand_days() | elsewhere.with_decimal_commas()
    env |= {"MEASURE": "cached", "PYTHONPATH": str(copy), "PYTHONHASHSEED": "1", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-q"]
    done = subprocess.run(command, cwd=copy, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    here, there = contents(site), contents(copy / "site")
    assert [name for name in sorted(here.keys() | there.keys()) if here.get(name) != there.get(name)] == []
    assert len(here) > 50
