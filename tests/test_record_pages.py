"""The page of a record: each metric has its place, each command stands once, and what is left out is said to be."""

import re
from html import unescape

from measure import record_pages
from measure.record import Measured
from tests.records import measured, run, runs, timed


def html(record: Measured) -> str:
    return "".join(placed.html for placed in record_pages.page(record, "问题？", (), ())[1])


def text(markup: str) -> str:
    return unescape(re.sub(r"<[^>]*>", "|", markup))


TWO = measured(*runs("a", (0.010, 0.012, 0.020), (0.030, 0.011), series=(timed("step", 2.0, 3.0),)), *runs("b", (0.5,)))


def test_the_anchor_of_a_series_is_its_figure_and_the_table_leads_there() -> None:
    page = html(TWO)
    for anchor in ("a-matmul-steady-ready", "a-step-steady-ready", "b-matmul-steady-ready"):
        assert page.count(f'id="{anchor}"') == page.count(f'href="#{anchor}"') == 1
        assert re.search(rf'<div id="{anchor}"><svg class="lanes"', page)


def test_the_table_holds_the_statistics_of_all_samples() -> None:
    (row,) = re.findall(r'<tr><td><a href="#a-matmul-steady-ready">.*?</tr>', html(TWO))
    # in order 10, 11, 12, 20, 30: the nine tenths lie six tenths of the way from 20 to 30
    assert re.findall(r"<td[^>]*>([^<]+)</td>", row) == ["5", "10.00 ms", "12.00 ms", "26.00 ms", "12.00 ms / 20.50 ms"]


def test_samples_stand_in_the_order_in_which_they_were_taken() -> None:
    assert "第 1 轮，之前热身 1 次，用了 1.00 个核：10 12 20\n第 2 轮，之前热身 1 次，用了 1.00 个核：30 11|" in text(html(TWO))


def test_of_many_samples_the_first_are_listed_and_all_are_counted() -> None:
    page = html(measured(run("a", 1, tuple(0.001 * k for k in range(1, 71)))))
    (listed,) = re.findall(r"：1 2 3 .*", text(page))
    assert listed.split("|")[0] == "：" + " ".join(map(str, range(1, 51))) + " …… 共 70 个"


def test_each_command_stands_once_with_all_its_rounds() -> None:
    page = html(TWO)
    rows = [re.findall(r"<td>(.*?)</td>", row)[:3] for row in re.findall(r"<tr>.*?</tr>", page)]
    assert ["a", "a", "1、2"] in rows
    assert ["b", "b", "1"] in rows


def test_many_series_are_folded() -> None:
    few, many = (
        html(measured(run("a", 1, (1.0,), series=[timed(f"step-{k}", 1.0, 2.0) for k in range(n)])))
        for n in (record_pages.MANY - 1, record_pages.MANY)
    )
    assert few.count('<details class="series" open>') == record_pages.MANY
    assert "open" not in "".join(re.findall(r'<details class="series"[^>]*>', many))


def test_the_list_tells_age_state_and_content() -> None:
    (placed,) = record_pages.index([(TWO, ()), (TWO, ("a.rs",))])[1]
    fresh, stale = re.findall(r"<tr><td>.*?</tr>", placed.html)
    assert '<time data-age datetime="2026-11-30T00:01:00+00:00">2026-11-30</time>' in fresh
    assert "|最新||3 个进程，10 个样本|" in text(fresh)
    assert "过期|：a.rs 改过" in text(stale)
    assert 'href="compare/x/"' in fresh
