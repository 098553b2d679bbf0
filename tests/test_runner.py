"""The runner, on tiny programs that misbehave in every way programs do."""

from __future__ import annotations

import ast
import json
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from measure import cargo, machine, privacy, runner, staleness
from measure.experiment import Case, PythonProgram, RustProgram
from measure.record import Machine, Measured
from measure.runner import NotRunnableError, RunFailedError
from measure.store import NotWrittenError, Store, StoreError
from tests.programs import ROOT, Notes, experiment, fact, failure, lines, marked

pytestmark = pytest.mark.usefixtures("lab")


def test_a_whole_record(store: Store, program: Callable[..., RustProgram]) -> None:
    """Rounds alternate, absent cases say why, commands and environment hold no path."""
    facts = (fact("version-burn", "0.22.1"), fact("dtype", "f32"))
    a = Case(
        "a",
        program("a", "print('a: 1 run')", lines(facts=facts)),
        params={"threads": 1},
        env={"RAYON_NUM_THREADS": "1"},
        threads=1,
    )
    b = Case("b", program("b", written=lines(facts=facts)), args=("--size", "3"))
    gone = Case("gone", RustProgram("never-built"), missing=lambda m: "没有这种硬件")
    progress = Notes()
    record = runner.run(experiment(a, b, gone, rounds=3), store, progress=progress)
    assert store.load("x", "lab") == record
    assert [(r.case, r.round) for r in record.runs] == [("a", 1), ("b", 1), ("b", 2), ("a", 2), ("a", 3), ("b", 3)]
    first = record.runs[0]
    assert (first.command, record.runs[1].command) == (("a",), ("b", "--size", "3"))
    assert first.env == {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "PYTHONUTF8": "1", "RAYON_NUM_THREADS": "1"}
    assert first.stdout == "a: 1 run\n"
    assert first.series[0].samples == (1e-6, 2e-6)
    assert first.wall > 0
    assert first.cpu > 0
    assert record.versions["burn"] == "0.22.1"
    assert record.versions["rustc"] == "1.95.0"
    assert {"python", "os"} <= record.versions.keys()
    assert [b.package for b in record.builds] == ["a", "b"]
    assert [(g.case, g.reason) for g in record.absent] == [("gone", "没有这种硬件")]
    assert progress.steps[0] == "0/2 编译 a"
    assert progress.steps[2] == "0/6 测 a threads=1（第 1/3 轮）"
    text = record.model_dump_json()
    for secret in (str(Path.home()), str(store.root.parent), sys.prefix, os.uname().nodename):
        assert secret not in text


def test_environment_is_built(store: Store, program: Callable[..., RustProgram], monkeypatch: pytest.MonkeyPatch) -> None:
    """C21: thread variables and flags of the author's shell do not reach the child; C23: nor do cache folders."""
    for name in (
        "OMP_NUM_THREADS",
        "RAYON_NUM_THREADS",
        "MKL_NUM_THREADS",
        "XLA_FLAGS",
        "JAX_COMPILATION_CACHE_DIR",
        "PYTHONSTARTUP",
        "RUSTFLAGS",
    ):
        monkeypatch.setenv(name, "1")
    body = "print(sorted(os.environ)); print(os.listdir('.'), os.listdir(os.environ['HOME']))"
    record = runner.run(experiment(Case("a", program("a", body), env={"RAYON_NUM_THREADS": "2"})), store)
    names, folders = record.runs[0].stdout.splitlines()
    assert set(ast.literal_eval(names)) - {"LC_CTYPE", "__CF_USER_TEXT_ENCODING"} == {
        "HOME", "LANG", "LC_ALL", "MEASURE_OUT", "PATH", "PYTHONPATH", "PYTHONUTF8", "RAYON_NUM_THREADS", "TMPDIR",
    }  # fmt: skip
    assert folders == "[] []"


def test_a_failure_leaves_the_good_record(store: Store, program: Callable[..., RustProgram]) -> None:
    """C09: exit code and stderr are reported, the line written is not a result, the older record stays. C46: it was replaced whole."""
    good = runner.run(experiment(Case("a", program("a"))), store)
    bad = Case("a", program("a", "print('boom', file=sys.stderr); sys.exit(3)"))
    with pytest.raises(RunFailedError, match=r"x：a，第 1 轮：退出码 3\n    boom"):
        runner.run(experiment(bad), store)
    assert store.load("x", "lab") == good
    again = runner.run(experiment(Case("a", program("a"))), store)
    assert len(again.runs) == 1
    assert store.load("x", "lab") == again
    assert not store.path("failed", "lab", "x").exists()


def test_all_failures_of_a_round_are_listed(store: Store, program: Callable[..., RustProgram]) -> None:
    """C11: one early death does not hide the others, and no further round begins."""
    cases = (
        Case("a", program("a")),
        Case("b", program("b", "sys.exit(1)")),
        Case("c", program("c", "os.kill(os.getpid(), 11)")),
    )
    with pytest.raises(RunFailedError) as caught:
        runner.run(experiment(*cases, rounds=3), store)
    attempt = caught.value.attempt
    assert [(f.case, f.reason) for f in attempt.failures] == [("b", "退出码 1"), ("c", "被信号 SIGSEGV 终止")]
    assert [r.case for r in attempt.runs] == ["a"]


@pytest.mark.parametrize(
    "spawn",
    [
        "subprocess.Popen(['sleep', '60.{m}'])",
        "subprocess.Popen(['sleep', '60.{m}'], start_new_session=True)",
        "subprocess.Popen(['sh', '-c', 'setsid sleep 60.{m} & exit'], start_new_session=True).wait()",
    ],
)
@pytest.mark.parametrize("hang", [True, False])
def test_no_descendant_survives(store: Store, program: Callable[..., RustProgram], spawn: str, hang: bool) -> None:
    """C12: at the time limit, and after an ordinary end, all that was started is dead, whatever session it fled to."""
    mark = f"{os.getpid()}{abs(hash(spawn)) % 1000}"
    case = Case("a", program("a", spawn.format(m=mark) + ("\ntime.sleep(60)" if hang else "")))
    begin = time.monotonic()
    if hang:
        reason, _ = failure(store, case, timeout=1)
        assert reason.startswith("超时")
    else:
        runner.run(experiment(case), store)
    assert time.monotonic() - begin < 10
    assert marked(f"60.{mark}") == []


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_measurement_leaves_no_child(
    tmp_path: Path, program: Callable[..., RustProgram], sent: signal.Signals
) -> None:
    """C12: an interrupt kills what runs and comes through, also one that a service manager sends to a `mkdocs build`."""
    mark = f"60.{os.getpid()}{sent.value}"
    file = tmp_path / "bin" / program("a", f"subprocess.run(['sleep', '{mark}'])").package
    code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a shell's background jobs ignore it
    code += (
        f"from measure.runner import _ended_by_sigterm, execute\nwith _ended_by_sigterm(): execute([{str(file)!r}], {{}}, 100)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, stderr=subprocess.PIPE
    )
    deadline = time.monotonic() + 20
    while not marked(mark) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert marked(mark)
    process.send_signal(sent)
    _, stderr = process.communicate(timeout=20)
    assert b"KeyboardInterrupt" in stderr if sent == signal.SIGINT else process.returncode == 128 + signal.SIGTERM
    assert marked(mark) == []


def test_odd_bytes(store: Store, program: Callable[..., RustProgram]) -> None:
    """C13: the reported failure is the exit code, and what is shown is clean."""
    odd = r"sys.stdout.buffer.write(b'ok \xff\xfe \xe7\xbb\x93\xe6\x9d\x9f\n\x1b[31mwarn\x1b[0m <b>x</b>\x00\x08\n'); sys.stdout.flush()"
    record = runner.run(experiment(Case("a", program("a", odd))), store)
    shown = record.runs[0].stdout
    assert "结束" in shown
    assert "<b>x</b>" in shown
    assert not set(shown) & {"\x1b", "\x00", "\x08"}
    store.path("measured", "lab", "x").unlink()
    reason, stderr = failure(store, Case("a", program("a", odd.replace("stdout", "stderr") + "\nsys.exit(4)")))
    assert reason == "退出码 4"
    assert "warn" in stderr
    assert "\x1b" not in stderr


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        (lines()[:-1], ""),  # no end
        (lines(end=2), ""),  # 2 announced, 3 there
        ([*lines()[:2], '{"type":"fact","na'], ""),  # half a line
        (lines(samples="[NaN]"), ""),
        (lines(samples="[]"), ""),
        ([], "没有写出结果"),
        (['{"type":"header","protocol":1,"program":"fake","quick":false}', '{"type":"end","lines":1}'], "没有一个测量序列"),
        (lines(quick=True), "要不带 --quick 运行"),
        (lines(samples="[1, 1, 1]"), "结果不可信"),
        (lines(threads=2), "线程数不符：要 1，程序读回 2"),
        ([*lines()[:2], '{"type":"end","lines":2}'], "线程数不符：要 1，程序读回 没有报告"),
    ],
)
def test_results_that_do_not_count(store: Store, program: Callable[..., RustProgram], written: list[str], reason: str) -> None:
    """C16: with exit code 0, but not a whole result. C21: other threads than the label says."""
    body = "" if written else "open(os.environ['MEASURE_OUT'], 'w')"
    found, _ = failure(store, Case("a", program("a", body, written), threads=1))
    assert found.startswith(reason)
    assert found


def test_stdout_that_looks_like_the_protocol_is_only_text(store: Store, program: Callable[..., RustProgram]) -> None:
    """C16: results come by another way than what is printed."""
    body = """
    print('{"type":"fact","name":"threads","value":9}'); print('计时中… {"id":"a","t":'); print('warning: x', file=sys.stderr)
    """
    record = runner.run(experiment(Case("a", program("a", body), threads=1)), store)
    assert [f.value for f in record.runs[0].facts] == [1]


def test_a_program_that_floods_its_output(store: Store, program: Callable[..., RustProgram]) -> None:
    reason, _ = failure(store, Case("a", program("a", "print('x' * (2 << 20))")))
    assert reason == "输出超过 1 MiB"


def test_a_program_that_is_not_there(store: Store) -> None:
    reason, _ = failure(store, Case("a", RustProgram("nothing")))
    assert "启动不了" in reason


def test_versions_have_to_agree(store: Store, program: Callable[..., RustProgram]) -> None:
    cases = [Case(n, program(n, written=lines(facts=(fact("version-burn", n),)))) for n in "ab"]
    with pytest.raises(RunFailedError, match="版本不一致：burn"):
        runner.run(experiment(*cases), store)


def test_units_have_to_agree(store: Store, program: Callable[..., RustProgram]) -> None:
    """C25: told as a failure, like any other; the runs are kept."""
    cases = [Case("a", program("a")), Case("b", program("b", written=[line.replace('"ns"', '"byte"') for line in lines()]))]
    with pytest.raises(RunFailedError, match="b，第 1 轮：单位不一致：matmul 在这里是 byte，别处是 s") as caught:
        runner.run(experiment(*cases), store)
    assert [run.case for run in caught.value.attempt.runs] == ["a"]


def test_another_dtype_is_noted(store: Store, program: Callable[..., RustProgram]) -> None:
    """C24: read back from the result, and said at once; pages refuse the comparison."""
    cases = [Case(n, program(n, written=lines(facts=(fact("dtype", d),)))) for n, d in (("a", "f32"), ("b", "f64"))]
    progress = Notes()
    runner.run(experiment(*cases), store, progress=progress)
    assert any("b 的 dtype 是 f64" in note for note in progress.notes)


def test_paths_are_scrubbed(store: Store, program: Callable[..., RustProgram]) -> None:
    body = f"print(os.environ['HOME'], {str(ROOT)!r} + '/measure', os.getcwd())"
    record = runner.run(experiment(Case("a", program("a", body))), store)
    assert record.runs[0].stdout == "<scratch>/home ./measure <scratch>/work\n"


@pytest.fixture
def ann(monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """Host, user and home of a person; none of them may be in a record."""
    monkeypatch.setattr(platform, "node", lambda: "anns-laptop.lab.example")
    monkeypatch.setattr(privacy, "_account", lambda: ("annlee", "/home/annlee"))
    monkeypatch.setenv("HOME", "/home/annlee")
    monkeypatch.setenv("USER", "annlee")
    monkeypatch.setenv("PATH", f"/home/annlee/bin:{os.environ['PATH']}")
    monkeypatch.setenv("HOSTNAME", "anns-laptop")
    monkeypatch.setenv("API_TOKEN", "annlee-secret")
    return "anns-laptop", "annlee", "lab.example"


TELLS = "annlee@anns-laptop.lab.example: /home/annlee/book ANNS-LAPTOP"


def test_nobody_is_named_in_a_record(store: Store, program: Callable[..., RustProgram], ann: tuple[str, ...]) -> None:
    """Host, user and home in what is printed, in facts and their sources, in versions, arguments and variables; sorted environment too."""
    source = json.dumps({"type": "fact", "name": "note", "value": TELLS, "source": TELLS})
    written = lines(facts=(fact("version-lib", f"1.0 from {TELLS}"), source))
    body = f"print({TELLS!r}); print(dict(os.environ)); print(sys.argv); print({TELLS!r}, file=sys.stderr)"
    case = Case("a", program("a", body, written), args=("--cache", "/home/annlee/c"), env={"CACHE": "/home/annlee/c"}, threads=1)
    record = runner.run(experiment(case), store)
    text = store.path("measured", "lab", "x").read_text(encoding="utf-8")
    assert not [name for name in ann if name in text.lower()]
    (one,) = record.runs
    assert one.stdout.startswith("<user>@<host>: ~/book <host>\n")
    assert one.env["CACHE"] == "~/c"
    assert one.command == ("a", "--cache", "~/c")
    assert record.versions["lib"] == "1.0 from <user>@<host>: ~/book <host>"
    assert "secret" not in text


def test_nobody_is_named_in_a_failure(
    store: Store, program: Callable[..., RustProgram], ann: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not in the error text of a program, not in what is said of a result nobody can read, not in a build's."""
    dying = Case("a", program("a", f"print({TELLS!r}); raise SystemExit({TELLS!r})"))
    _, stderr = failure(store, dying)
    assert stderr == "<user>@<host>: ~/book <host>"
    failure(store, Case("a", program("a", written=[*lines()[:2], json.dumps({"type": TELLS, TELLS: TELLS})])))
    attempts = [store.path("failed", "lab", "x").read_text(encoding="utf-8")]

    def broken(package: str, on_crate: object, root: Path, features: object) -> Path:
        raise cargo.CargoError(f"编译 {package} 失败：{TELLS}")

    monkeypatch.setattr(cargo, "build", broken)
    reason, _ = failure(store, Case("build", program("a")))
    assert reason == "编译 a 失败：<user>@<host>: ~/book <host>"
    attempts.append(store.path("failed", "lab", "x").read_text(encoding="utf-8"))
    assert not [name for name in ann for text in attempts if name in text.lower()]


def test_quick_is_marked_and_passed_on(store: Store, program: Callable[..., RustProgram]) -> None:
    record = runner.run(
        experiment(Case("a", program("a", "print(sys.argv[1:])", lines(quick=True))), rounds=5), store, quick=True
    )
    assert record.quick
    assert len(record.runs) == 1
    assert record.runs[0].command == ("a", "--quick")
    assert record.runs[0].stdout == "['--quick']\n"


def test_a_build_that_fails(store: Store, program: Callable[..., RustProgram], monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(package: str, on_crate: object, root: Path, features: object) -> Path:
        raise cargo.CargoError(f"编译 {package} 失败：{ROOT}/x.rs")

    monkeypatch.setattr(cargo, "build", broken)
    reason, _ = failure(store, Case("build", program("a")))
    assert reason == "编译 a 失败：./x.rs"


def test_c14_a_record_that_its_place_refuses_is_kept_elsewhere(
    tmp_path: Path, store: Store, program: Callable[..., RustProgram], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Store, record: Measured) -> Path:
        raise NotWrittenError("x.json：磁盘满了")

    monkeypatch.setattr(Store, "save", refuse)
    x = experiment(Case("a", program("a")))
    with pytest.raises(NotWrittenError, match=r"磁盘满了。这次测的存在 (\S+)，改好之后把它复制到 (\S+)$") as error:
        runner.run(x, store)
    assert str(error.value).endswith(str(store.path("measured", "lab", "x")))
    kept = Store(tmp_path / "cache/rust-in-everything/unsaved").load("x", "lab")
    assert isinstance(kept, Measured)
    assert len(kept.runs) == 1
    monkeypatch.setattr(runner, "write", lambda path, record: refuse(store, record))
    with pytest.raises(NotWrittenError, match="要重新测"):
        runner.run(x, store)


def test_c14_failures_are_told_even_if_the_attempt_cannot_be_kept(
    store: Store, program: Callable[..., RustProgram], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Store, record: Measured) -> Path:
        raise NotWrittenError("x.json：磁盘满了")

    monkeypatch.setattr(Store, "save_attempt", refuse)
    progress = Notes()
    with pytest.raises(RunFailedError, match="退出码 3"):
        runner.run(experiment(Case("a", program("a", "sys.exit(3)"))), store, progress=progress)
    assert "x.json：磁盘满了" in progress.notes


def test_due_is_asked_again_when_another_measurement_is_over(store: Store, program: Callable[..., RustProgram]) -> None:
    x = experiment(Case("a", program("a")))
    assert runner.run_if_due(x, store) == store.load("x", "lab")
    assert runner.run_if_due(x, store) is None


def test_records_of_another_machine_under_this_label(
    store: Store, program: Callable[..., RustProgram], monkeypatch: pytest.MonkeyPatch
) -> None:
    """C45: refused before anything runs."""
    x = experiment(Case("a", program("a")))
    runner.run(x, store)
    other = machine.this_machine().model_copy(update={"cpu": "another"})
    monkeypatch.setattr(machine, "this_machine", lambda known: other)
    with pytest.raises(NotRunnableError, match="MEASURE_MACHINE"):
        runner.run(x, store)


def test_python_programs_run_by_module(tmp_path: Path, store: Store) -> None:
    """A module of the project, with this interpreter, without its folder in the record."""
    file = tmp_path / "root" / "measure" / "programs" / "fake.py"
    file.parent.mkdir(parents=True)
    for package in (file.parent, file.parent.parent):
        (package / "__init__.py").touch()  # a package of its own, before the installed one
    text = "\n".join(lines()) + "\n"
    file.write_text(f"import os\nopen(os.environ['MEASURE_OUT'], 'w').write({text!r})\nprint(__file__)\n", encoding="utf-8")
    case = Case("a", PythonProgram("fake", packages=()), args=("--threads", "1"))
    record = runner.run(experiment(case), store, root=tmp_path / "root")
    assert record.runs[0].command == ("python", "-m", "measure.programs.fake", "--threads", "1")
    assert record.runs[0].stdout == "./measure/programs/fake.py\n"


class TestBringUpToDate:
    """What the site's build asks for before it renders pages."""

    @pytest.fixture(autouse=True)
    def experiments(self, lab: None, monkeypatch: pytest.MonkeyPatch, program: Callable[..., RustProgram]) -> None:
        self.inputs = {"parameters": "0"}
        x = experiment(Case("a", program("a")))
        monkeypatch.setattr(runner, "load_all", lambda: {"x": x})
        monkeypatch.setattr(staleness, "inputs", lambda experiment, root=ROOT: self.inputs)

    def test_missing_then_nothing_then_stale(self, store: Store) -> None:
        progress = Notes()
        assert runner.bring_up_to_date(["x", "x"], store, "auto", progress) == []
        first = store.load("x", "lab")
        assert isinstance(first, Measured)
        assert progress.notes[0] == "x：这台机器还没有记录，开始测"
        progress = Notes()
        assert runner.bring_up_to_date(["x"], store, "auto", progress) == []
        assert progress.steps == []
        assert "不用测" in progress.notes[0]
        self.inputs = {"parameters": "1"}
        progress = Notes()
        assert runner.bring_up_to_date(["x"], store, "auto", progress) == []
        assert "变了：parameters" in progress.notes[0]
        second = store.load("x", "lab")
        assert isinstance(second, Measured)
        assert second.inputs == self.inputs
        progress = Notes()
        assert runner.bring_up_to_date(["x"], store, "fresh", progress) == []
        assert progress.steps

    def test_without_software_nothing_runs_and_nothing_fails(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(cargo, "missing", lambda: "没有 cargo")
        progress = Notes()
        assert runner.bring_up_to_date(["x"], store, "auto", progress) == []
        assert progress.notes == ["x：这里测不了，用现有的记录。没有 cargo"]

    def test_a_damaged_record_is_an_error_and_stays(self, store: Store) -> None:
        path = store.path("measured", "lab", "x")
        path.parent.mkdir(parents=True)
        path.write_text("{", encoding="utf-8")
        (error,) = runner.bring_up_to_date(["x"], store, "fresh")
        assert "损坏" in error
        assert path.read_text(encoding="utf-8") == "{"

    def test_a_failure_is_an_error(self, store: Store, program: Callable[..., RustProgram]) -> None:
        program("a", "sys.exit(3)")
        (error,) = runner.bring_up_to_date(["x"], store, "auto")
        assert "退出码 3" in error

    def test_an_unknown_experiment(self, store: Store) -> None:
        (error,) = runner.bring_up_to_date(["y"], store, "auto")
        assert error == "没有实验 y。有：x"


def test_failed_attempts_are_strict_json(store: Store, program: Callable[..., RustProgram]) -> None:
    failure(store, Case("a", program("a", "sys.exit(1)")))
    data = json.loads(store.path("failed", "lab", "x").read_text(encoding="utf-8"))
    assert data["failures"][0]["reason"] == "退出码 1"
    with pytest.raises(StoreError):
        store.save(Measured.model_validate(data, strict=False))


def test_machine_is_recorded(store: Store, program: Callable[..., RustProgram]) -> None:
    record = runner.run(experiment(Case("a", program("a"))), store)
    assert isinstance(record.machine, Machine)
    assert record.machine == machine.this_machine()
