"""What surrounds the pages: the picture of a link, the icon, the page for a wrong address, and what is loaded where."""

from __future__ import annotations

import gzip
import re
import struct
from pathlib import Path
from urllib.parse import urljoin

import pytest
from playwright.sync_api import Browser

pytestmark = pytest.mark.site
HEAVY = 300_000
"""What a page may weigh with all it needs, compressed, in bytes; the diagram library apart."""


def pages(site: Path) -> list[Path]:
    return sorted(site.rglob("*.html"))


def test_a_link_to_any_page_has_a_picture_of_our_own(site: Path) -> None:
    for file in pages(site):
        html = file.read_text(encoding="utf-8")
        (image,) = re.findall(r'<meta property="og:image" content="([^"]*)"', html)
        (icon,) = re.findall(r'<link rel="icon" href="([^"]*)"', html)
        for link in (image, icon):
            assert (site / urljoin(f"/{file.relative_to(site)}", link).lstrip("/")).is_file(), (file, link)
    png = (site / "assets/card.png").read_bytes()
    assert struct.unpack(">II", png[16:24]) == (1200, 630)


def test_a_wrong_address_is_answered_in_chinese_with_ways_on(site: Path) -> None:
    html = (site / "404.html").read_text(encoding="utf-8")
    article = html[html.index("<article") : html.index("</article>")]
    assert "<h1>没有这一页</h1>" in article
    assert re.findall(r'href="([^"]*)"', article) == ["/.", "/records/"]


def test_the_diagram_library_is_loaded_only_where_there_is_a_diagram(site: Path) -> None:
    drawn = {file for file in pages(site) if 'class="mermaid"' in file.read_text(encoding="utf-8")}
    loading = {file for file in pages(site) if "mermaid.min.js" in file.read_text(encoding="utf-8")}
    assert drawn == loading
    assert 0 < len(drawn) < len(pages(site)) / 2


def test_every_page_weighs_less_than_300_kb_with_all_it_loads(site: Path) -> None:
    weights: dict[str, int] = {}

    def weight(path: Path) -> int:
        return len(gzip.compress(path.read_bytes(), 6))

    for file in pages(site):
        if "records" in file.parts:
            continue
        html = file.read_text(encoding="utf-8")
        loaded = re.findall(r'<(?:script|img)[^>]* src="([^"]*)"|<link rel="(?:stylesheet|icon)" href="([^"]*)"', html)
        total = weight(file)
        for link in {a or b for a, b in loaded}:
            target = urljoin(f"/{file.relative_to(site)}", link).lstrip("/")
            if not target.endswith("mermaid.min.js"):
                total += weight(site / target)
        weights[str(file.relative_to(site))] = total
    assert not {name: total for name, total in weights.items() if total > HEAVY}


@pytest.mark.parametrize("width", [1440, 390])
def test_diagrams_are_as_large_as_their_text_needs_and_the_page_does_not_scroll(
    browser: Browser, address: str, width: int
) -> None:
    page = browser.new_page(base_url=address, viewport={"width": width, "height": 844})
    page.add_init_script(
        "const attach = Element.prototype.attachShadow; Element.prototype.attachShadow = function () { return attach.call(this, { mode: 'open' }); };"
    )
    page.goto("burn/timing/")
    page.locator("div.mermaid svg").first.wait_for()
    sizes = page.evaluate(
        """() => [...document.querySelector("div.mermaid").shadowRoot.querySelectorAll("text")].map(t => {
            const box = t.getBoundingClientRect(), own = t.getBBox();
            return own.height ? parseFloat(getComputedStyle(t).fontSize) * box.height / own.height : 99;
        })"""
    )
    assert min(sizes) > 10
    assert page.evaluate("document.documentElement.scrollWidth") == width
