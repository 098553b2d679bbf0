"""A reader's walk through the built book: the diagram, a number and its record, another machine, a phone."""

from __future__ import annotations

import gzip
import json
import re
from html import unescape
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from measure.late import mermaid_label

pytestmark = pytest.mark.site
RECORDS = Path(__file__).parents[2] / "measure" / "records"
PAGE = "burn/cpu-matmul/"
M2 = f"{PAGE}m/apple-m2-max/"
TIMING, TRG = "tenferro/timing/", "tenferro/trg/"


@pytest.fixture
def page(browser: Browser, address: str) -> Page:
    return browser.new_page(base_url=address, viewport={"width": 1440, "height": 900})


def test_the_diagram_is_drawn_with_measured_labels_and_nothing_comes_from_elsewhere(page: Page, address: str) -> None:
    """C36: no request to another host, and the diagram's library is a file of the site."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.add_init_script(OPEN_SHADOWS)
    page.goto(M2)
    drawn = page.locator("div.mermaid svg")
    drawn.wait_for()
    for label in ["模板：21.4 ms", "3.50 ms", "1.56 ms", "798 µs", "apple-amx"]:
        assert label in (drawn.text_content() or "")
    box = drawn.bounding_box()
    assert box is not None
    assert box["height"] > 100
    assert page.locator("pre.mermaid").count() == 0
    assert f"{address}assets/mermaid.min.js" in asked
    assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []


OPEN_SHADOWS = """
    const attach = Element.prototype.attachShadow;
    Element.prototype.attachShadow = function (options) { return attach.call(this, { ...options, mode: "open" }); };
"""
"""Material draws diagrams into a closed shadow root, where nothing can look."""

LABELS = [
    "编译 (首次)",
    "2.0 (±0.1)",
    "a|b",
    '他说"快"了',
    "Tensor<B, 2>",
    "a & b #1; &lt; `c` {d} [e] %% f",
    "end",
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
]


def test_c34_labels_show_the_text_of_the_data(page: Page) -> None:
    """The real parser takes every label, of a node and of an edge, and a reader sees the very text."""
    page.goto(PAGE)
    page.wait_for_function("window.mermaid !== undefined")
    lines = [f'  n{i}["{mermaid_label(label)}"] -->|"{mermaid_label(label)}"| m{i}' for i, label in enumerate(LABELS)]
    source = unescape("flowchart TB\n" + "\n".join(lines))
    script = """async source => {
        const { svg } = await mermaid.render("labels", source);
        const shown = new DOMParser().parseFromString(svg, "text/html");
        const texts = selector => [...shown.querySelectorAll(selector)].map(e => e.textContent.trim()).filter(Boolean);
        return [texts(".nodeLabel"), texts(".edgeLabel span.edgeLabel"), shown.querySelectorAll("script, img").length];
    }"""
    nodes, edges, executable = page.evaluate(script, source)
    assert [n for n in nodes if not re.fullmatch(r"m\d", n)] == LABELS
    assert edges == LABELS
    assert executable == 0


def test_a_number_leads_to_its_record(page: Page) -> None:
    page.goto(PAGE)
    number = page.locator("article data.measured a").first
    number.click()
    page.wait_for_url("**/records/**")
    fragment = page.url.partition("#")[2]
    page.locator(f'[id="{fragment}"]').wait_for()  # the page may still be loading


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


@pytest.mark.parametrize("where", [where + m for where in (PAGE, TIMING, TRG) for m in ("", "m/apple-m2-max/")])
def test_every_diagram_is_drawn(page: Page, where: str) -> None:
    """Mermaid leaves the source standing where it finds a mistake, such as a node that is called `call`."""
    page.goto(where)
    page.locator("div.mermaid").first.wait_for()
    assert page.locator("pre.mermaid").count() == 0
    assert page.locator("div.mermaid").count() > 0


def test_no_placeholder_is_left_anywhere(site: Path) -> None:
    for file in site.rglob("*"):
        if file.suffix in (".html", ".json", ".xml"):
            assert not re.search("[\ue000-\uf8ff]", file.read_text(encoding="utf-8")), file


@pytest.mark.parametrize("where", [page + m for page in (PAGE, TIMING, TRG) for m in ("", "m/apple-m2-max/")] + [""])
def test_every_number_is_traced_to_its_record(site: Path, where: str) -> None:
    """Each value on the page is computed again from the samples (or the printed figures) that its formula names."""
    html = (site / where / "index.html").read_text(encoding="utf-8")
    assert len(NUMBER.findall(html)) == html.count('<data class="measured') > 0
    for value, unit, machine, experiment, formula, shown in NUMBER.findall(html):
        found = evaluate(unescape(formula), load(machine, experiment))
        assert float(value) == pytest.approx(found, rel=1e-12), formula
        assert says(unescape(shown), unit, found), (shown, formula)


NUMBER = re.compile(
    r'<data class="measured[^"]*" value="([^"]*)" data-unit="([^"]*)" data-machine="([^"]*)" data-experiment="([^"]*)" '
    r'data-formula="([^"]*)"><a [^>]*>([^<]*)</a></data>'
)


def says(shown: str, unit: str, value: float) -> bool:
    """Is the printed text the value, to the digits it shows? Cells of a column have their unit in its head."""
    number = re.search(r"[\d.]+", shown)
    assert number is not None
    half = 0.5 * 10.0 ** -len(number[0].partition(".")[2])
    if "快" in shown:
        scales = [100 * (1 - value)]
    elif "%" in shown:
        scales = [100 * value]
    else:
        scales = [value * 10**power for power in ((0, 3, 6, 9) if unit == "s" else (0,))]
    significant = 3 if unit == "s" else 2
    return any(abs(float(number[0]) - scale) <= max(half, 0.5 * scale * 10 ** (1 - significant)) * 1.000001 for scale in scales)


def load(machine: str, experiments: str) -> list[Any]:
    """The records a value comes from: one, or several where it compares experiments."""
    paths = [path for name in experiments.split("+") for path in RECORDS.glob(f"*/{machine}/{name}.json")]
    assert len(paths) == len(experiments.split("+"))
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths]


def evaluate(formula: str, records: list[Any]) -> float:
    """`min(torch/matmul/steady/ready/threads=all) / (…)`, by plain Python on the JSON."""
    expression = re.sub(r"(\w+)\(([\w/=.@-]+)\)", lambda m: repr(statistic(m[1], m[2], records)), formula)
    assert re.fullmatch(r"[\d.e()*/ +-]+", expression), formula
    return float(eval(expression))  # noqa: S307 - digits and operators only


SCALES = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}


def statistic(name: str, series: str, records: list[Any]) -> float:
    ((record, groups),) = [(record, found) for record in records if (found := rounds_of(series, record))]
    if name == "cores":
        return float(median(s["cores"] for s in groups))
    if record["origin"] == "published":
        kinds = {"min": ("min",), "p90": ("p90",), "median": ("median",)}.get(name, ("median", "value"))
        chosen = [next(s["printed"][kind] for kind in kinds if kind in s["printed"]) for s in groups]
        printed = [float(p["text"]) * SCALES[p["unit"]] for p in chosen]
        return min(printed) if name == "min" else median(printed)
    samples = [s["samples"] for s in groups]
    pooled = sorted(x for one in samples for x in one)
    if name == "p90":
        low, part = divmod((len(pooled) - 1) * 0.9, 1)
        return float(pooled[int(low)] * (1 - part) + pooled[min(int(low) + 1, len(pooled) - 1)] * part)
    middle = median(median(one) for one in samples)
    first = median(one[0] for one in samples)
    return float({"min": pooled[0], "median": median(pooled), "typical": middle, "first": first}[name])


def rounds_of(series: str, record: Any) -> list[Any]:
    series, _, one = series.partition("@")
    case, metric, phase, scope, *settings = series.split("/")
    wanted: dict[str, Any] = ({"round": int(one)} if one else {}) | {
        "case": case,
        "metric": metric,
        "phase": phase,
        "scope": scope,
    }
    flat = (
        record["series"]
        if record["origin"] == "published"
        else [r | s | {"params": r["params"] | s["params"]} for r in record["runs"] for s in r["series"]]
    )
    return [s for s in flat if wanted.items() <= s.items() and [f"{k}={v}" for k, v in sorted(s["params"].items())] == settings]


def test_a_sentence_opens_its_evidence(page: Page) -> None:
    """By keyboard, without leaving the sentence; Escape closes it again."""
    page.goto(PAGE)
    mark = page.locator("article p .claim-mark").first
    mark.focus()
    page.keyboard.press("Enter")
    opened = page.locator(".evidence li:popover-open")
    opened.wait_for()
    assert opened.get_attribute("id") == mark.get_attribute("popovertarget")
    assert re.search(r"比值 [\d.]+，区间 [\d.]+ 到 [\d.]+", opened.inner_text())
    page.keyboard.press("Escape")
    assert page.locator(".evidence li:popover-open").count() == 0


def test_the_head_counts_the_claims_and_lists_them_without_a_script(browser: Browser, address: str) -> None:
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(f"{address}{PAGE}")
    items = page.locator(".evidence li")
    assert page.locator(".evidence li:visible").count() == 0
    page.locator(".claims-count a").click()
    assert page.locator(".evidence li:visible").count() == items.count() > 5
    assert page.locator(".claims-count a").inner_text() == f"{items.count()} 条结论"
    assert page.locator("article .claim").count() == items.count()


def test_a_number_tells_its_run_to_pointer_keyboard_and_finger(browser: Browser, address: str) -> None:
    page = browser.new_page(base_url=address)
    page.goto(PAGE)
    number = page.locator("article p data.measured a").first
    title = number.get_attribute("title")
    assert title is not None
    assert re.search(r"\d+ 轮共 \d+ 次；各轮的中位数 .* 到 .*；linux-xeon-2c，20\d\d-\d\d-\d\d；1 分钟负载", title)
    card = page.locator(".value-card:popover-open")
    for by_keyboard in (False, True):
        number.focus() if by_keyboard else number.hover()
        card.wait_for()
        assert card.locator("p").all_inner_texts() == title.split("；")
        page.keyboard.press("Escape") if by_keyboard else page.mouse.move(0, 0)
        card.wait_for(state="hidden")
        assert number.get_attribute("title") == title
    phone = browser.new_context(base_url=address, has_touch=True, viewport={"width": 390, "height": 844}).new_page()
    phone.goto(PAGE)
    phone.locator("article p data.measured a").first.tap()
    phone.locator(".value-card:popover-open a").tap()
    phone.wait_for_url("**/records/linux-xeon-2c/cpu-matmul/#*")


def test_a_newcomer_walks_from_the_index_to_the_raw_samples(page: Page, address: str) -> None:
    """Index, page, number, record, download: what is on the page is in the file, and no step needs the back button."""
    page.goto("")
    page.locator("article a", has_text="同一个 matmul").first.click()
    page.wait_for_url(f"**/{PAGE}")
    number = page.locator("article p data.measured a").first
    shown = number.inner_text()
    number.click()
    page.wait_for_url("**/records/linux-xeon-2c/cpu-matmul/#*")
    target = page.locator(":target")
    target.wait_for()
    target.locator("svg.lanes").wait_for()
    target.locator("summary").click()
    listed = re.findall(r"第 \d 轮.*：([\d. ]+)", target.locator("code").inner_text())
    with page.expect_download() as download:
        page.locator("a[download]").click()
    record = json.loads(Path(download.value.path()).read_text(encoding="utf-8"))
    assert record["experiment"] == "cpu-matmul"
    taken = [s["samples"] for r in record["runs"] for s in r["series"] if len(s["samples"]) == len(listed[0].split())]
    for line in listed:
        values = [float(x) for x in line.split()]
        assert any(values == pytest.approx([1000 * s for s in samples], rel=1e-4) for samples in taken)
    assert shown.endswith("ms")
    page.locator("a", has_text="和别的机器并排看").click()
    page.locator("th", has_text="已发表").wait_for()


def test_a_folded_series_opens_for_who_comes_for_it(page: Page) -> None:
    page.goto("records/linux-xeon-2c/svd-256/")
    link = page.locator('td a[href^="#"]').last
    fragment = (link.get_attribute("href") or "").removeprefix("#")
    assert not page.locator(f'[id="{fragment}"]').is_visible()
    link.click()
    page.locator(f'[id="{fragment}"] svg.lanes').wait_for()


def test_every_page_is_light(site: Path) -> None:
    """300 KB compressed, the diagrams' library aside."""
    sizes = {str(path): len(gzip.compress(path.read_bytes(), 6)) for path in site.rglob("*.html")}
    assert max(sizes.values()) < 100_000, sorted(sizes.items(), key=lambda item: -item[1])[:3]
