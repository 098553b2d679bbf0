"""The command `measure`: exit codes, JSON, and errors that name the cure."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from measure import cli, machine, runner, staleness
from measure.check import Checked
from measure.experiment import Case, Experiment, RustProgram
from measure.macros import Mistake
from measure.record import Conditions, Failure, Measured, Run, Series
from measure.runner import RunFailedError
from measure.store import Store

ROOT = Path(__file__).parent.parent


@pytest.fixture(autouse=True)
def lab(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One experiment `x`, on a machine `lab` where it can run."""
    x = Experiment("x", "?", lambda m: (Case("a", RustProgram("a")),), 1, 1, 1)
    monkeypatch.setenv("MEASURE_MACHINE", "lab")
    monkeypatch.setattr(cli, "load_all", lambda: {"x": x})
    monkeypatch.setattr(staleness, "inputs", lambda experiment, root=ROOT: {"parameters": "0"})
    monkeypatch.setattr(staleness, "missing_software", lambda experiment, here, root=ROOT: None)


def record(inputs: dict[str, str] | None = None, **changes: object) -> Measured:
    quiet = Conditions(at="2026-01-01T00:00:00Z", load=0.0, busy=0.0)
    series = Series(metric="matmul", phase="steady", scope="ready", unit="s", samples=(0.002, 0.004))
    one = Run(
        case="a", round=1, command=("a",), env={}, before=quiet, after=quiet, wall=1.0, cpu=1.0, stdout="a: 2 runs\n", series=(series,)
    )  # fmt: skip
    made = Measured(
        schema_version=1, origin="measured", experiment="x", machine=machine.this_machine(), quick=False, protocol=1,
        started="2026-01-01T00:00:00Z", finished="2026-01-01T00:00:00Z", rounds=1, inputs={"parameters": "0"} if inputs is None else inputs, versions={"torch": "2.15.0"}, runs=(one,),
    )  # fmt: skip
    return made.model_copy(update=changes)


def call(store: Store, *args: str) -> Result:
    return CliRunner().invoke(cli.main, ["--records", str(store.root), *args])


def test_list_without_records(store: Store) -> None:
    result = call(store, "list")
    assert result.exit_code == 0, result.output
    assert "没有" in result.output


def test_list_and_why_fresh_and_stale(store: Store) -> None:
    store.save(record())
    result = call(store, "list", "--json")
    assert result.exit_code == 0
    (found,) = json.loads(result.stdout)
    assert (found["experiment"], found["machine"], found["state"]) == ("x", "lab", "fresh")
    store.save(record({"parameters": "1"}))
    assert call(store, "list").exit_code == 1
    result = call(store, "why", "x")
    assert result.exit_code == 1
    assert "变了：parameters" in result.stdout
    (found,) = json.loads(call(store, "why", "--json").stdout)
    assert found["changed"] == ["parameters"]


def test_why_reports_another_toolchain_without_calling_it_stale(store: Store) -> None:
    store.save(record(versions={"python": "2.7"}))
    result = call(store, "why", "x")
    assert result.exit_code == 0
    assert "python：记录 2.7" in result.stdout


def test_why_says_what_became_of_each_input_and_what_to_do(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    now = {"parameters": "0", "requirements/live.txt: torch": "1", "measure/programs/a.py": "2"}
    monkeypatch.setattr(staleness, "inputs", lambda experiment, root=ROOT: now)
    then = {"parameters": "9", "requirements/live.txt: torch": "1", "rust_examples/a": "3"}
    store.save(record(then))
    result = call(store, "why", "x")
    assert result.exit_code == 1
    assert result.stdout.splitlines()[1:5] == [
        "  多了：measure/programs/a.py",
        "  变了：parameters（实验要的实现、参数、轮数、环境变量和摘录）",
        "  少了：rust_examples/a",
        "  重新测：measure run x",
    ]
    (found,) = json.loads(call(store, "why", "--json").stdout)
    assert found["inputs"] == {"measure/programs/a.py": "added", "parameters": "changed", "rust_examples/a": "removed"}
    elsewhere = machine.this_machine().model_copy(update={"label": "box"})
    store.save(record(then).model_copy(update={"machine": elsewhere}))
    assert "  在 box 上重新测：measure run x" in call(store, "why", "x").stdout.splitlines()


def test_why_there_is_no_record(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """C09: a failed attempt is no record, and is told of while there is none."""
    assert call(store, "why", "x").stdout == "x，lab：没有\n  测一次：measure run x\n"
    failed = Failure(case="a", params={"threads": 1}, round=2, reason="退出码 3")
    store.save_attempt(record(failures=(failed,)))
    assert "  上一次没有测成：a threads=1，第 2 轮：退出码 3\n" in call(store, "why", "x").stdout
    (found,) = json.loads(call(store, "why", "x", "--json").stdout)
    assert found["failures"] == ["a threads=1，第 2 轮：退出码 3"]
    monkeypatch.setattr(staleness, "missing_software", lambda experiment, here, root=ROOT: "没有 cargo")
    assert call(store, "why", "x").stdout.splitlines()[-1] == "  这里测不了：没有 cargo"
    store.save(record())
    store.save_attempt(record(failures=(failed,)))
    assert "没有测成" not in call(store, "why", "x").stdout


def test_damaged_record(store: Store) -> None:
    path = store.path("measured", "lab", "x")
    path.parent.mkdir(parents=True)
    path.write_text("", encoding="utf-8")
    result = call(store, "list")
    assert result.exit_code == 1
    assert "损坏" in result.stdout
    result = call(store, "run", "x")
    assert result.exit_code == 1
    assert "git checkout" in result.stderr
    assert call(store, "show", "x").exit_code == 1


def test_show(store: Store) -> None:
    result = call(store, "show", "x")
    assert result.exit_code == 1
    assert "measure run x" in result.stderr
    store.save(record())
    result = call(store, "show", "x")
    assert result.exit_code == 0
    assert "2.000 ms" in result.stdout
    assert "3.000 ms" in result.stdout
    assert json.loads(call(store, "show", "x", "--json").stdout)["experiment"] == "x"
    result = call(store, "show", "x", "--machine", "other")
    assert result.exit_code == 1
    assert "有记录的机器：lab" in result.stderr


def test_run_does_nothing_when_fresh_and_says_so(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[bool] = []

    def fake(experiment: Experiment, target: Store, *, progress: runner.Progress, quick: bool = False) -> Measured:
        ran.append(quick)
        made = record(quick=quick)
        target.save(made)
        return made

    monkeypatch.setattr(runner, "run", fake)
    monkeypatch.setattr(runner, "run_if_due", fake)
    assert call(store, "run", "x").exit_code == 0
    result = call(store, "run", "--all")
    assert result.exit_code == 0
    assert "没有要做的" in result.stderr
    assert ran == [False]
    assert call(store, "run", "x", "--force").exit_code == 0
    before = store.path("measured", "lab", "x").read_bytes()
    result = call(store, "run", "x", "--quick")
    assert result.exit_code == 0
    assert "a: 2 runs" in result.stdout
    assert ran == [False, False, True]
    assert store.path("measured", "lab", "x").read_bytes() == before


def test_run_fails_when_a_run_fails(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """C09."""

    def fake(*_: object, **__: object) -> Measured:
        raise RunFailedError(record(failures=(Failure(case="a", round=1, reason="退出码 3", stderr="boom"),)))

    monkeypatch.setattr(runner, "run", fake)
    monkeypatch.setattr(runner, "run_if_due", fake)
    result = call(store, "run", "x")
    assert result.exit_code == 1
    assert "x：a，第 1 轮：退出码 3\n    boom" in result.stderr
    assert json.loads(call(store, "run", "x", "--json").stdout)["errors"]


@pytest.mark.parametrize(
    ("args", "cure"),
    [(("run",), "measure list"), (("run", "y"), "没有实验 y。有：x"), (("why", "y"), "有：x")],
)
def test_wrong_calls(store: Store, args: tuple[str, ...], cure: str) -> None:
    result = call(store, *args)
    assert result.exit_code == 1
    assert cure in result.stderr


def test_export_and_import(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    result = call(store, "export")
    assert result.exit_code == 1
    assert "lab 没有测得的记录" in result.stderr
    store.save(record({"parameters": "1"}))
    result = call(store, "export")
    assert result.exit_code == 0, result.output
    assert "measure import lab.bundle.json" in result.stdout
    found = json.loads(call(store, "export", "x", "-o", "again.json", "--json").stdout)
    assert [entry["experiment"] for entry in found["contents"]] == ["x"]
    assert Path("again.json").read_bytes() == Path("lab.bundle.json").read_bytes()
    there = Store(tmp_path / "there")
    result = call(there, "import", "lab.bundle.json")
    assert result.exit_code == 0, result.output
    assert "新收下" in result.stdout
    assert "measure why" in result.stdout  # made from other sources than those here
    (taken,) = json.loads(call(there, "import", "lab.bundle.json", "--json").stdout)["records"]
    assert (taken["what"], taken["changed"]) == ("same", ["parameters"])
    assert there.load("x", "lab") == store.load("x", "lab")
    assert call(there, "import", "lab.bundle.json", "--as", "desk").exit_code == 0
    assert there.machines("x") == ("desk", "lab")


def test_an_import_that_is_refused_lists_all_reasons(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """C45: what is wrong, and the cures; the store stays as it is."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    store.save(record())
    assert call(store, "export").exit_code == 0
    newer = record(finished="2026-02-01T00:00:00Z", machine=machine.this_machine().model_copy(update={"cpu": "other"}))
    there = Store(tmp_path / "there")
    there.save(newer)
    result = call(there, "import", "lab.bundle.json")
    assert result.exit_code == 1
    assert [line.partition("：")[0] for line in result.stderr.splitlines()] == ["错误", "错误"]
    assert "指纹不同" in result.stderr
    assert "--older" in result.stderr
    assert there.load("x", "lab") == newer


def test_missing_lock_is_an_error(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> dict[str, str]:
        raise staleness.InputError("requirements/live.txt：没有这个文件")

    store.save(record())
    monkeypatch.setattr(staleness, "inputs", broken)
    result = call(store, "list")
    assert result.exit_code == 1
    assert "requirements/live.txt" in result.stderr


def test_check_lists_problems_and_fails_only_then(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    found = Checked((Mistake("docs/a.md", 7, "不认识的名字 nope"), Mistake("docs/b.md", 1, "没有去处")), 2, 3)
    monkeypatch.setattr("measure.check.check", lambda settings, records: found if records == store else None)
    result = call(store, "check")
    assert result.exit_code == 1
    assert result.stderr == "docs/a.md:7：不认识的名字 nope\ndocs/b.md:1：没有去处\n2 页，按机器共渲染 3 次：有 2 处要改\n"
    result = call(store, "check", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["problems"][0] == {"file": "docs/a.md", "line": 7, "message": "不认识的名字 nope"}
    monkeypatch.setattr("measure.check.check", lambda settings, records: Checked((), 2, 3))
    assert call(store, "check").exit_code == 0
    assert call(store, "check").stdout == "2 页，按机器共渲染 3 次：没有要改的\n"


@pytest.fixture
def committed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A repository with a page and a record, and a record half as long in its place since."""
    (tmp_path / "docs").mkdir()
    page = '[% set a = record("x").series("a", "matmul") %]\n# 题\n\n[% claim a.typical > q("2 ms") %]久。[% elif q("2 ms") > a.typical %]快。[% endclaim %]\n'
    (tmp_path / "docs" / "a.md").write_text(page, encoding="utf-8")
    made = Store(tmp_path / "records")
    made.save(record())
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *command], cwd=tmp_path, check=True)
    faster = made.load("x", "lab")
    assert isinstance(faster, Measured)
    series = faster.runs[0].series[0].model_copy(update={"samples": (0.001, 0.002)})
    made.save(faster.model_copy(update={"runs": (faster.runs[0].model_copy(update={"series": (series,)}),)}))
    monkeypatch.setattr(staleness, "ROOT", tmp_path)
    return made


def test_diff(committed: Store) -> None:
    result = call(committed, "diff")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("从 HEAD 到 工作区\nx，lab：1 组数据变得超出噪声")
    assert "docs/a.md，lab：换了结论的 claim" in result.stdout
    assert re.search(r"4 +久。 +快。", result.stdout)
    found = json.loads(call(committed, "diff", "--json").stdout)
    assert found["records"][0]["series"][0]["kind"] == "down"
    assert found["pages"][0]["claims"][0]["new"] == "快。"
    result = call(committed, "diff", "HEAD", "HEAD")
    assert (result.exit_code, result.stdout) == (0, "从 HEAD 到 HEAD：没有不同\n")
    result = call(committed, "diff", "x@lab", str(committed.path("measured", "lab", "x")))
    assert result.stdout.endswith("：没有不同\n")


def test_diff_fails_where_a_build_would_or_a_record_cannot_be_read(committed: Store) -> None:
    page = committed.root.parent / "docs" / "a.md"
    page.write_text(page.read_text(encoding="utf-8").replace('[% elif q("2 ms") > a.typical %]快。', ""), encoding="utf-8")
    result = call(committed, "diff")
    assert result.exit_code == 1
    assert "错误：docs/a.md:4：claim 里没有一句话合 lab 的数据" in result.stderr
    assert "换了结论的 claim" in result.stdout
    committed.path("measured", "lab", "x").write_text("", encoding="utf-8")
    result = call(committed, "diff")
    assert result.exit_code == 1
    assert "文件是空的" in result.stderr
    for wrong in (("nope",), ("x@lab",), ("x@box", "x@lab")):
        result = call(committed, "diff", *wrong)
        assert (result.exit_code, result.stdout) == (1, "")
        assert result.stderr.startswith("错误：")


def test_an_error_of_the_file_system_is_told_in_one_sentence(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> Measured:
        raise OSError(28, "No space left on device", "scratch/work")

    monkeypatch.setattr(runner, "run_if_due", full)
    result = call(store, "run", "x")
    assert result.exit_code == 1
    assert result.stderr.endswith("错误：scratch/work：磁盘满了（No space left on device）。腾出空间，再运行一次\n")


def test_help_is_chinese(store: Store) -> None:
    for command in cli.main.commands.values():
        assert isinstance(command, click.Command)
        assert any("\u4e00" <= c <= "\u9fff" for c in command.help or "")


def test_progress_is_plain_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    progress = cli.PlainProgress()
    progress.step("编译 a", 0, 2, None)
    progress.step("编译 a", 0, 2, None, "Compiling x")
    progress.step("测 a", 1, 2, 61.0)
    progress.note("好了")
    assert capsys.readouterr().err == "[1/2] 编译 a，已用 0:00\n[2/2] 测 a，已用 0:00，约剩 1:01\n好了\n"


def test_rich_progress_shows_brackets_as_they_are() -> None:
    display = cli.RichProgress()
    with display.bar:
        display.step("编译 [a]", 0, 2, 1.0, "Compiling [/x]")
        display.note("[不是标记]")


def test_list_starts_without_heavy_imports() -> None:
    """Nothing heavy before it is needed; torch never."""
    code = "import sys, measure.cli; print(sorted({'torch', 'jax', 'numpy', 'rich', 'mkdocs'} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"
