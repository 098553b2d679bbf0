"""Blocks stay in what they were put into, and hold all they hold."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest

from measure.store import Store
from tests.books import SETS, good, mistakes, of, page, write
from tests.records import measured, run

FENCES = '```\n`````\n~~~\n    ~~~~~~\n## no heading\n</code></pre>\n!!! note\n=== "x"\n> quote\n'
TABLE, OUTPUT = '[= table(["谁", "时间"], ["慢", slow.min]) =]', '[= output(m, "slow") =]'
PLACES = {
    "an admonition": ('!!! note "题"\n\n    前\n\n    {0}\n\n    {1}\n\n    后\n', r'<div class="admonition note">.*?前.*?{0}.*?{1}.*?后</p>\s*</div>'),
    "a tab": ('=== "甲"\n\n    前\n\n    {0}\n\n    {1}\n\n    后\n\n=== "乙"\n\n    乙文\n', r'<div class="tabbed-block">\s*<p>前</p>.*?{0}.*?{1}.*?<p>后</p>\s*</div>'),
    "a list": ("1.  甲\n\n    {0}\n\n    {1}\n\n    后\n", r"<ol>\s*<li>.*?{0}.*?{1}.*?后</p>\s*</li>\s*</ol>"),
    "an admonition in a tab": ('=== "甲"\n\n    !!! note\n\n        {0}\n\n        {1}\n\n        后\n', r'<div class="tabbed-block">\s*<div class="admonition note">.*?{0}.*?{1}.*?后</p>\s*</div>\s*</div>'),
    "details in an admonition": ("!!! tip\n\n    ??? note\n\n        {0}\n\n        {1}\n\n        后\n", r"<details.*?{0}.*?{1}.*?后</p>\s*</details>\s*</div>"),
    "a quotation": ("> 前\n>\n> {0}\n>\n> {1}\n>\n> 后\n", r"<blockquote>.*?{0}.*?{1}.*?后</p>\s*</blockquote>"),
}  # fmt: skip


@pytest.fixture(scope="module", params=["\n", "\r\n"], ids=["LF", "CRLF"])
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    pages = {
        f"p{k}.md": f"{SETS}# 甲\n\n{source.format(TABLE, OUTPUT)}\n## 后面\n" for k, (source, _) in enumerate(PLACES.values())
    }
    pages["top.md"] = f"{SETS}# 甲\n\n{OUTPUT}\n\n## 后面\n"
    book = write(tmp_path_factory.mktemp("blocks") / "book", {n: text.replace("\n", request.param) for n, text in pages.items()})
    Store(book / "records").save(of(measured(run("slow", 1, (0.04,), stdout=FENCES), run("fast", 1, (0.01,)))))
    (book / "records/measured/box/cpu-matmul.json").unlink()
    return good(book, "--strict")


@pytest.mark.parametrize("place", PLACES)
def test_c30_blocks_stay_in_their_container(site: Path, place: str) -> None:
    html = page(site, f"p{list(PLACES).index(place)}")
    table = '<div class="measured-table"><table>.*?</table></div>'
    assert re.search(PLACES[place][1].format(table, '<figure class="output">.*?</figure>'), html, re.DOTALL)
    assert '<h2 id="后面">' in html
    assert html.count('<div class="tabbed-set') == ("a tab" in place)


def test_c30_a_block_on_the_line_after_words_is_refused(tmp_path: Path) -> None:
    blocks = [
        TABLE,
        OUTPUT,
        "[= versions(m) =]",
        "[= conditions(m) =]",
        '[= not_tested("没有") =]',
        '[= bars("图", ["慢", slow.min]) =]',
    ]
    pages = {f"p{k}.md": f"{SETS}# 甲\n\n下表：\n{block}\n" for k, block in enumerate(blocks)}
    found = mistakes(write(tmp_path / "book", pages))
    assert [m.split("：")[0] for m in found] == [f"docs/p{k}.md:7" for k in range(len(blocks)) for _ in ("lab", "box")][::2]
    assert all("要自成一段" in m for m in found)


def test_c32_output_with_fences_is_one_block(site: Path) -> None:
    for name in ("top", "p0", "p3"):
        html = page(site, name)
        article = html[html.index("<article") : html.index("</article>")]
        (shown,) = re.findall(r'<figure class="output"><pre><code>(.*?)</code></pre>', article, re.DOTALL)
        assert unescape(shown).split("\n", 1)[1] == FENCES.rstrip("\n")
        assert re.findall(r'<h2 id="(.*?)"', article) == ["后面"]
