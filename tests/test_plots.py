"""Plots: what is drawn is what was measured, and a reader who cannot see it is told the same."""

import math
import re

import pytest

from measure import plots
from measure.quantity import PageError
from measure.record import Machine, Printed, Published, PublishedSeries
from measure.view import RecordView
from tests.records import measured, runs

M2 = Machine(label="m2", cpu="Apple M2 Max", cores=12, memory_gib=None, system="macOS")


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.fixture
def view() -> RecordView:
    return RecordView(measured(*runs("quick", (0.001, 0.002), (0.003, 0.001)), *runs("slow", (1.0, 4.0), (2.0, 3.0))))


def points(html: str) -> list[float]:
    """Where the points are, from left to right on the axis, in the order of the data."""
    (group,) = re.findall(r'<g class="mark-symbol role-mark[^"]*"[^>]*>(.*?)</g>', html)
    return [float(x) for x in re.findall(r'<path transform="translate\(([\d.]+),', group)]


def lines(html: str) -> list[float]:
    """How long the bars are."""
    (group,) = re.findall(r'<g class="mark-rule role-mark[^"]*"[^>]*>(.*?)</g>', html)
    return [abs(float(x)) for x in re.findall(r'<line transform="[^"]*" x2="([-\d.]+)"', group)]


def test_strip_draws_every_sample(view: RecordView) -> None:
    placed = plots.strip("用时", [("快", view.series("quick", "matmul")), None, ("慢", view.series("slow", "matmul"))], log=True)
    assert len(points(placed.html)) == 8
    assert "用时（ms，对数轴）" in placed.html
    # four decades from 1 ms to 10 s share the width
    expected = [330 / 4 * math.log10(ms) for ms in (1, 2, 3, 1, 1000, 4000, 2000, 3000)]
    assert points(placed.html) == pytest.approx(expected, abs=0.01)
    assert placed.text == "快 1.00 ms 到 3.00 ms，4 个点；慢 1.00 s 到 4.00 s，4 个点"


def test_strip_of_printed_figures_draws_what_was_printed() -> None:
    series = PublishedSeries(
        case="quick", metric="matmul", phase="steady", scope="ready", printed={"min": Printed(text="10.2", unit="µs"), "median": Printed(text="17.2", unit="µs")}
    )  # fmt: skip
    record = Published(
        schema_version=1, origin="published", experiment="x", machine=M2, source="", conditions="", versions={}, series=(series,)
    )
    placed = plots.strip("用时", [("快", RecordView(record).series("quick", "matmul"))])
    assert placed.text == "快 10.2 µs 到 17.2 µs，2 个点"


def test_stacked_bars_name_their_parts(view: RecordView) -> None:
    quick, slow = view.series("quick", "matmul").typical, view.series("slow", "matmul").typical
    placed = plots.stacked("一次求值", [("程序", [("奇异值分解", slow), ("收缩", quick)])])
    assert len(lines(placed.html)) == 2
    assert "奇异值分解" in placed.html
    assert placed.text == "程序：奇异值分解 2.50 s、收缩 1.75 ms"


def test_bars_start_at_zero_and_stand_under_their_names(view: RecordView) -> None:
    quick, slow = view.series("quick", "matmul").typical, view.series("slow", "matmul").typical
    placed = plots.bars("一次", [("甲", [("一个线程", slow), ("全部线程", 0.5 * slow)]), None, ("乙", quick)])
    long, half, short = lines(placed.html)
    assert (half / long, short / long) == pytest.approx((0.5, 0.00175 / 2.5), abs=1e-5)
    for label in (">甲<", ">2.50（一个线程）<", ">1.25（全部线程）<", ">乙<"):
        assert label in placed.html
    assert placed.text == "甲 一个线程 2.50 s、全部线程 1.25 s；乙 1.75 ms"


def test_a_plot_comes_with_its_table(view: RecordView) -> None:
    html = plots.strip("用时", [("快", view.series("quick", "matmul"))]).html
    assert re.findall(r"<td>(.*?)</td>", html) == ["快", "4", "1.00 ms", "1.75 ms", "3.00 ms"]
    assert "currentColor" in html
    assert re.findall(r' (?:role|aria-\w+)="([^"]*)"', html) == ["img", "用时（ms）：快 1.00 ms 到 3.00 ms，4 个点"]
    assert not re.search(r'(fill|stroke)="(black|#000)', html)


@pytest.mark.parametrize("rows", [[], [None]])
def test_nothing_to_draw_is_an_error(rows: list[None]) -> None:
    with pytest.raises(PageError, match="至少一行"):
        plots.strip("空", rows)
    with pytest.raises(PageError, match="至少一行"):
        plots.stacked("空", rows)
