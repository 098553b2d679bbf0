"""Chinese headings are addresses that stay, and a link to one that is gone is found."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.books import SETS, build, change, good, page

TWO = "# 第二章\n\n## 计时方法\n\n文\n\n## 编译开销（首次）\n\n文\n\n### GPU 与 CPU：谁快？\n\n## `burn` 的 simd {#simd}\n"
ONE = """# 第一章

## 引言

[见](#引言)，[二](b.md#编译开销首次)，[三](b.md#gpu-与-cpu谁快)，[四](b.md#simd)，[五][ref]，<a href="../b/#计时方法">六</a>。

[ref]: b.md#计时方法
"""


def test_c37_ids_are_the_words_of_the_heading_whatever_stands_above(book: Path) -> None:
    change(book, {"a.md": ONE, "b.md": TWO})
    ids = ["第二章", "计时方法", "编译开销首次", "gpu-与-cpu谁快", "simd"]
    assert re.findall(r'<h\d id="([^"]*)"', page(good(book, "--strict"), "b")) == ids
    change(book, {"b.md": TWO.replace("## 计时", f"## 前言\n\n{SETS}\n\n## 慢 [= times(slow.min, fast.min) =]\n\n## 计时")})
    assert re.findall(r'<h\d id="([^"]*)"', page(good(book, "--strict"), "b")) == [ids[0], "前言", "慢", *ids[1:]]


@pytest.mark.parametrize("flags", [[], ["-q"], ["-v", "--strict"], ["-q", "--strict"]], ids=" ".join)
def test_c37_a_link_to_a_heading_that_was_renamed_stops_every_build(book: Path, flags: list[str]) -> None:
    change(book, {"a.md": ONE.replace("## 引言", "## 前言"), "b.md": TWO.replace("计时方法", "怎么计时").replace("开销", "时间")})
    done = build(book, *flags)
    assert done.returncode == 1
    found = re.findall(r"docs/a\.md:(\d+)：链接 \S*#(\S+) 没有去处", unquote(done.stderr))
    assert sorted(name for _, name in found) == ["引言", "编译开销首次", "计时方法"]
    assert {int(line) for line, _ in found} <= {5, 7}


def test_c37_a_heading_without_words_has_no_address(book: Path) -> None:
    """Markdown would number it, and the number moves with every heading above."""
    change(book, {"b.md": f"{SETS}# 乙\n\n## 计时方法\n\n## ！？\n\n## [= slow.min =]\n\n## [= fast.min =] {{#fast}}\n"})
    done = build(book, "-q")
    assert done.returncode == 1
    assert re.findall(r"docs/b\.md:(\d+)：标题「(.*?)」里没有可以做锚点的字", done.stderr) == [("8", "！？"), ("10", "[= … =]")]
