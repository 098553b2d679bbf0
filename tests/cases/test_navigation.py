"""Every link works where the site lies, below a sub-path too."""

from __future__ import annotations

import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pytest

from tests.books import GOOD, ROOT, change, good, mistakes

BASE = "https://example.org/book/"


class Links(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if name in ("href", "src") and value and value != "#"]


def test_c39_every_link_of_every_page_resolves_below_the_sub_path(book: Path) -> None:
    """Of the whole pages, theme and all; on a page in a folder, on another machine's, and on the page for what is not found."""
    shutil.copytree(ROOT / "docs/assets", book / "docs/assets")  # what the theme points at
    (book / "docs/sub/img").mkdir(parents=True)
    (book / "docs/sub/img/x.png").write_bytes(b"png")
    raw = '<img src="../img/x.png"> <a href="../../b/#计时方法">别处</a> <a href="../../">首页</a>\n'
    change(
        book,
        {
            "sub/c.md": GOOD.replace("](b.md#", "](../b.md#") + "![图](img/x.png)\n",
            "sub/d.md": f"# 丁\n\n{raw}",
            "index.md": "# 首页\n",
        },
    )
    site = good(book, "--strict")
    files = {p.relative_to(site).as_posix() for p in site.rglob("*") if p.is_file()}
    for file in sorted(files):
        if not file.endswith(".html"):
            continue
        at = f"{BASE}a/b" if file == "404.html" else f"{BASE}{file.removesuffix('index.html')}"
        for link in Links((site / file).read_text(encoding="utf-8")).found:
            address = urljoin(at, link)
            if not address.startswith(BASE):
                assert urlsplit(link).scheme, (file, link)  # it leads elsewhere on purpose
                continue
            path = unquote(urlsplit(address).path).removeprefix("/book/")
            assert (path + "index.html" if path.endswith("/") or not path else path) in files, (file, link)


@pytest.mark.parametrize(
    "html",
    [
        '<img src="img/x.png">',
        '<a href="/ch2/">二</a>',
        '<a href="/book/b/">二</a>',
        '<a href="b.md">二</a>',
        '<img src="/img/x.png">',
        '<a href="../../../b/">二</a>',
        '<img srcset="img/x.png 2x">',
        "[二](/b.md)",
        "![图](x.png)",
    ],
)
def test_c39_a_link_that_would_break_is_named(book: Path, html: str) -> None:
    change(book, {"sub/c.md": f"# 丙\n\n{html}\n"})
    (found,) = mistakes(book)
    assert re.match(r"docs/sub/c\.md:3：链接 \S+ 没有去处", found)


def test_c39_a_raw_link_that_only_another_machines_page_breaks_is_named_with_the_cure(book: Path) -> None:
    """That page lies two folders deeper, and only links of Markdown go along."""
    (book / "docs/x.png").write_bytes(b"png")
    change(book, {"a.md": GOOD + '\n<img src="../x.png">\n'})
    assert mistakes(book) == [
        f"docs/a.md:{GOOD.count(chr(10)) + 2}：链接 ../x.png 没有去处（在 box 的那一份里）。写成 Markdown 的链接或图，路径会跟着改"
    ]
