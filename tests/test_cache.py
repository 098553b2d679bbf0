import subprocess
import sys
from pathlib import Path

import pytest

from measure.cache import kept
from measure.macros import Mistake, records_used


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "rust-in-everything" / "things"


class Maker:
    """Gives its text, and counts how often it was asked."""

    def __init__(self, text: bytes) -> None:
        self.text, self.asked = text, 0

    def __call__(self) -> bytes:
        self.asked += 1
        return self.text


def test_the_same_input_is_made_once_and_another_again() -> None:
    one, other = Maker(b"one"), Maker(b"other")
    assert [kept("things", b"1", one), kept("things", b"1", one), kept("things", b"2", other)] == [b"one", b"one", b"other"]
    assert (one.asked, other.asked) == (1, 1)


@pytest.mark.parametrize("damage", [b"", b"\0" * 7, b"\0" * 40])
def test_a_file_that_is_cut_off_or_altered_counts_as_none(folder: Path, damage: bytes) -> None:
    maker = Maker(b"whole")
    kept("things", b"1", maker)
    (file,) = folder.iterdir()
    file.write_bytes(damage)
    assert (kept("things", b"1", maker), maker.asked) == (b"whole", 2)
    assert (kept("things", b"1", maker), maker.asked) == (b"whole", 2)


def test_where_nothing_can_be_written_the_result_is_made_each_time(tmp_path: Path) -> None:
    (tmp_path / "rust-in-everything").write_text("a file in the folder's place")
    maker = Maker(b"made")
    assert (kept("things", b"1", maker), kept("things", b"1", maker), maker.asked) == (b"made", b"made", 2)


def test_nobody_else_can_write_into_the_folder(folder: Path) -> None:
    kept("things", b"1", Maker(b""))
    assert folder.stat().st_mode & 0o077 == 0
    assert [file.suffix for file in folder.iterdir()] == [""], "nothing temporary is left"


def test_a_page_that_was_compiled_before_says_the_same(tmp_path: Path) -> None:
    """In two processes, the second of which finds what the first left; and again after every file there was broken."""
    page = '[% set m = record("x") %]\n[= record("y") =][= record(m) =]\n[% if %]'
    good = page.rpartition("\n")[0]
    script = "import sys; from measure.macros import records_used; print([records_used(t, 'p', 3) for t in sys.argv[1:]])"

    def told() -> str:
        command = [sys.executable, "-c", script, page, good]
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parent.parent).stdout

    cold = told()
    files = list((tmp_path / "rust-in-everything" / "templates").iterdir())
    assert len(files) == 1, "what is no template is not kept"
    assert told() == cold
    for file in files:
        file.write_bytes(file.read_bytes()[:-1])
    assert told() == cold
    assert records_used(good, "p", 3) == (
        (("x", 3), ("y", 4)),
        [Mistake("p", 4, 'record 只能写成 record("实验名")，实验名是字面的字符串')],
    )
