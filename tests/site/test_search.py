"""The search of the site, its own worker in a real browser: what readers type finds the page that tells of it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from measure.hooks import TERMS
from tests.site.conftest import ROOT

pytestmark = pytest.mark.site
GLOSSARY = "about/glossary/"
CPU, TIMING, ASYNC, PIPELINE, TRG = "burn/cpu-matmul/", "burn/timing/", "burn/async/", "tenferro/timing/", "tenferro/trg/"

SETUP = """async () => {
    const { base, search } = JSON.parse(document.getElementById("__config").textContent);
    const index = await (await fetch(new URL("search/search_index.json", new URL(base + "/", location)))).json();
    const worker = new Worker(new URL(search, location));
    const answers = [];
    worker.onmessage = event => answers.shift()(event.data);
    window.ask = message => new Promise(resolve => { answers.push(resolve); worker.postMessage(message); });
    await ask({ type: 0, data: { ...index, options: { suggest: false } } });
}"""
"""Material's page talks to its worker like this: 0 sets it up, 2 is a query."""

QUERY = """async words => (await ask({ type: 2, data: words })).data.items.map(
    sections => sections.map(s => [s.location, s.score, (s.title + s.text).replace(/<[^>]*>|\\u200b/g, "")]))"""

Found = list[list[tuple[str, float, str]]]


@pytest.fixture(scope="module")
def page(browser: Browser, address: str) -> Iterator[Page]:
    page = browser.new_page()
    page.goto(address)
    page.evaluate(SETUP)
    yield page
    page.close()


def pages(found: Found) -> list[str]:
    """Pages in the order that readers see."""
    return [sections[0][0].partition("#")[0] for sections in found]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("方法", GLOSSARY),
        ("自动微分", TRG),
        ("自动微分", GLOSSARY),
        ("首次调用", GLOSSARY),
        ("第一次", TIMING),
        ("matmul", CPU),
        ("profile_with", TIMING),
        ("profile", TIMING),
        ("burn-flex", CPU),
        ("tenferro-einsum", GLOSSARY),
        ("einsum", GLOSSARY),
        ("flush", TIMING),
        ("into_scalar", TIMING),
        ("scalar", TIMING),
        ("synchronize", TIMING),
        ("pytorch", CPU),
        ("PyTor", CPU),
        ("RAYON_NUM_THREADS", CPU),
        ("rayon", CPU),
        ("派发", PIPELINE),
        ("矩阵乘", CPU),
        ("矩阵", CPU),
        ("奇异值", TRG),
        ("梯度", PIPELINE),
        ("异步", ASYNC),
        ("同步", ASYNC),
        ("autotune", TIMING),
        ("调优", TIMING),
        ("block_until_ready", PIPELINE),
        ("SVD", TRG),
    ],
)
def test_what_readers_type_finds_the_page(page: Page, words: str, expected: str) -> None:
    assert expected in pages(page.evaluate(QUERY, words))[:4]


@pytest.mark.parametrize("words", ["同步", "方法", "派发", "矩阵乘"])
def test_an_answer_tells_of_the_whole_word(page: Page, words: str) -> None:
    """Material alone drops a query's last character: 同步 would find 同时."""
    found = [text for sections in page.evaluate(QUERY, words) for _, score, text in sections if score]
    assert found
    assert [text[:40] for text in found if words not in text] == []


def test_every_term_is_found_as_a_whole_and_by_its_beginning(page: Page) -> None:
    texts = "".join(p.read_text(encoding="utf-8") for p in (ROOT / "docs").rglob("*.md"))
    terms = [t for t in TERMS.read_text(encoding="utf-8").splitlines() if not t.startswith("#")]
    used = [t for t in terms if t in texts]
    assert len(used) > 30
    lost = [
        typed
        for term in used
        for typed in {term, term[:2]}
        if not any(term in text for sections in page.evaluate(QUERY, typed) for _, score, text in sections if score)
    ]
    assert lost == []


def test_each_word_of_the_glossary_leads_to_its_entry(page: Page) -> None:
    """By its Chinese and by the first word of its English name, among the sections of that page that match."""
    source = (ROOT / "docs/about/glossary.md").read_text(encoding="utf-8")
    entries = re.findall(r"^### (\S+) ([\w-]+).* \{#(\S+)\}$", source, re.MULTILINE)
    assert len(entries) > 40
    lost = []
    for chinese, english, anchor in entries:
        for typed in (chinese, english):
            found = page.evaluate(QUERY, typed)
            sections: list[tuple[str, float, str]] = next((s for s in found if s[0][0].startswith(GLOSSARY)), [])
            if f"{GLOSSARY}#{anchor}" not in [location for location, score, _ in sections if score]:
                lost.append((typed, anchor))
    assert lost == []


def test_a_reader_types_and_follows_the_first_answer(browser: Browser, address: str) -> None:
    page = browser.new_page(base_url=address)
    page.goto("burn/async/")
    page.get_by_role("textbox", name="搜索").click()
    page.keyboard.type("profile_with")
    first = page.locator(".md-search-result__link").first
    first.wait_for()
    first.click()
    page.wait_for_url("**/burn/timing/**")
