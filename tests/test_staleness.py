"""What makes a record stale, and what does not."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest

from measure import cargo, staleness
from measure.experiment import Case, Experiment, PythonProgram, RustProgram
from measure.experiments.cpu_matmul import EXPERIMENT as CPU_MATMUL
from measure.record import Machine, Measured
from measure.staleness import InputError, State
from measure.store import Store

HERE = Machine(label="here", cpu="c", cores=2, memory_gib=4, system="Linux")
LOCK = """\
#    uv pip compile requirements/live.in
torch==2.15.0 \\
    --hash=sha256:aa
    # via -r requirements/live.in
filelock==3.0 ; python_version >= '3.12' \\
    --hash=sha256:bb \\
    --hash=sha256:cc
    # via
    #   -r requirements/live.in
    #   torch
jax==0.12.0.1
    # via -r requirements/live.in
scipy==1.0
    # via jax
deep_er==1.0
    # via filelock
"""
FILES = {
    "requirements/live.txt": LOCK,
    "measure/programs/a.py": "from measure.programs import common\n",
    "measure/programs/common.py": "from . import deeper\nimport json\n",
    "measure/programs/deeper.py": "",
    "measure/programs/__init__.py": "",
    "measure/programs/unrelated.py": "",
    "rust_examples/Cargo.toml": '[workspace]\nresolver = "3"\nmembers = ["one", "two", "lib"]\n[workspace.dependencies]\n'
    'lib = { path = "lib" }\nburn = "1"\nother = "1"\n[workspace.lints.rust]\nunsafe_code = "forbid"\n',
    "rust_examples/one/Cargo.toml": "[package]\nname='one'\n[dependencies]\nburn.workspace = true\n",
    "rust_examples/one/src/main.rs": "fn main() {}\n",
    "rust_examples/two/Cargo.toml": "[package]\nname='two'\n[[bin]]\nname='two'\npath='../one/src/main.rs'\n"
    "[dependencies]\nlib.workspace = true\n",
    "rust_examples/lib/Cargo.toml": "[package]\nname='lib'\n",
    "rust_examples/lib/src/lib.rs": "",
    "rust_examples/Cargo.lock": '[[package]]\nname="one"\nversion="1"\ndependencies=["burn"]\n[[package]]\nname="two"\nversion="1"\ndependencies=["lib"]\n'
    '[[package]]\nname="lib"\nversion="1"\n[[package]]\nname="burn"\nversion="1"\nsource="r"\nchecksum="b1"\n'
    '[[package]]\nname="other"\nversion="1"\nsource="r"\nchecksum="o1"\n',
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def experiment(rounds: int = 5, threads: str = "1", data: tuple[str, ...] = ()) -> Experiment:
    def cases(machine: Machine) -> tuple[Case, ...]:
        return (
            Case("a", PythonProgram("a", packages=("torch",)), args=("--threads", str(machine.cores))),
            Case("one", RustProgram("one"), params={"threads": threads}),
            Case("two", RustProgram("two"), missing=lambda m: "never here"),
        )

    return Experiment("x", "?", cases, rounds, timeout=1, estimate=1, data=data)


def record(inputs: dict[str, str], machine: Machine = HERE, quick: bool = False) -> Measured:
    return Measured(
        schema_version=1, origin="measured", experiment="x", machine=machine, quick=quick, protocol=1, started="2026-01-01T00:00:00Z", finished="2026-01-01T00:00:00Z",
        rounds=1, inputs=inputs, versions={}, runs=(),
    )  # fmt: skip


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text or not old
    file.write_text(text.replace(old, new) if old else text + new, encoding="utf-8")


def test_names_are_for_readers(root: Path) -> None:
    assert list(staleness.inputs(experiment(), root)) == [
        "measure/programs/a.py",
        "measure/programs/common.py",
        "measure/programs/deeper.py",
        "parameters",
        "protocol",
        "requirements/live.txt: torch",
        "rust_examples/Cargo.lock: one",
        "rust_examples/Cargo.lock: two",
        "rust_examples/Cargo.toml",
        "rust_examples/lib",
        "rust_examples/one",
        "rust_examples/one/src",
        "rust_examples/two",
    ]


@pytest.mark.parametrize(
    ("file", "old", "new", "changed"),
    [
        ("measure/programs/common.py", "", "x = 1\n", ["measure/programs/common.py"]),
        ("measure/programs/deeper.py", "", "x = 1\n", ["measure/programs/deeper.py"]),
        ("requirements/live.txt", "torch==2.15.0", "torch==2.16.0", ["requirements/live.txt: torch"]),
        ("requirements/live.txt", "filelock==3.0", "filelock==3.1", ["requirements/live.txt: torch"]),
        ("requirements/live.txt", "deep_er==1.0", "deep_er==1.1", ["requirements/live.txt: torch"]),
        ("rust_examples/Cargo.lock", "b1", "b2", ["rust_examples/Cargo.lock: one"]),
        ("rust_examples/one/src/main.rs", "", "// x\n", ["rust_examples/one", "rust_examples/one/src"]),
        ("rust_examples/lib/src/lib.rs", "", "// x\n", ["rust_examples/lib"]),
        ("rust_examples/Cargo.toml", "", "[profile.release]\nlto = true\n", ["rust_examples/Cargo.toml"]),
        ("rust_examples/Cargo.toml", 'burn = "1"', 'burn = { version = "1", features = ["simd"] }', ["rust_examples/Cargo.toml"]),
        # what this experiment does not use
        ("measure/programs/unrelated.py", "", "x = 1\n", []),
        ("requirements/live.txt", "scipy==1.0", "scipy==2.0", []),
        ("requirements/live.txt", "sha256:cc", "sha256:dd", []),
        ("rust_examples/Cargo.lock", "o1", "o2", []),
        ("rust_examples/Cargo.toml", 'other = "1"', 'other = "2"', []),
        ("rust_examples/Cargo.toml", '"lib"]', '"lib", "more"]', []),
        ("rust_examples/Cargo.toml", "forbid", "deny", []),
    ],
)
def test_exactly_what_changed(root: Path, file: str, old: str, new: str, changed: list[str]) -> None:
    """C44: helpers and locks count, what is not used does not."""
    before = record(staleness.inputs(experiment(), root))
    edit(root / file, old, new)
    assert list(staleness.changed(before, experiment(), root)) == changed


def test_line_endings_change_nothing(root: Path) -> None:
    """C44: saved again with CRLF."""
    before = record(staleness.inputs(experiment(), root))
    for name in FILES:
        (root / name).write_bytes((root / name).read_bytes().replace(b"\n", b"\r\n"))
    assert staleness.changed(before, experiment(), root) == ()


def test_build_output_changes_nothing(root: Path) -> None:
    before = record(staleness.inputs(experiment(), root))
    for name in ("rust_examples/one/target/x", "rust_examples/one/.swp", "rust_examples/one/src/.#main.rs"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_bytes(b"x")
    assert staleness.changed(before, experiment(), root) == ()


def test_parameters_and_protocol(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = record(staleness.inputs(experiment(), root))
    assert staleness.changed(before, experiment(rounds=6), root) == ("parameters",)
    assert staleness.changed(before, experiment(threads="all"), root) == ("parameters",)
    monkeypatch.setattr(staleness, "PROTOCOL_VERSION", 99)
    assert staleness.changed(before, experiment(), root) == ("protocol",)


@pytest.mark.parametrize(
    ("file", "text", "match"),
    [
        ("requirements/live.txt", None, "requirements/live.txt：没有这个文件.*git checkout"),
        ("requirements/live.txt", "jax==1\n", "没有锁定 torch"),
        ("measure/programs/a.py", None, "measure/programs/a.py：读不了"),
        ("measure/programs/common.py", "def (", "common.py：第 1 行"),
        ("rust_examples/Cargo.lock", None, "Cargo.lock：没有这个文件"),
        ("rust_examples/Cargo.toml", "[[", "rust_examples/Cargo.toml：读不懂"),
        ("rust_examples/one/Cargo.toml", "[dependencies]\nx = { path = '../../../out' }", "在仓库之外"),
    ],
)
def test_inputs_that_cannot_be_read(root: Path, file: str, text: str | None, match: str) -> None:
    if text is None:
        (root / file).unlink()
    else:
        (root / file).write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=match):
        staleness.inputs(experiment(), root)


def test_states(root: Path, tmp_path: Path) -> None:
    """C45: a record of another machine is foreign, also under this machine's label."""
    store = Store(tmp_path / "records")
    x = experiment()
    inputs = staleness.inputs(x, root)
    found = staleness.status(x, store, "here", HERE, root)
    assert found.state is State.MISSING
    store.save(record(inputs))
    assert staleness.status(x, store, "here", HERE, root).state is State.FRESH
    store.save(record(inputs | {"gone": "1"}))
    found = staleness.status(x, store, "here", HERE, root)
    assert (found.state, found.changed) == (State.STALE, ("gone",))
    other = HERE.model_copy(update={"cpu": "another"})
    found = staleness.status(x, store, "here", other, root)
    assert found.state is State.FOREIGN
    assert "MEASURE_MACHINE" in found.note
    elsewhere = HERE.model_copy(update={"label": "elsewhere"})
    found = staleness.status(x, store, "here", elsewhere, root)
    assert (found.state, found.note, found.not_here) == (State.FOREIGN, "", "")
    store.path("measured", "here", "x").write_text('{"half', encoding="utf-8")
    found = staleness.status(x, store, "here", HERE, root)
    assert found.state is State.BROKEN
    assert "损坏" in found.note


def test_a_quick_record_is_no_record(root: Path, tmp_path: Path) -> None:
    store = Store(tmp_path / "records")
    store.save(record(staleness.inputs(experiment(), root), quick=True))
    found = staleness.status(experiment(), store, "here", HERE, root)
    assert found.state is State.BROKEN
    assert "--quick" in found.note


def test_missing_software(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def version(have: str | None) -> None:
        def answer(_: str) -> str:
            if have is None:
                raise metadata.PackageNotFoundError
            return have

        monkeypatch.setattr(metadata, "version", answer)

    version(None)
    assert "没有安装 torch" in (staleness.missing_software(experiment(), HERE, root) or "")
    version("2.9.0")
    assert "锁定的是 2.15.0" in (staleness.missing_software(experiment(), HERE, root) or "")
    version("2.15.0+cpu")
    monkeypatch.setattr(cargo, "missing", lambda: None)
    assert staleness.missing_software(experiment(), HERE, root) is None
    monkeypatch.setattr(cargo, "missing", lambda: "没有 cargo")
    assert staleness.missing_software(experiment(), HERE, root) == "没有 cargo"


@pytest.mark.parametrize(
    ("then", "here", "drift"),
    [
        ("2.15.0+cu132", "2.15.0", ()),  # what torch says of itself, and what its metadata say
        ("2.15.0+cu132", "2.15.0+cu132", ()),
        ("2.15.0+cu132", "2.15.0+cpu", ("torch：记录 2.15.0+cu132，这里 2.15.0+cpu",)),
        ("2.15.0+cu132", "2.16.0", ("torch：记录 2.15.0+cu132，这里 2.16.0",)),
        ("2.15.0", "2.15.1", ("torch：记录 2.15.0，这里 2.15.1",)),
    ],
)
def test_drift(then: str, here: str, drift: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "version", lambda package: here)
    made = record({}).model_copy(update={"versions": {"torch": then}})
    assert staleness.drift(made) == drift


def test_cpu_matmul_cases() -> None:
    intel = HERE.model_copy(update={"flags": ("avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"), "cores": 12})
    cases = CPU_MATMUL.cases(intel)
    assert [(c.name, c.params["threads"], c.threads) for c in cases[:6]] == [
        ("torch", 1, 1),
        ("torch", "all", 8),
        ("burn-template", "unset", None),
        ("burn-simd", "unset", None),
        ("burn-simd", 1, 1),
        ("burn-simd", "all", 8),
    ]
    assert {c.name for c in cases if c.missing(intel)} == {"burn-amx"}
    assert {c.name for c in cases if c.missing(HERE)} == {"burn-amx", "burn-x86v4"}
    apple = HERE.model_copy(update={"cpu": "Apple M2 Max"})
    assert {c.name for c in cases if c.missing(apple)} == {"burn-x86v4"}
    assert dict(cases[5].env) == {"RAYON_NUM_THREADS": "8"}
    assert dict(cases[3].env) == {}


def test_data_that_programs_read_is_an_input(root: Path) -> None:
    (root / "matrix.f64").write_bytes(bytes(16))
    x = experiment(data=("matrix.f64",))
    old = record(staleness.inputs(x, root))
    (root / "matrix.f64").write_bytes(bytes(15) + b"1")
    assert staleness.changed(old, x, root) == ("matrix.f64",)
    (root / "matrix.f64").unlink()
    with pytest.raises(InputError, match=r"matrix\.f64"):
        staleness.inputs(x, root)
