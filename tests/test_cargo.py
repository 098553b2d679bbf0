"""Questions about Rust builds, on a workspace without dependencies; what needs cargo is skipped without it."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

from measure import cargo
from measure.experiment import RustProgram, SourceLines

needs_cargo = pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not here")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
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


PROGRAM = RustProgram("app", dependency="dep", features_of=("dep",))


@needs_cargo
def test_build_and_description(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """C22: profile and features are what was built, whatever the author's shell asks of cargo."""
    monkeypatch.setenv("RUSTFLAGS", "--cfg nonsense -C opt-level=0")
    monkeypatch.setenv("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0")
    compiled: list[str] = []
    binary = cargo.build("app", compiled.append, root)
    assert subprocess.run([binary], capture_output=True, check=True).stdout == b"fast\n"
    assert any(line.startswith("Compiling app") for line in compiled)
    assert str(root) not in "".join(compiled)
    build = cargo.describe(PROGRAM, binary, root)
    assert build.resolved == ("dep v0.2.0 [default,fast,std]",)
    assert build.declared == 'dep = { path = "../dep", features = [\n  "fast",\n] }'
    assert build.profile == "release"
    assert build.binary_bytes == binary.stat().st_size
    assert build.compiler.startswith("rustc 1.")
    assert build.target is not None
    assert build.target.count(" ") == 1


@needs_cargo
def test_features_of_the_package_itself_are_chosen_by_the_program(root: Path) -> None:
    manifest = root / "rust_examples/app/Cargo.toml"
    manifest.write_text(
        manifest.read_text(encoding="utf-8") + '[features]\ndefault = ["a"]\na = []\nb = ["dep/slow"]\n', encoding="utf-8"
    )
    main = 'fn main() { print!("{} {}", cfg!(feature = "a"), cfg!(feature = "b")); }\n'
    (root / "rust_examples/app/src/main.rs").write_text(main, encoding="utf-8")
    said = {}
    for features in (None, ("b",)):
        program = RustProgram("app", dependency="dep", features_of=("dep",), features=features)
        binary = cargo.build("app", root=root, features=features)
        stdout = subprocess.run([binary], capture_output=True, check=True).stdout
        said[features] = (stdout, cargo.describe(program, binary, root).resolved)
    assert said == {
        None: (b"true false", ("dep v0.2.0 [default,fast,std]",)),
        ("b",): (b"false true", ("dep v0.2.0 [default,fast,slow,std]",)),
    }


@needs_cargo
def test_failed_build_says_why(root: Path) -> None:
    (root / "rust_examples/app/src/main.rs").write_text("fn main() { nothing_of_this_name(); }", encoding="utf-8")
    with pytest.raises(cargo.CargoError, match=r"编译 app 失败[\s\S]*nothing_of_this_name"):
        cargo.build("app", root=root)


@needs_cargo
def test_feature_of_a_crate_that_is_not_there(root: Path) -> None:
    binary = cargo.build("app", root=root)
    with pytest.raises(cargo.CargoError, match="依赖里没有 burn-flex"):
        cargo.describe(RustProgram("app", dependency="dep"), binary, root)


@needs_cargo
def test_excerpts(root: Path) -> None:
    function = cargo.excerpt(SourceLines("run", "app", "dep", "src/lib.rs", "pub fn run", r"^\}"), root)
    assert (function.first_line, function.text) == (3, 'pub fn run() {\n    println!("fast");\n}')
    assert function.sha256 == hashlib.sha256((root / "rust_examples/dep/src/lib.rs").read_bytes()).hexdigest()
    assert (function.crate, function.version, function.licence, function.path) == ("dep", "0.2.0", "MIT", "src/lib.rs")
    uses = cargo.excerpt(SourceLines("uses", "app", "dep", "src", 'feature = "fast"'), root)
    assert uses.text == "src/lib.rs:2\nsrc/more.rs:1"
    lines = cargo.excerpt(SourceLines("lines", "app", "dep", "src/lib.rs", "cfg("), root)
    assert lines.text == '#[cfg(feature = "fast")]\n#[cfg(feature = "fast")]'
    for wanted in (
        SourceLines("gone", "app", "dep", "src/lib.rs", "fn gone", r"^\}"),
        SourceLines("gone", "app", "dep", "src/gone.rs", "fn"),
        SourceLines("gone", "app", "nobody", "src/lib.rs", "fn"),
    ):
        with pytest.raises(cargo.CargoError, match="摘录 gone"):
            cargo.excerpt(wanted, root)


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
    assert cargo._version("1.9") < cargo._version("1.95.0") < cargo._version("1.100.0-nightly")


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
