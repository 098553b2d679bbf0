from __future__ import annotations

import json
import zipfile
from pathlib import Path

from measure.take_along import archive, chapter, cover, offline, order, search

INDEX = """<nav><a href="." class="md-nav__link">开始</a><a href="b/x/" class="md-nav__link">X</a>
<a href="#here" class="md-nav__link">这里</a><a href="b/x/" class="md-nav__link">X</a><a href="records/" class="md-nav__link">R</a></nav>"""


def test_pages_come_once_in_the_order_of_the_navigation_and_without_the_records() -> None:
    assert order(INDEX) == ["", "b/x/"]


def test_links_within_the_book_turn_inwards_and_those_out_of_it_are_taken_off() -> None:
    page = (
        '<body><article class="md-typeset"><h2 id="a">A</h2><a href="#a">1</a><a class="k" href="../../">2</a>'
        '<a href="../y/#b">3</a><a href="../../records/m/e/#s">4</a><a href="https://example.org/">5</a></article></body>'
    )
    assert chapter("b/x/", page, ["", "b/x/", "b/y/"]) == (
        '<section id="b-x"><h2 id="b-x-a">A</h2><a href="#b-x-a">1</a><a class="k" href="#start">2</a>'
        '<a href="#b-y-b">3</a><a>4</a><a href="https://example.org/">5</a></section>'
    )


def test_the_cover_tells_the_commit_and_the_dates() -> None:
    front = cover("书", "讲什么", "abc", [("e", "m", "2026-11-30"), ("f", "m", "2026-10-01"), ("e", "n", "已发表的数字")])
    assert "提交 abc<br>测量于 2026-10-01 到 2026-11-30" in front
    assert "<td>e</td><td>n</td><td>已发表的数字</td>" in front


def test_links_to_folders_name_their_index() -> None:
    html = '<head><link rel="next" href="../b/"><a href="..">1</a><a href="c/#d">2</a><a href=".">3</a><a href="e.json">4</a><a href="#f">5</a>'
    assert offline(html, "../") == (
        '<head><script src="../assets/offline.js"></script><link rel="next" href="../b/index.html"><a href="../index.html">1</a>'
        '<a href="c/index.html#d">2</a><a href="./index.html">3</a><a href="e.json">4</a><a href="#f">5</a>'
    )


def test_the_search_finds_files() -> None:
    script = search(json.dumps({"config": {}, "docs": [{"location": "", "text": "零"}, {"location": "b/#c", "text": "二"}]}))
    found = json.loads(script.removeprefix("var __index = "))["docs"]
    assert [entry["location"] for entry in found] == ["index.html", "b/index.html#c"]


def test_the_archive_holds_the_site_and_is_the_same_each_time(tmp_path: Path) -> None:
    site = tmp_path / "site"
    for name in ("index.html", "b/index.html", "404.html", "sitemap.xml", "assets/a.css"):
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text('<head></head><a href="b/">b</a>', encoding="utf-8")
    (site / "search").mkdir()
    (site / "search/search_index.json").write_text('{"docs": []}', encoding="utf-8")
    archive(site, tmp_path / "1.zip", "book")
    archive(site, tmp_path / "2.zip", "book")
    assert (tmp_path / "1.zip").read_bytes() == (tmp_path / "2.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "1.zip") as one:
        names = set(one.namelist())
        page = one.read("book/b/index.html").decode()
    assert {"book/index.html", "book/assets/a.css", "book/assets/offline.js", "book/search/search_index.js"} <= names
    assert not {"book/404.html", "book/sitemap.xml"} & names
    assert 'src="../assets/offline.js"' in page
    assert 'href="b/index.html"' in page
