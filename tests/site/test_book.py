"""A reader's walk through the built book: the diagram, a number and its record, another machine, a phone."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.site
RECORDS = Path(__file__).parents[2] / "measure" / "records"
PAGE = "burn/cpu-matmul/"
M2 = f"{PAGE}m/apple-m2-max/"


@pytest.fixture
def page(browser: Browser, address: str) -> Page:
    return browser.new_page(base_url=address, viewport={"width": 1440, "height": 900})


def test_the_diagram_is_drawn_with_measured_labels_and_nothing_comes_from_elsewhere(page: Page, address: str) -> None:
    """C36: no request to another host, and the diagram's library is a file of the site."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(M2)
    page.wait_for_selector("div.mermaid")
    # Material draws into a closed shadow root: the source has gone, and what is drawn has a height.
    page.wait_for_function("document.querySelector('div.mermaid').getBoundingClientRect().height > 100")
    assert page.locator("pre.mermaid").count() == 0
    assert f"{address}assets/mermaid.min.js" in asked
    assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []


def test_a_number_leads_to_its_record(page: Page) -> None:
    page.goto(PAGE)
    number = page.locator("article data.measured a").first
    number.click()
    assert "/records/" in page.url
    fragment = page.url.partition("#")[2]
    row = page.locator(f'[id="{fragment}"]')
    assert row.is_visible()


def test_the_machines_can_be_switched_both_ways(page: Page) -> None:
    page.goto(PAGE)
    page.locator("nav.machines a").first.click()
    assert page.url.endswith(M2)
    page.locator("nav.machines a").first.click()
    assert page.url.endswith(PAGE)


@pytest.mark.parametrize("where", ["", PAGE, M2, "about/reading/", "records/", "records/apple-m2-max/cpu-matmul/"])
def test_no_page_scrolls_sideways_on_a_phone(browser: Browser, address: str, where: str) -> None:
    page = browser.new_page(base_url=address, viewport={"width": 390, "height": 844})
    page.goto(where)
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_the_m2_page_says_what_was_published(site: Path) -> None:
    """The seed's headline: 21.424 ms over 0.798 ms is 27; and figures of its table and its lines, as printed there."""
    html = (site / M2 / "index.html").read_text(encoding="utf-8")
    title = re.search(r"<title>(.*?)</title>", html)
    assert title is not None
    assert "27 倍" in title[1]
    text = unescape(re.sub(r"<[^>]+>", "", html))
    for figure in ["21.4 ms", "3.50 ms", "1.56 ms", "7.7", "4.4", "2.8", "3.1", "2.2"]:
        assert figure in text, figure
    assert "pitb-exec-cpu-amx: 1024x1024 matmul, 20 runs: min 3.488ms median 3.647ms" in text
    assert "已发表的数字" in text


def test_the_factor_is_in_the_title_and_the_search_but_not_in_an_anchor(site: Path) -> None:
    html = (site / PAGE / "index.html").read_text(encoding="utf-8")
    title = re.search(r"<title>(.*?)</title>", html)
    assert title is not None
    factor = re.search(r"[\d.]+ 倍", title[1])
    assert factor is not None
    entries = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))["docs"]
    assert any(factor[0] in entry["title"].replace("\u200b", "") for entry in entries)  # jieba marks words
    anchors = re.findall(r'<h\d id="([^"]*)"', html)
    assert anchors
    assert not [a for a in anchors if re.search(r"\d", a)]


def test_no_placeholder_is_left_anywhere(site: Path) -> None:
    for file in site.rglob("*"):
        if file.suffix in (".html", ".json", ".xml"):
            assert not re.search("[\ue000-\uf8ff]", file.read_text(encoding="utf-8")), file


@pytest.mark.parametrize("where", [PAGE, M2, ""])
def test_every_number_is_traced_to_its_record(site: Path, where: str) -> None:
    """Each value on the page is computed again from the samples (or the printed figures) that its formula names."""
    html = (site / where / "index.html").read_text(encoding="utf-8")
    numbers = re.findall(
        r'<data class="measured[^"]*" value="([^"]*)" data-unit="([^"]*)" data-machine="([^"]*)" data-experiment="([^"]*)" data-formula="([^"]*)">',
        html,
    )
    assert numbers
    for value, _, machine, experiment, formula in numbers:
        record = load(machine, experiment)
        assert float(value) == pytest.approx(evaluate(unescape(formula), record), rel=1e-12), formula


def load(machine: str, experiment: str) -> Any:
    (path,) = RECORDS.glob(f"*/{machine}/{experiment}.json")
    return json.loads(path.read_text(encoding="utf-8"))


def evaluate(formula: str, record: Any) -> float:
    """`min(torch/matmul/steady/ready/threads=all) / (…)`, by plain Python on the JSON."""
    expression = re.sub(r"(\w+)\(([\w/=.-]+)\)", lambda m: repr(statistic(m[1], m[2], record)), formula)
    assert re.fullmatch(r"[\d.e()*/ +-]+", expression), formula
    return float(eval(expression))  # noqa: S307 - digits and operators only


def statistic(name: str, series: str, record: Any) -> float:
    groups = rounds_of(series, record)
    if name == "cores":
        return float(median(s["cores"] for s in groups))
    if record["origin"] == "published":
        printed = [float(s["printed"]["min" if name == "min" else "median"]["text"]) / 1000 for s in groups]
        return min(printed) if name == "min" else median(printed)
    samples = [s["samples"] for s in groups]
    pooled = [x for one in samples for x in one]
    return float({"min": min(pooled), "median": median(pooled), "typical": median(median(one) for one in samples)}[name])


def rounds_of(series: str, record: Any) -> list[Any]:
    case, metric, phase, scope, *settings = series.split("/")
    wanted = {"case": case, "metric": metric, "phase": phase, "scope": scope}
    flat = (
        record["series"]
        if record["origin"] == "published"
        else [r | s | {"params": r["params"] | s["params"]} for r in record["runs"] for s in r["series"]]
    )
    return [s for s in flat if wanted.items() <= s.items() and [f"{k}={v}" for k, v in sorted(s["params"].items())] == settings]
