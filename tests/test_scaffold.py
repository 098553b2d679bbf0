"""`measure new`: what it writes is right as it is, and what it refuses leaves nothing behind."""

from __future__ import annotations

import ast
import shutil
import tomllib
from pathlib import Path

import autocorrect_py
import pytest
from click.testing import CliRunner

from measure import cargo, cli, scaffold

ROOT = Path(__file__).parent.parent
NAME = "sum-of-squares"
MADE = [
    "docs/tenferro/sum-of-squares.md",
    "measure/experiments/sum_of_squares.py",
    "measure/programs/sum_of_squares.py",
    "rust_examples/sum-of-squares/Cargo.toml",
    "rust_examples/sum-of-squares/src/main.rs",
    "tests/test_sum_of_squares.py",
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "rust_examples").mkdir()
    for name in (scaffold.CONFIG, scaffold.MANIFEST, scaffold.LOCK):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def contents(root: Path) -> dict[str, bytes]:
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}


def test_the_files_and_the_entries_that_lead_to_them(root: Path) -> None:
    shared = [scaffold.CONFIG, scaffold.MANIFEST, scaffold.LOCK]
    before = {name: (root / name).read_text(encoding="utf-8").splitlines() for name in shared}
    assert list(scaffold.new(root, NAME, "tenferro")) == [*MADE, *shared]
    added = {
        name: [line for line in (root / name).read_text(encoding="utf-8").splitlines() if line not in before[name]]
        for name in shared
    }
    assert added == {
        "mkdocs.yml": ["      - tenferro/sum-of-squares.md"],
        "rust_examples/Cargo.toml": ['    "sum-of-squares",'],
        "rust_examples/Cargo.lock": ['name = "sum-of-squares"'],
    }
    for path in MADE:
        text = (root / path).read_text(encoding="utf-8")
        assert "⟨" not in text
        if path.endswith(".py"):
            ast.parse(text)
    page = (root / MADE[0]).read_text(encoding="utf-8")
    assert autocorrect_py.lint_for(page, "markdown").lines == []
    assert "measure run sum-of-squares" in page


@pytest.mark.parametrize("name", ["a", "sum-of-squares", "zzz"])
def test_the_lock_is_what_cargo_would_write(root: Path, name: str) -> None:
    """Entries sorted by name, each between empty lines, and the others as they were."""
    before = tomllib.loads((root / scaffold.LOCK).read_text(encoding="utf-8"))["package"]
    scaffold.new(root, name, "burn")
    text = (root / scaffold.LOCK).read_text(encoding="utf-8")
    after = tomllib.loads(text)["package"]
    assert [p["name"] for p in after] == sorted([*(p["name"] for p in before), name])
    assert [p for p in after if p["name"] != name] == before
    assert "\n\n\n" not in text
    assert text.count("\n\n[[package]]\n") == len(after)
    assert text.endswith("]\n")
    assert {name, "measure", "cpu-time"} <= {entry["name"] for entry in cargo.closure(name, root)}


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("Sum", "名字 Sum 不行"),
        ("sum_of", "名字 sum_of 不行"),
        ("-sum", "名字 -sum 不行"),
        ("../sum", "名字 ../sum 不行"),
        ("9", "名字 9 不行"),
        ("和", "名字 和 不行"),
        ("a" * 41, "最多 40 个字符"),
        ("import", "保留字"),
        ("fn", "保留字"),
        ("serde", "Cargo.lock 里已经有叫 serde 的 crate"),
        ("svd-time", "已经有叫 svd-time 的 crate"),
    ],
)
def test_a_bad_name_leaves_everything_as_it_was(root: Path, name: str, why: str) -> None:
    before = contents(root)
    with pytest.raises(scaffold.ScaffoldError, match=why):
        scaffold.new(root, name, "burn")
    assert contents(root) == before


@pytest.mark.parametrize("path", MADE)
def test_an_existing_file_is_named_and_kept(root: Path, path: str) -> None:
    (root / path).parent.mkdir(parents=True)
    (root / path).write_text("mine", encoding="utf-8")
    before = contents(root)
    with pytest.raises(scaffold.ScaffoldError, match=f"{path} 已经有了"):
        scaffold.new(root, NAME, "tenferro")
    assert contents(root) == before


def test_what_cannot_be_written_is_taken_back(root: Path) -> None:
    (root / "tests").write_text("a file where a folder has to be", encoding="utf-8")
    before = contents(root)
    folders = {p for p in root.rglob("*") if p.is_dir()}
    with pytest.raises(scaffold.ScaffoldError, match="tests"):
        scaffold.new(root, NAME, "burn")
    assert contents(root) == before
    assert {p for p in root.rglob("*") if p.is_dir()} == folders


def test_elsewhere_it_says_where_to_run_it(tmp_path: Path) -> None:
    with pytest.raises(scaffold.ScaffoldError, match=r"mkdocs.yml.*在书的根目录里运行"):
        scaffold.new(tmp_path, NAME, "burn")


def test_the_command_tells_what_comes_next(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    done = CliRunner().invoke(cli.main, ["new", NAME])
    assert done.exit_code == 0
    assert "docs/burn/sum-of-squares.md" in done.stdout
    assert "measure run sum-of-squares" in done.stdout
    again = CliRunner().invoke(cli.main, ["new", NAME])
    assert again.exit_code == 1
    assert "docs/burn/sum-of-squares.md 已经有了" in again.stderr
    assert (root / "mkdocs.yml").read_text(encoding="utf-8").count("burn/sum-of-squares.md") == 1
