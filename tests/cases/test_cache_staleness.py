"""What is shown is the whole, current result of the machine it names, or it is called old, foreign or damaged."""

from __future__ import annotations

import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import pytest

from measure import runner, staleness
from measure.experiment import Case, Experiment, RustProgram, load_all
from measure.store import Store, load_file
from tests.books import OTHER, ROOT, SETS, change, contents, good, mistakes, of, page, words
from tests.programs import experiment, lines
from tests.projects import Project, refused
from tests.records import SLOW_AND_FAST

SAVING = """
import sys
from pathlib import Path
from measure.store import Store, load_file
record = load_file(Path(sys.argv[1]))
runs = tuple(run.model_copy(update={"round": k, "stdout": "x" * 100_000}) for k in range(20) for run in record.runs[:1])
print("begin", flush=True)
while True:
    for version in ("1", "2"):
        Store(Path(sys.argv[2])).save(record.model_copy(update={"runs": runs, "versions": {"lib": version}}))
"""


def test_c14_a_writer_that_is_killed_leaves_a_whole_record(book: Path) -> None:
    """A large one, replaced again and again, interrupted and then killed at any moment."""
    path = book / "records/measured/lab/cpu-matmul.json"
    chance = random.Random(14)  # noqa: S311 - not a secret
    for k in range(12):
        command = [sys.executable, "-c", SAVING, str(path), str(book / "records")]
        writer = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert writer.stdout is not None
        writer.stdout.readline()
        time.sleep(chance.uniform(0, 0.1))
        writer.send_signal(signal.SIGINT if k % 2 else signal.SIGKILL)
        time.sleep(0.01)
        writer.kill()
        writer.communicate()
        load_file(path)
        assert [p.name for p in Store(book / "records").files()] == ["cpu-matmul.json"] * 2


@pytest.mark.parametrize("left", [0, 1, 2, 3], ids=["nothing", "a byte", "half", "all but the end"])
def test_c14_half_a_record_is_damaged_and_not_missing(book: Path, left: int) -> None:
    path = book / "records/measured/lab/cpu-matmul.json"
    whole = path.read_bytes()
    damaged = whole[: (0, 1, len(whole) // 2, len(whole) - 3)[left]]
    path.write_bytes(damaged)
    (found,) = mistakes(book)
    assert found.startswith("records/measured/lab/cpu-matmul.json:1：")
    assert "损坏" in found
    assert path.read_bytes() == damaged


def test_c23_every_run_begins_with_empty_caches(
    store: Store, lab: None, program: Callable[..., RustProgram], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Wherever a library keeps one: a folder named by a variable of the shell, home, the temporary folder, the working folder."""
    for name in (
        "JAX_COMPILATION_CACHE_DIR",
        "TORCHINDUCTOR_CACHE_DIR",
        "TRITON_CACHE_DIR",
        "CUBECL_ENVIRONMENT",
        "XDG_CACHE_HOME",
    ):
        monkeypatch.setenv(name, str(tmp_path / "cache"))
    body = """
    from pathlib import Path
    named = [v for k, v in os.environ.items() if k.endswith(("CACHE_DIR", "CACHE_HOME", "ENVIRONMENT"))]
    places = [Path.home() / ".cache", Path(os.environ["TMPDIR"]), Path(".") / "target"] + list(map(Path, named))
    print(sum((place / "compiled").exists() for place in places), len(named))
    for place in places:
        place.mkdir(parents=True, exist_ok=True)
        (place / "compiled").touch()
    """
    case = Case("a", program("a", body))
    first, second = runner.run(experiment(case), store), runner.run(experiment(case, rounds=2), store)
    assert [run.stdout for record in (first, second) for run in record.runs] == ["0 0\n"] * 3


def test_c44_what_the_program_uses_makes_its_record_stale(project: Project) -> None:
    """A helper and the version of a package; line endings do not. A strict build says which, and a plain one shows it as old."""
    programs = project.root / "measure/programs"
    lock = project.root / "requirements/live.txt"
    lock.write_text(f"click=={version('click')}\n", encoding="utf-8")
    (programs / "common.py").write_text("X = 1\n", encoding="utf-8")
    fake = programs / "fake.py"
    fake.write_text("from measure.programs.common import X\n" + fake.read_text(encoding="utf-8"), encoding="utf-8")
    declared = project.root / "measure/experiments/fake.py"
    declared.write_text(declared.read_text(encoding="utf-8").replace("packages=()", 'packages=("click",)'), encoding="utf-8")
    project.well("measure", "run", "fake")
    project.well("mkdocs", "build", "--strict", "-q")
    for path in (fake, programs / "common.py", lock):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    project.well("mkdocs", "build", "--strict", "-q")
    for path, old, new, named in (
        (programs / "common.py", "X = 1", "X = 2", "measure/programs/common.py"),
        (lock, "click==", "click==99.", "requirements/live.txt: click"),
    ):
        before = path.read_bytes()
        path.write_bytes(before.replace(old.encode(), new.encode()))
        said = refused(project.start("mkdocs", "build", "--strict", "-q"))
        assert f"docs/index.md:1：fake 在参考机器 lab 上的记录已过期：{named} 改过" in said
        project.well("mkdocs", "build", "-q")
        assert 'class="stale-notice"' in (project.site / "index.html").read_text(encoding="utf-8")
        path.write_bytes(before)


def test_c44_a_rust_dependency_makes_a_record_stale(tmp_path: Path) -> None:
    workspace = tmp_path / "rust_examples"
    lock = '[[package]]\nname = "one"\nversion = "1.0.0"\ndependencies = ["burn"]\n\n[[package]]\nname = "burn"\nversion = "{}"\nchecksum = "{}"\n'
    for name, text in {
        "Cargo.toml": '[workspace]\nmembers = ["one"]\n',
        "Cargo.lock": lock.format("1.0.0", "aa"),
        "one/Cargo.toml": '[package]\nname = "one"\nversion = "1.0.0"\n[dependencies]\nburn = "1"\n',
        "one/src/main.rs": "fn main() {}\n",
    }.items():
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text(text, encoding="utf-8")
    x = Experiment("x", "?", lambda machine: (Case("one", RustProgram("one")),), 1, 1, 1)
    record = SLOW_AND_FAST.model_copy(update={"inputs": staleness.inputs(x, tmp_path)})
    assert staleness.changed(record, x, tmp_path) == ()
    for changed in (lock.format("1.0.1", "bb"), lock.format("1.0.0", "cc")):
        (workspace / "Cargo.lock").write_text(changed, encoding="utf-8")
        assert staleness.changed(record, x, tmp_path) == ("rust_examples/Cargo.lock: one",)


def test_c45_no_page_mixes_machines_and_each_says_whose_numbers_it_shows(book: Path) -> None:
    """`lab` measured one experiment and `box` the other, and whoever builds has measured nothing."""
    trg = of(SLOW_AND_FAST, "box", inputs=staleness.inputs(load_all()["trg"])).model_copy(update={"experiment": "trg"})
    Store(book / "records").save(trg)
    html = page(good(book, "--strict", MEASURE_MACHINE="cellar"), "a")
    assert set(re.findall(r'data-machine="(\w+)"', html)) == {"lab"}
    assert "这一页的数字来自：lab" in words(html)
    for name, content in contents(book / "site").items():
        assert "本机" not in content.decode("utf-8", "replace") or not name.endswith(".html"), name
        assert "cellar" not in content.decode("utf-8", "replace"), name
    for path in (ROOT / "docs").rglob("*.md"):
        assert "本机" not in path.read_text(encoding="utf-8"), path
    there = '[% set there = record("trg").series("slow", "matmul") %]'
    change(book, {"b.md": f"{SETS}{there}{OTHER}\n[= ratio(slow.typical, there.typical) =]\n"})
    (book / "site").rename(book / "kept")
    assert [m for m in mistakes(book) if m.startswith("docs/b.md:4：trg 在 lab 上没有记录；有记录的机器：box")]


def test_c46_a_record_holds_one_measurement(
    store: Store, lab: None, program: Callable[..., RustProgram], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second run of other code replaces the first, an interrupted third leaves the second."""
    x = experiment(Case("a", program("a")), rounds=2)
    runner.run(x, store)
    program("a", written=lines("[3000]"))
    second = runner.run(x, store)
    assert [s.samples for r in second.runs for s in r.series] == [(3e-6,), (3e-6,)]
    execute, started = runner.execute, []

    def interrupted(*given: object) -> runner.Outcome:
        started.append(given)
        if len(started) == 2:
            raise KeyboardInterrupt
        return execute(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(runner, "execute", interrupted)
    with pytest.raises(KeyboardInterrupt):
        runner.run(x, store)
    assert store.load("x", "lab") == second
    monkeypatch.setattr(runner, "execute", execute)
    renamed = replace(x, id="y")
    monkeypatch.setattr(runner, "load_all", lambda: {"y": renamed})
    assert runner.bring_up_to_date(["x"], Store(store.root.parent / "other"), "auto") == ["没有实验 x。有：y"]


def test_c46_a_page_that_uses_an_old_name_fails_and_no_table_lists_it(book: Path) -> None:
    path = book / "records/measured/lab/cpu-matmul.json"
    old = path.with_name("cpu-product.json")
    old.write_text(
        path.read_text(encoding="utf-8").replace('"experiment": "cpu-matmul"', '"experiment": "cpu-product"'), encoding="utf-8"
    )
    load_file(old)
    assert "cpu-product" not in page(good(book), "records")
    assert not list((book / "site").rglob("*cpu-product*"))
    (book / "site").rename(book / "kept")
    change(book, {"b.md": f'{OTHER}\n[= record("cpu-product").series("slow", "matmul").min =]\n'})
    assert [m for m in mistakes(book) if m.startswith("docs/b.md:7：没有叫 cpu-product 的实验；有 ")]
