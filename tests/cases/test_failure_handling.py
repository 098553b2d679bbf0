"""What fails is told, with its reason; what was good stays; nothing in between is published."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from measure import runner
from measure.experiment import Case, RustProgram
from measure.runner import RunFailedError
from measure.store import Store
from tests.books import SETS, build, change, contents, good, mistakes, of, page, write
from tests.programs import experiment, failure, lines, marked
from tests.projects import Project, refused
from tests.records import measured, run


def test_c05_c08_every_mistake_is_listed_and_the_last_good_site_stays(book: Path) -> None:
    """Whatever goes wrong while a page is rendered, under plain `mkdocs build`; several pages in one list."""
    before = contents(good(book))
    wrong = {
        '比值 [= ratio(m.series("no-such-id", "matmul").typical, fast.typical) =]': "cpu-matmul 没有叫 no-such-id 的实现",
        "[= slow.typical / 0 =]": "只能乘除正数，这里是 0",
        "[= 1 / 0 =]": "参数不对",
        "[= slow.round(99).min =]": "没有第 99 轮",
        "[= table([1], [2]) =]": "",
        "[= output(m) =]": "上没有",
        "[= best() =]": "best() 至少要一组数据",
        "[= slow.typical": "写法不对",
    }
    for k, source in enumerate(wrong):
        change(book, {f"bad{k}.md": f"{SETS}# 坏\n\n{source}\n"})
    done = build(book)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    for k, says in enumerate(wrong.values()):
        assert re.search(rf"docs/bad{k}\.md:6：.*{re.escape(says)}", done.stderr), (k, done.stderr)
    assert contents(book / "site") == before


def test_c09_a_failed_experiment_stops_the_build_that_asked_for_it(project: Project) -> None:
    """Its record is stale and it now ends with 3 after it wrote its lines: neither the new line nor a blank is published."""
    site, record = contents(project.site), project.record.read_bytes()
    with (project.root / "measure/programs/fake.py").open("a", encoding="utf-8") as file:
        file.write("import sys\nprint('boom', file=sys.stderr)\nsys.exit(3)\n")
    said = refused(project.start("mkdocs", "build", mode="auto"))
    assert "退出码 3" in said
    assert "boom" in said
    assert (contents(project.site), project.record.read_bytes()) == (site, record)
    project.well("mkdocs", "build")  # with what there is: old, and marked as old
    html = (project.site / "index.html").read_text(encoding="utf-8")
    assert 'class="measured stale"' in html
    assert "过期：" in html
    assert '"failures": []' in project.record.read_text(encoding="utf-8")


def test_c11_what_dies_early_is_no_winner(tmp_path: Path, lab: None, program: Callable[..., RustProgram]) -> None:
    """Two good variants and one that ends after an instant: no record, and the page that asks says which died and of what."""
    book = write(tmp_path / "book", {"a.md": f"{SETS}# 甲\n\n最快：[= best(slow, fast).typical =]\n"})
    store = Store(book / "records")
    store.path("measured", "lab", "cpu-matmul").unlink()
    cases = (
        Case("slow", program("slow", written=lines("[2000000000]"))),
        Case("fast", program("fast", written=lines("[1600000000]"))),
        Case("dead", program("dead", "sys.exit(1)", lines("[10000000]"))),
    )
    with pytest.raises(RunFailedError):
        runner.run(experiment(*cases), Store(tmp_path / "attempts"))
    attempt = json.loads((tmp_path / "attempts/failed/lab/x.json").read_text(encoding="utf-8"))
    place = store.path("failed", "lab", "cpu-matmul")
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps(attempt | {"experiment": "cpu-matmul"}), encoding="utf-8")
    (found,) = mistakes(book)
    assert found.startswith("docs/a.md:1：cpu-matmul 在 lab 上没有记录")
    assert "上一次测量失败：dead，第 1 轮：退出码 1" in found


FLIGHTS = {
    "a shell's job": "subprocess.Popen(['bash', '-c', 'sleep {m} & sleep {m}'])",
    "another session": "subprocess.Popen(['sleep', '{m}'], start_new_session=True)",
    "an orphan": "subprocess.Popen(['sh', '-c', 'setsid sleep {m} & exit'], start_new_session=True).wait()",
    "another environment": "subprocess.Popen(['env', '-i', 'setsid', 'sleep', '{m}'])",
    "an orphan in another environment": "subprocess.Popen(['sh', '-c', 'env -i setsid sleep {m} & exit'], start_new_session=True).wait()",
    "deaf to signals": "subprocess.Popen(['sh', '-c', 'trap \"\" TERM INT HUP; sleep {m}; sleep {m}'], start_new_session=True)",
}


@pytest.mark.parametrize("flight", FLIGHTS)
def test_c12_nothing_outlives_a_run(store: Store, lab: None, program: Callable[..., RustProgram], flight: str) -> None:
    """At the time limit, and after an ordinary end; the next program begins only then."""
    mark = f"61.{os.getpid()}{list(FLIGHTS).index(flight)}"
    spawn = FLIGHTS[flight].format(m=mark)
    begin = time.monotonic()
    reason, _ = failure(store, Case("a", program("a", f"{spawn}\ntime.sleep(60)")), timeout=1)
    assert reason.startswith("超时")
    assert time.monotonic() - begin < 20
    assert marked(mark) == []
    ordinary = Case("b", program("b", f"{spawn}\ntime.sleep(0.3)"))
    following = Case("c", program("c", f"print(subprocess.run(['pgrep', '-f', 'sleep {mark}'], capture_output=True).stdout)"))
    record = runner.run(experiment(ordinary, following), store)
    assert record.runs[1].stdout == "b''\n"


ODD = r"ok \xff\xfe \xe7\xbb\x93\xe6\x9d\x9f\n\x1b[31mwarn\x1b[0m <b>x</b>\x00\x08\n\x1b]0;title\x07\x9b2K50%\r100%\n"


def test_c13_odd_output_is_shown_and_hides_no_exit_code(
    tmp_path: Path, store: Store, lab: None, program: Callable[..., RustProgram]
) -> None:
    body = f"sys.stdout.buffer.write(b'{ODD}'); sys.stdout.flush()"
    reason, _ = failure(store, Case("a", program("a", f"{body}\nsys.exit(4)")))
    assert reason == "退出码 4"
    shown = runner.run(experiment(Case("a", program("a", body))), store).runs[0].stdout
    record = measured(run("slow", 1, (0.04,), stdout=shown), run("fast", 1, (0.01,)))
    book = write(tmp_path / "book", {"a.md": f'{SETS}# 甲\n\n[= output(m, "slow") =]\n'})
    Store(book / "records").save(of(record))
    html = page(good(book), "a")
    assert "ok \ufffd\ufffd 结束" in html
    assert "warn &lt;b&gt;x&lt;/b&gt;" in html
    assert "100%" in html
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", html)


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ([*lines()[:1], '计时中… {"type":"fact","na', *lines()[1:]], "第 2 行"),
        ([lines()[0], lines()[1].replace("1000", "10warning: x00"), *lines()[2:]], "第 2 行"),
        ([*lines()[:2], lines(end=3)[-1]], "第 3 行"),  # 3 announced, 2 there
        ([*lines(), "log: done"], "第 5 行"),
        (lines()[:-1], ""),
    ],
    ids=["a line cut by a message", "a message within a number", "one too few", "something after the end", "no end"],
)
def test_c16_a_result_counts_whole_or_not(
    store: Store, lab: None, program: Callable[..., RustProgram], written: list[str], reason: str
) -> None:
    """With exit code 0. What is printed on stdout or stderr, whatever it looks like, is no result."""
    found, _ = failure(store, Case("a", program("a", "", written)))
    assert found.startswith(reason)
    assert found
    noise = 'print(\'{"type":"fact","name":"threads","value":9}\'); print(\'warning: unused\\r 50%\', file=sys.stderr)'
    record = runner.run(experiment(Case("a", program("a", noise))), store)
    assert [f.value for f in record.runs[0].facts] == [1]


def test_c16_a_round_that_gives_less_than_the_others_is_no_full_run(
    store: Store, lab: None, program: Callable[..., RustProgram]
) -> None:
    """Each file is whole; that the second lacks a series only shows beside the first."""
    less = lines()
    more = [*less[:-1], less[1].replace("matmul", "train-step"), json.dumps({"type": "end", "lines": len(less)})]
    first = str(store.root.parent / "first")
    body = f"""
    if not os.path.exists({first!r}):
        open({first!r}, "w")
        open(os.environ["MEASURE_OUT"], "w").write({chr(10).join(more)!r})
    """
    case = Case("a", program("a", body))
    with pytest.raises(RunFailedError, match="测量序列和第 1 轮不一样：train-step/steady/ready 只有一轮有"):
        runner.run(experiment(case, rounds=2), store)
