"""What is published of a small book, and what stops a build."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from html import unescape
from pathlib import Path

import pytest

from measure.record import Measured, Run
from measure.store import Store, dumps
from tests.books import (
    CONFIG,
    GOOD,
    INPUTS,
    OTHER,
    REVERSED,
    ROOT,
    SETS,
    build,
    change,
    contents,
    environment,
    good,
    mistakes,
    mkdocs,
    of,
    page,
    wait_for,
    words,
    write,
)
from tests.records import SLOW_AND_FAST, measured, run


def test_a_good_book(book: Path) -> None:
    site = good(book, "--strict")
    html = page(site, "a")
    assert "<title>慢 4.0 倍 - 小书</title>" in html
    assert "40.0 ms</a></data>" in html
    assert re.findall(r'<span class="claim" data-claim="(\w+)"', html) == ["holds"]
    assert "它慢。" in html
    assert "它快。" not in html
    assert 'a["39.4 ms"]' in unescape(html)
    assert re.findall(r'<h[12] id="([^"]*)"', html) == ["慢", "慢了-倍"]
    assert 'href="../records/lab/cpu-matmul/#slow-matmul-steady-ready"' in html
    assert 'id="slow-matmul-steady-ready"' in page(site, "records/lab/cpu-matmul")
    assert json.loads((site / "records/lab/cpu-matmul.json").read_text(encoding="utf-8"))["experiment"] == "cpu-matmul"
    assert "慢 4.0 倍" in page(site, "b")  # in the navigation
    assert [p.name for p in book.iterdir() if p.name.startswith(".site")] == [".site.lock"]


def test_each_machine_has_its_page(book: Path) -> None:
    site = good(book)
    html = page(site, "a/m/box")
    assert "它快。" in html
    assert "它慢。" not in html
    assert "10.0 ms</a></data>" in html
    assert set(re.findall(r'data-machine="(\w+)"', html)) == {"box"}
    assert 'href="../../../b/#计时方法"' in unescape(html)
    assert re.findall(r'<nav class="machines".*?</nav>', html) == [
        '<nav class="machines" aria-label="换一台机器看这一页">这一页的数字来自：<a href="../../">lab</a> · <strong aria-current="page">box</strong></nav>'
    ]
    assert 'href="m/box/"' in page(site, "a")
    assert "/a/m/box/" not in (site / "sitemap.xml").read_text(encoding="utf-8")
    assert "/a/" in (site / "sitemap.xml").read_text(encoding="utf-8")
    assert re.findall(r'<link rel="canonical" href="([^"]*)"', html) == ["https://example.org/book/a/"]
    assert html.count('<meta name="robots" content="noindex">') == 1
    assert 'content="noindex"' not in page(site, "a")


def test_no_placeholder_is_left_and_the_search_knows_the_values(book: Path) -> None:
    site = good(book, BOOK_SEARCH="true")
    for name, content in contents(site).items():
        if name.endswith((".html", ".json", ".xml")):
            assert not re.search("[\ue000-\uf8ff]", content.decode()), name
    index = json.loads((site / "search/search_index.json").read_text(encoding="utf-8"))
    entries = {e["location"]: e["title"] + e["text"] for e in index["docs"]}
    assert re.match("慢 4.0 倍.*40.0 ms", entries["a/"].replace("\u200b", ""))  # which stands between words
    assert not [location for location in entries if "/m/" in location]


def test_c43_two_builds_are_the_same_bytes(book: Path, tmp_path: Path) -> None:
    again = write(tmp_path / "elsewhere" / "again", {"b.md": OTHER, "a.md": GOOD})
    one = contents(good(book, PYTHONHASHSEED="1", BOOK_SEARCH="true"))
    two = contents(good(again, PYTHONHASHSEED="2", BOOK_SEARCH="true", RAYON_NUM_THREADS="1", OMP_NUM_THREADS="1"))
    assert one == two
    assert not [name for name, content in one.items() if str(tmp_path).encode() in content or str(ROOT).encode() in content]


@pytest.mark.parametrize("flags", [[], ["-q"], ["-v"], ["--strict"], ["-q", "--strict"], ["-v", "--strict"]], ids=" ".join)
def test_c05_c08_all_mistakes_are_listed_and_the_old_site_stays(book: Path, flags: list[str]) -> None:
    before = contents(good(book))
    bad_a = "---\ntags: [a]\n---\n\n" + GOOD + '\n[= m.series("slwo", "matmul").min =]\n\n[= 27 =]\n'
    change(book, {"a.md": bad_a, "b.md": OTHER + "\n[= nope.min =]\n"})
    done = build(book, *flags)
    assert done.returncode == 1
    at = bad_a.splitlines().index("[= 27 =]") + 1
    listed = done.stdout + done.stderr
    assert "有 3 处要改，网站没有更新" in listed
    assert f"docs/a.md:{at - 2}：cpu-matmul 没有叫 slwo 的实现；有 fast、slow" in listed
    assert f"docs/a.md:{at}：[= 27 =] 不是测出来的" in listed
    assert "docs/b.md:7：不认识的名字 nope" in listed
    assert contents(book / "site") == before


@pytest.mark.parametrize("flags", [["-q"], ["-v", "--strict"]], ids=" ".join)
def test_c37_dead_links_stop_the_build(book: Path, flags: list[str]) -> None:
    change(book, {"b.md": OTHER.replace("计时方法", "怎么计时") + "\n[没有](c.md)\n\n<img src='/x.png'>\n"})
    done = build(book, *flags)
    assert done.returncode == 1
    assert re.search(r"docs/a.md:6：链接 \S*#计时方法 没有去处", unescape(urllib.request.unquote(done.stderr)))  # type: ignore[attr-defined]
    assert "docs/b.md:7：链接" in done.stderr
    assert "docs/b.md:9：链接 /x.png 没有去处" in done.stderr


def test_c01_c02_c03_braces_of_other_languages(book: Path) -> None:
    lines = [
        'let t = format!("{{ {} }}", x);',
        'println!("{{ {:?} }}", v);',
        'f"{{x}}"',
        "${{ runner.os }}",
        "{% raw %} {# no #}",
        r"\frac{{a}}{b}",
    ]
    body = "\n".join(
        ["```text", *lines, "```", "", "## 小节 {#sec}", "", "段 `{#a`", "", "结果 [= slow.typical =]", "", "段 `b#}`"]
    )
    change(book, {"a.md": f"{SETS}# 甲\n\n{body}\n"})
    html = page(good(book), "a")
    (block,) = re.findall(r"<code>(.*?)</code></pre>", html, re.DOTALL)
    assert words(block).splitlines() == lines
    assert '<h2 id="sec">' in html
    assert "结果 40.0 ms" in words(html)
    assert [code for code in ("{#a", "b#}") if f"<code>{code}</code>" in html] == ["{#a", "b#}"]


@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_c30_c32_blocks_in_containers(book: Path, newline: str) -> None:
    fences = "```\n`````\n~~~\n## no heading\n[= 6*7 =] {{ 7*6 }} <script>alert(1)</script>\n"
    record = measured(run("slow", 1, (0.04, 0.04), stdout=fences), run("fast", 1, (0.01, 0.01)))
    Store(book / "records").save(of(record))
    blocks = ['[= output(m, "slow") =]', '[= table(["谁", "时间"], ["慢", slow.min]) =]']
    pieces = [f'!!! note "题"\n\n    前\n\n    {b}\n\n    后' for b in blocks] + [f"1.  甲\n\n    {b}" for b in blocks]
    pieces += [f"!!! note\n\n    ??? tip\n\n        {b}" for b in blocks] + blocks
    source = f"{SETS}# 甲\n\n" + "\n\n文\n\n".join(pieces) + "\n\n## 后面\n"
    change(book, {"a.md": source.replace("\n", newline), "b.md": "# 乙\n"})
    html = page(good(book), "a")
    article = html[html.index("<article") : html.index("</article>")]
    shown = re.findall(r'<figure class="output"><pre><code>(.*?)</code></pre>', article, re.DOTALL)
    assert [unescape(s) for s in shown] == [f"## round 1\n{fences}".rstrip("\n")] * 4
    assert article.count("<table>") == 4
    assert len(re.findall(r'<div class="admonition note">.*?<(?:figure|table)', article, re.DOTALL)) == 4
    assert '<h2 id="后面">' in article
    assert "<script" not in article


def test_c30_a_block_after_a_line_is_refused_with_its_line(book: Path) -> None:
    change(book, {"b.md": f'---\ntags: [x]\n---\n{SETS}# 乙\n\n## 计时方法\n\n下表：\n[= table(["谁"], ["慢"]) =]\n'})
    assert next(m for m in mistakes(book) if "自成一段" in m).startswith("docs/b.md:12：")


SOURCE = f"{SETS}# 甲\n\n[% claim slow.typical > 2 * fast.typical %]慢得多。[% endclaim %]\n"


def test_swapped_records_leave_no_false_sentence(book: Path) -> None:
    """One page, records exchanged: another sentence, or an error that names page, line and machine."""
    change(book, {"a.md": GOOD, "b.md": OTHER})
    Store(book / "records").save(of(REVERSED))
    html = page(good(book), "a")
    assert "它快。" in html
    assert "它慢。" not in html
    assert "慢 0.20 倍" in html
    (book / "site").rename(book / "kept")
    change(book, {"a.md": SOURCE, "b.md": "# 乙\n"})
    found = mistakes(book)
    assert [m.split("：")[0] for m in found] == ["docs/a.md:6", "docs/a.md:6"]
    assert [re.search(r"没有一句话合 (\w+) 的数据", m)[1] for m in found] == ["box", "lab"]  # type: ignore[index]


def test_the_real_pages_follow_records_in_which_rust_is_the_faster(tmp_path: Path) -> None:
    """Every Rust program twenty times as fast: what the pages say of the reference machine now is gone."""
    config = tmp_path / "mkdocs.yml"
    docs = f"docs_dir: {ROOT / 'docs'}\n"
    kept = CONFIG.replace("nav:\n", docs).replace("extra_css: []\n", "").replace("reference: lab", "reference: linux-xeon-2c")
    config.write_text(kept, encoding="utf-8")
    shutil.copytree(ROOT / "measure/records/measured/linux-xeon-2c", tmp_path / "records/measured/linux-xeon-2c")
    for experiment in ("cpu-matmul", "trg", "svd-256"):
        record = Store().load(experiment, "linux-xeon-2c")
        assert isinstance(record, Measured)
        Store(tmp_path / "records").save(record.model_copy(update={"runs": tuple(map(twenty_times_as_fast, record.runs))}))
    done = mkdocs(ROOT, environment(tmp_path), "-q", "-f", str(config))
    assert done.returncode == 0, done.stderr
    text = words(page(tmp_path / "site", "burn/cpu-matmul"))
    assert "在这台机器上它并不慢" in text
    assert re.search("比 PyTorch 的 \\S+ \\S+ 还快", text)
    for false in ("它确实慢", "差的不是一点", "它只慢了一点", "仍是 PyTorch 的"):
        assert false not in text
    text = words(page(tmp_path / "site", "tenferro/timing"))
    assert "只求值，tenferro 比 JAX 快" in text
    assert "这里 tenferro 更快" in text
    for false in ("tenferro 用的时间是 JAX 的", "tenferro 一个线程用的时间是 JAX 的", "这里 tenferro 慢"):
        assert false not in text


def twenty_times_as_fast(run: Run) -> Run:
    """The same run, if it is one of a Rust program."""
    if not run.case.startswith(("burn-", "tenferro")):
        return run
    series = tuple(s.model_copy(update={"samples": tuple(x / 20 for x in s.samples)}) for s in run.series)
    return run.model_copy(update={"series": series})


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda text: "", "文件是空的"),
        (lambda text: text[: len(text) // 2], "记录损坏"),
        (lambda text: "<html>", "记录损坏"),
        (lambda text: text.replace("0.04,", "NaN,", 1), "NaN 不是 JSON 数字"),
        (lambda text: text.replace('"schema_version": 1', '"schema_version": 9'), "第 9 版"),
        (lambda text: text.replace('"label": "lab"', '"label": "box"'), "和文件名不符"),
        (lambda text: text.replace('"quick": false', '"quick": true'), "试跑"),
    ],
    ids=["empty", "cut off", "not JSON", "NaN", "newer", "another machine's", "quick"],
)
def test_a_damaged_record_stops_the_build_once(book: Path, damage: object, says: str) -> None:
    path = book / "records/measured/lab/cpu-matmul.json"
    assert callable(damage)
    path.write_text(damage(dumps(of(SLOW_AND_FAST))), encoding="utf-8")
    (found,) = mistakes(book)
    assert found.startswith("records/measured/lab/cpu-matmul.json:1：")
    assert says in found


def test_a_record_that_is_missing_is_named_once(book: Path) -> None:
    (book / "records/measured/lab/cpu-matmul.json").unlink()
    assert mistakes(book) == ["docs/a.md:1：cpu-matmul 在 lab 上没有记录；有记录的机器：box。运行 measure run cpu-matmul"]


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ('[= record("nope").series("a", "b").min =]', "docs/b.md:7：没有叫 nope 的实验；有 "),
        ("[% set r = record %]", "docs/b.md:7：record 只能写成"),
        ("[= config.site_name =][= environment =]", "docs/b.md:7：不认识的名字 config"),
        ('[% include "mkdocs.yml" %]', "docs/b.md:7：页面不能读别的文件"),
        ("[% if %]", "docs/b.md:7：写法不对"),
    ],
)
def test_what_a_page_may_not_ask(book: Path, source: str, says: str) -> None:
    change(book, {"b.md": f"{OTHER}\n{source}\n"})
    found = mistakes(book)
    assert [m for m in found if m.startswith(says)], found


@pytest.mark.parametrize("key", ["title", "render_macros", "ignore_macros"])
def test_front_matter_that_would_get_round_the_macros(book: Path, key: str) -> None:
    change(book, {"b.md": f"---\n{key}: true\n---\n{OTHER}"})
    assert [m.split("：")[1] for m in mistakes(book)] == [f"front matter 里不能有 {key}"]


def test_front_matter_puts_nothing_into_the_head(book: Path) -> None:
    """The theme writes descriptions and the like into the page as they are."""
    change(book, {"b.md": f"---\ndescription: 'x\"><script>alert(1)</script>'\n---\n{OTHER}"})
    assert [m.split("：")[:2] for m in mistakes(book)] == [["docs/b.md:1", 'front matter 的 description 里不能有 < > "']]


@pytest.mark.parametrize(
    ("front", "line"),
    [
        ("---\ntags: [a\nmore: b\n---\n", 3),
        ("---\ntags: a\n\ttab: b\n---\n", 3),
        ("---\nonly words\n---\n", 1),
        ("---\ntags: a\n", 1),
    ],
    ids=["bracket", "tab", "no mapping", "no end"],
)
def test_front_matter_that_cannot_be_read(book: Path, front: str, line: int) -> None:
    """MkDocs would print it as text of the page."""
    change(book, {"b.md": front + OTHER})
    assert [m.split("：")[:2] for m in mistakes(book)] == [[f"docs/b.md:{line}", "读不懂 front matter"]]


@pytest.mark.parametrize("flags", [["-q", "--strict"], ["-v", "--strict"]], ids=" ".join)
def test_a_navigation_leaves_nothing_out_and_leads_somewhere(book: Path, flags: list[str]) -> None:
    config = (book / "mkdocs.yml").read_text(encoding="utf-8").replace("nav:\n", "nav:\n  - a.md\n  - 没有: c.md\n")
    (book / "mkdocs.yml").write_text(config, encoding="utf-8")
    line = config.splitlines().index("  - 没有: c.md") + 1
    found = mistakes(book, *flags)
    assert [m.split("：")[0] for m in found] == ["docs/b.md:1", f"mkdocs.yml:{line}"]
    assert "不在 mkdocs.yml 的 nav 里" in found[0]
    assert found[1].endswith("nav 里的 c.md 不在 docs/ 里")


def test_every_snippet_that_cannot_be_cut_is_named(book: Path) -> None:
    (book / "docs/code.py").write_text("# --8<-- [start:one]\nshown()\n# --8<-- [end:one]\n", encoding="utf-8")
    good_one = '```python\n--8<-- "docs/code.py:one"\n```\n'
    bad = [
        '--8<-- "nothing.py"',
        '    --8<-- "docs/code.py:two"',
        '--8<-- "../outside.py"',
        '--8<-- "docs/code.py:one"',
        "--8<--",
        ';--8<-- "shown.py"',
    ]
    (book.parent / "outside.py").write_text("secret()\n", encoding="utf-8")
    change(book, {"b.md": f"---\ntags: [x]\n---\n{OTHER}\n" + "\n".join(bad) + "\n"})
    found = mistakes(book)
    assert [m.split("：")[0] for m in found] == ["docs/b.md:10", "docs/b.md:11", "docs/b.md:12", "docs/b.md:14"]
    assert '剪不出片段 --8<-- "nothing.py"' in found[0]
    change(book, {"b.md": f"{OTHER}\n{good_one}"})
    assert "shown()" in words(page(good(book), "b"))


def test_front_matter_does_not_shadow_a_macro(book: Path) -> None:
    change(book, {"a.md": f"---\nrecord: x\nslow: 27\nbest: y\n---\n{GOOD}"})
    assert "40.0 ms</a></data>" in page(good(book), "a")


def test_private_characters_from_a_snippet_forge_nothing(book: Path) -> None:
    (book / "docs/forged.txt").write_text("\ue000\ue010\ue001 \ue000\ue019\ue019\ue001", encoding="utf-8")
    change(book, {"b.md": f'{OTHER}\n```\n--8<-- "docs/forged.txt"\n```\n'})
    assert "\ufffd \ufffd" in page(good(book), "b")


def test_a_stale_reference_is_told_and_stops_a_strict_build(book: Path) -> None:
    Store(book / "records").save(of(SLOW_AND_FAST, inputs=INPUTS | {"parameters": "other"}))
    (found,) = mistakes(book, "--strict", "-q")
    assert found.startswith("docs/a.md:1：cpu-matmul 在参考机器 lab 上的记录已过期：parameters 改过")
    html = page(good(book), "a")
    assert 'class="measured stale"' in html
    assert 'class="stale-notice"' in html


def test_an_unknown_mode(book: Path) -> None:
    done = build(book, "-q", MEASURE="sometimes")
    assert done.returncode == 1
    assert "MEASURE=sometimes：只能是 auto、cached、fresh" in done.stdout


def test_c41_serve_shows_mistakes_on_the_page_and_builds_once_a_change(book: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = book.parent / "log"
    with log.open("w", encoding="utf-8") as out:
        command = [sys.executable, "-m", "mkdocs", "serve", "-a", f"127.0.0.1:{port}"]
        server = subprocess.Popen(command, cwd=book, env=environment(book), stdout=out, stderr=out)
    try:
        url = f"http://127.0.0.1:{port}/book/a/"
        assert 'class="mistakes"' not in wait_for(url, "40.0 ms")
        change(book, {"a.md": GOOD + "\n[= 27 =]\n"})
        html = wait_for(url, 'class="mistakes"')
        assert "docs/a.md:15：[= 27 =] 不是测出来的" in unescape(html)
        time.sleep(2)
        assert log.read_text(encoding="utf-8").count("Building documentation") == 2
        change(book, {"a.md": GOOD})
        wait_for(url, 'class="mistakes"', there=False)
    finally:
        server.terminate()
        server.wait(10)
    assert not (book / "site").exists()
