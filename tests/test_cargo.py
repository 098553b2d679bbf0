"""Questions about Rust builds, on a workspace without dependencies; what needs cargo is skipped without it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from measure import cargo
from measure.experiment import RustProgram

needs_cargo = pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not here")


PROGRAM = RustProgram("app", dependency="dep", features_of=("dep",))


@needs_cargo
def test_build_and_description(rust_project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """C22: profile and features are what was built, whatever the author's shell asks of cargo."""
    monkeypatch.setenv("RUSTFLAGS", "--cfg nonsense -C opt-level=0")
    monkeypatch.setenv("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0")
    compiled: list[str] = []
    binary = cargo.build("app", compiled.append, rust_project)
    assert subprocess.run([binary], capture_output=True, check=True).stdout == b"fast\n"
    assert any(line.startswith("Compiling app") for line in compiled)
    assert str(rust_project) not in "".join(compiled)
    build = cargo.describe(PROGRAM, binary, rust_project)
    assert build.resolved == ("dep v0.2.0 [default,fast,std]",)
    assert build.declared == 'dep = { path = "../dep", features = [\n  "fast",\n] }'
    assert build.profile == "release"
    assert build.binary_bytes == binary.stat().st_size
    assert build.compiler.startswith("rustc 1.")
    assert build.target is not None
    assert build.target.count(" ") == 1


@needs_cargo
def test_features_of_the_package_itself_are_chosen_by_the_program(rust_project: Path) -> None:
    manifest = rust_project / "rust_examples/app/Cargo.toml"
    manifest.write_text(
        manifest.read_text(encoding="utf-8") + '[features]\ndefault = ["a"]\na = []\nb = ["dep/slow"]\n', encoding="utf-8"
    )
    main = 'fn main() { print!("{} {}", cfg!(feature = "a"), cfg!(feature = "b")); }\n'
    (rust_project / "rust_examples/app/src/main.rs").write_text(main, encoding="utf-8")
    said = {}
    for features in (None, ("b",)):
        program = RustProgram("app", dependency="dep", features_of=("dep",), features=features)
        binary = cargo.build("app", root=rust_project, features=features)
        stdout = subprocess.run([binary], capture_output=True, check=True).stdout
        said[features] = (stdout, cargo.describe(program, binary, rust_project).resolved)
    assert said == {
        None: (b"true false", ("dep v0.2.0 [default,fast,std]",)),
        ("b",): (b"false true", ("dep v0.2.0 [default,fast,slow,std]",)),
    }


@needs_cargo
def test_failed_build_says_why(rust_project: Path) -> None:
    (rust_project / "rust_examples/app/src/main.rs").write_text("fn main() { nothing_of_this_name(); }", encoding="utf-8")
    with pytest.raises(cargo.CargoError, match=r"编译 app 失败[\s\S]*nothing_of_this_name"):
        cargo.build("app", root=rust_project)


@needs_cargo
def test_feature_of_a_crate_that_is_not_there(rust_project: Path) -> None:
    binary = cargo.build("app", root=rust_project)
    with pytest.raises(cargo.CargoError, match="依赖里没有 burn-flex"):
        cargo.describe(RustProgram("app", dependency="dep"), binary, rust_project)


def test_closure_reads_versions_and_says_what_is_wrong(tmp_path: Path) -> None:
    file = tmp_path / "rust_examples" / "Cargo.lock"
    with pytest.raises(cargo.CargoError, match="没有这个文件"):
        cargo.closure("app", tmp_path)
    file.parent.mkdir()
    file.write_text("package = 1 2", encoding="utf-8")
    with pytest.raises(cargo.CargoError, match="读不懂"):
        cargo.closure("app", tmp_path)
    file.write_text(
        '[[package]]\nname = "app"\nversion = "0.1.0"\ndependencies = ["x 2.0.0"]\n'
        '[[package]]\nname = "x"\nversion = "1.0.0"\nsource = "r"\n'
        '[[package]]\nname = "x"\nversion = "2.0.0"\nsource = "r"\ndependencies = ["app"]\n',
        encoding="utf-8",
    )
    assert [(e["name"], e["version"]) for e in cargo.closure("app", tmp_path)] == [("app", "0.1.0"), ("x", "2.0.0")]
    with pytest.raises(cargo.CargoError, match="没有 other"):
        cargo.closure("other", tmp_path)


def test_versions_compare_by_number() -> None:
    assert cargo.version("1.9") < cargo.version("1.95.0") < cargo.version("1.100.0-nightly")


def test_no_cargo_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    assert "没有 cargo" in (cargo.missing() or "")


def test_the_neighbours_of_tenferro_stay_as_they_were_at_its_release() -> None:
    """`cargo update` would take newer ones, with which `threadteam` is there twice and tenferro 0.8.0 does not compile."""
    found: dict[str, list[str]] = {}
    for entry in cargo.closure("tenferro-trg"):
        found.setdefault(entry["name"], []).append(entry["version"])
    pinned = {
        "cpueinsum": "0.9.0",
        "tcontract": "0.9.0",
        "tcontract-exec": "0.9.0",
        "tcontract-kernel": "0.3.0",
        "tlinalg": "0.8.0",
    }
    cure = "；".join(f"cargo update -p {name} --precise {version}" for name, version in pinned.items())
    assert {name: found.get(name) for name in pinned} == {name: [version] for name, version in pinned.items()}, cure
    assert len(found["threadteam"]) == 1, cure
