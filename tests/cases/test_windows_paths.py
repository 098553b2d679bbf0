"""Text is UTF-8 and names are portable, whatever system a file comes from or goes to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from measure import runner
from measure.experiment import Case, RustProgram
from measure.record import Fact
from measure.store import Store, StoreError
from tests import elsewhere
from tests.books import GOOD, OTHER, build, change, contents, good, mistakes, of, page, words
from tests.programs import experiment, fact, lines
from tests.records import LAB, SLOW_AND_FAST, measured, run


def test_c40_a_build_where_text_is_ascii_gives_the_same_bytes(book: Path) -> None:
    facts = [Fact(name="name", value="计时 µs，“引号”、𝛽、é")]
    Store(book / "records").save(of(measured(run("slow", 1, (0.04,), facts=facts), run("fast", 1, (0.01,)))))
    (book / "records/measured/box/cpu-matmul.json").unlink()
    change(book, {"a.md": f'{GOOD}\n[= m.fact("name") =]\n'})
    usual = contents(good(book, "--strict"))
    assert contents(good(book, "--strict", **elsewhere.ASCII)) == usual
    assert "计时 µs，“引号”、𝛽、é" in words(usual["a/index.html"].decode())


def test_c40_files_as_other_systems_save_them(book: Path) -> None:
    """A page and a record with a BOM, with CRLF; in another encoding a record is damaged, and a page is no page."""
    usual = contents(good(book))
    record = book / "records/measured/lab/cpu-matmul.json"
    plain = record.read_bytes()
    for path in (record, book / "docs/a.md", book / "docs/b.md"):
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert contents(good(book)) == usual
    for damaged in (plain.decode().encode("utf-16"), plain.replace("计时".encode(), "计时".encode("gbk"))):
        record.write_bytes(damaged)
        with pytest.raises(StoreError, match=r"lab/cpu-matmul\.json：记录损坏"):
            Store(book / "records").load("cpu-matmul", "lab")


def test_c40_a_page_that_is_not_utf8_is_named_with_its_line(book: Path) -> None:
    (book / "docs/b.md").write_bytes(b"# B\n\n" + "## 计时方法\n".encode("gbk"))
    found = [m for m in mistakes(book) if m.startswith("docs/b.md")]
    assert found == ["docs/b.md:3：这里不是 UTF-8 编码的文字。用编辑器把文件另存为 UTF-8"]


def test_c40_names_of_pages_may_be_chinese_where_the_system_can_read_them(book: Path) -> None:
    change(book, {"子页/甲 乙.md": "# 丙\n\n[回去](../a.md)\n", "b.md": OTHER + "\n[丙](子页/甲 乙.md)\n"})
    assert "丙" in page(good(book, "--strict"), "子页/甲 乙")
    done = build(book, **elsewhere.ASCII)
    assert done.returncode == 1
    assert "设 PYTHONUTF8=1" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "name",
    [
        "jax:add@2024-01-01T00:00:00",
        "a/b",
        "a\\b",
        "..",
        ".",
        "CON",
        "con",
        "nul",
        "com1",
        "lpt9",
        "加法 1",
        "A",
        "a.",
        "a ",
        "a\n",
        "é",
        "x" * 65,
        "",
        "-a",
        "a--b",
    ],
)
def test_c40_names_are_portable_or_refused(tmp_path: Path, name: str) -> None:
    """A name is a file's name as it stands, so nothing has to be turned back; two that differ in case cannot both be one."""
    store = Store(tmp_path / "records")
    for experiment_, machine in ((name, "lab"), ("x", name)):
        with pytest.raises(StoreError, match="小写字母、数字和连字符"):
            store.path("measured", machine, experiment_)
    record = SLOW_AND_FAST.model_copy(update={"experiment": name, "machine": LAB})
    with pytest.raises(StoreError):
        store.save(record)
    assert not list(tmp_path.rglob("*"))


def test_c40_a_program_prints_chinese_into_a_file_whatever_the_shell(
    store: Store, lab: None, program: Callable[..., RustProgram], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in elsewhere.ASCII.items():
        monkeypatch.setenv(name, value)
    case = Case("a", program("a", "print('计时 µs：完成', flush=True)", lines(facts=(fact("note", "计时 µs"),))))
    record = runner.run(experiment(case), store)
    assert record.runs[0].stdout == "计时 µs：完成\n"
    assert store.load("x", "lab") == record
    assert "计时 µs".encode() in store.path("measured", "lab", "x").read_bytes()
