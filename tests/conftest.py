"""What the tests of several modules share."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from measure.experiment import RustProgram
from measure.store import Store
from tests import programs
from tests.books import GOOD, OTHER, write
from tests.projects import Project

settings.register_profile("ci", max_examples=60, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    "long", settings.get_profile("ci"), max_examples=int(os.environ.get("FUZZ_INPUTS", "10000")), derandomize=False
)
settings.load_profile("ci")


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """Two good pages, and a record on each of two machines that tell opposite stories."""
    return write(tmp_path / "book", {"a.md": GOOD, "b.md": OTHER})


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A quiet machine called `lab`, whose Rust programs are scripts in tmp_path/bin."""
    programs.lab(tmp_path, monkeypatch)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "records")


@pytest.fixture
def program(tmp_path: Path) -> Callable[..., RustProgram]:
    """Make a program: it writes `written` to MEASURE_OUT, then runs `body` (Python)."""
    return partial(programs.program, tmp_path)


@pytest.fixture(scope="session")
def pattern(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that was founded once for all."""
    root = tmp_path_factory.mktemp("pattern") / "project"
    Project(root).found()
    return root


@pytest.fixture
def project(pattern: Path, tmp_path: Path) -> Project:
    return Project(Path(shutil.copytree(pattern, tmp_path / "project")))


@pytest.fixture
def rust_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace of a program and a library that it uses with one feature."""
    monkeypatch.setenv("CARGO_TARGET_DIR", str(tmp_path / "target"))
    workspace = tmp_path / "rust_examples"
    files = {
        "Cargo.toml": '[workspace]\nresolver = "3"\nmembers = ["app", "dep"]\n',
        "app/Cargo.toml": '[package]\nname = "app"\nversion = "0.1.0"\nedition = "2024"\n[dependencies]\n'
        'dep = { path = "../dep", features = [\n  "fast",\n] }\n',
        "app/src/main.rs": "fn main() { dep::run(); }\n",
        "dep/Cargo.toml": '[package]\nname = "dep"\nversion = "0.2.0"\nedition = "2024"\nlicense = "MIT"\n'
        '[features]\ndefault = [\n  "std",\n]\nstd = []\nfast = []\nslow = []\n',
        "dep/src/lib.rs": '//! A library.\n#[cfg(feature = "fast")]\npub fn run() {\n    println!("fast");\n}\n'
        '#[cfg(feature = "fast")]\npub mod more;\n',
        "dep/src/more.rs": '#[cfg(feature = "fast")]\npub fn more() {}\n',
    }
    for name, text in files.items():
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text(text, encoding="utf-8")
    if shutil.which("cargo"):
        subprocess.run(["cargo", "generate-lockfile", "--offline"], cwd=workspace, check=True, capture_output=True)
    return tmp_path
