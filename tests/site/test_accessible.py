"""Nobody is kept out: axe finds no serious fault on any kind of page, and the keyboard reaches what a mouse does."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.site
KINDS = [
    "",
    "m/apple-m2-max/",
    "burn/cpu-matmul/",
    "burn/timing/",
    "burn/timing/m/apple-m2-max/",
    "tenferro/trg/",
    "about/reading/",
    "records/",
    "records/linux-xeon-2c/cpu-matmul/",
    "records/apple-m2-max/cpu-matmul/",
    "404.html",
]
"""One page of each kind."""

REACHED = """selector => {
    const chosen = [...document.querySelectorAll(selector)];
    return chosen.length > 0 && chosen.every(e => e.tabIndex >= 0 && (e.href || e.tagName === "BUTTON" || e.tagName === "SUMMARY"));
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_axe_finds_nothing_serious(browser: Browser, address: str, scheme: Literal["light", "dark"], width: int) -> None:
    found: list[str] = []
    page = browser.new_page(base_url=address, viewport={"width": width, "height": 900}, color_scheme=scheme)
    for where in KINDS:
        page.goto(where)
        page.wait_for_load_state("networkidle")
        for violation in Axe().run(page).response["violations"]:
            if violation["impact"] in ("serious", "critical"):
                places = [f"{node['target']} {node['html'][:120]}" for node in violation["nodes"][:3]]
                found.append(f"/{where}: {violation['id']}, {len(violation['nodes'])} times: {places}")
    assert not found, "\n".join(found)


@pytest.mark.parametrize("selector", ["article .measured > a", "article .claim-mark", "nav.machines a", "article summary"])
def test_the_keyboard_reaches_values_evidence_machines_and_answers(browser: Browser, address: str, selector: str) -> None:
    page: Page = browser.new_page(base_url=address)
    page.goto("burn/cpu-matmul/")
    assert page.evaluate(REACHED, selector)


def test_enter_on_a_value_leads_to_its_record(browser: Browser, address: str) -> None:
    page = browser.new_page(base_url=address)
    page.goto("burn/cpu-matmul/")
    page.locator("article .measured > a").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/records/**")


def test_every_page_says_its_language(site: Path) -> None:
    for file in site.rglob("*.html"):
        assert '<html lang="zh"' in file.read_text(encoding="utf-8"), file
