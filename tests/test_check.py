"""`measure check` finds what a strict build refuses, all of it, and leaves nothing behind."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from measure.check import check
from measure.store import Store
from tests.books import INPUTS, OTHER, SETS, change, contents, mistakes, of
from tests.records import SLOW_AND_FAST

pytestmark = pytest.mark.filterwarnings("default")  # of MkDocs, its plugins and jieba: not ours to mend
BAD = f"""---
tags: [a]
---
{SETS}# 甲

[= nope.min =] [= m.series("slwo", "matmul").min =] [= 27 =]

慢 27 倍，[没有](c.md)，[没有](b.md#nothing)

[% claim slow.typical > fast.typical %]它慢。[% endclaim %]

--8<-- "nothing.py"

[= record("nope").version("x") =]
"""
"""A mistake of each kind; the claim holds on the reference machine and not on the other."""


def found(book: Path) -> list[str]:
    return [str(problem) for problem in check(book / "mkdocs.yml", Store(book / "records")).problems]


def test_a_good_book(book: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEASURE", "sometimes")
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    files, folder = contents(book), Path.cwd()
    done = check(book / "mkdocs.yml", Store(book / "records"))
    assert (done.problems, done.pages, done.renderings) == ((), 2, 3)
    assert contents(book) == files
    assert (os.environ["MEASURE"], "SOURCE_DATE_EPOCH" in os.environ, Path.cwd()) == ("sometimes", False, folder)


def test_all_problems_are_named_at_once_as_a_build_names_them(book: Path) -> None:
    change(book, {"a.md": BAD, "b.md": f"---\ntitle: x\n---\n{OTHER}\n[% if %]\n"})
    Store(book / "records").save(of(SLOW_AND_FAST, inputs=INPUTS | {"parameters": "other"}))
    files = contents(book)
    lines = found(book)
    wanted = {
        "docs/a.md:4": ["过期"],
        "docs/a.md:9": ["不认识的名字 nope", "没有叫 slwo 的实现；有 fast、slow", "[= 27 =] 不是测出来的"],
        "docs/a.md:11": ["手写的数字「27 倍」", "链接 c.md 没有去处", "链接 ../b/#nothing 没有去处"],
        "docs/a.md:13": ["没有一句话合 box 的数据"],
        "docs/a.md:15": ["剪不出片段"],
        "docs/a.md:17": ["没有叫 nope 的实验"],
        "docs/b.md:1": ["front matter 里不能有 title"],
        "docs/b.md:10": ["写法不对"],
    }
    for place, says in wanted.items():
        for text in says:
            assert [line for line in lines if line.startswith(f"{place}：") and text in line], (place, text, lines)
    assert {line.split("：")[0] for line in lines} == wanted.keys()
    assert contents(book) == files
    assert lines == mistakes(book, "--strict", "-q")


def test_what_stops_mkdocs_itself(book: Path) -> None:
    """No traceback, and the file it is about."""
    change(book, {"b.md": f"---\ntemplate: nothing.html\n---\n{OTHER}"})
    (problem,) = found(book)
    assert problem.startswith("docs/b.md:1：")
    assert "nothing.html" in problem
    change(book, {"b.md": OTHER})
    settings = (book / "mkdocs.yml").read_text(encoding="utf-8")
    (book / "mkdocs.yml").write_text(settings + "theme: no_such_theme\n", encoding="utf-8")
    (problem,) = found(book)
    assert problem.startswith("mkdocs.yml:1：")
    assert "no_such_theme" in problem
    (book / "mkdocs.yml").write_text(settings + "nonsense: [\n", encoding="utf-8")
    (problem,) = found(book)
    assert problem.startswith("mkdocs.yml:1：")


def test_a_warning_of_mkdocs_or_a_plugin_counts_as_in_a_strict_build(book: Path) -> None:
    settings = (book / "mkdocs.yml").read_text(encoding="utf-8")
    (book / "mkdocs.yml").write_text(f"{settings}no_such_setting: 1\n", encoding="utf-8")
    (problem,) = found(book)
    assert "no_such_setting" in problem
