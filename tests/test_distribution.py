"""The picture of a series: every sample is on it, counted or said to lie beyond, and the axis reads in one unit."""

import re

import pytest

from measure import distribution
from measure.distribution import Axis, axis_for, draw
from measure.quantity import TimeUnit
from measure.view import RecordView
from tests.records import measured, runs

MS = TimeUnit("ms", -3)


def drawn(*groups: tuple[float, ...]) -> str:
    return draw(RecordView(measured(*runs("a", *groups))).series("a", "matmul"))


def path(html: str, name: str) -> str:
    found = re.search(rf'<path class="{name}" d="([^"]*)"', html)
    return found[1] if found else ""


def test_each_run_has_a_lane_with_its_samples_minimum_and_median() -> None:
    html = drawn((0.010, 0.012, 0.020), (0.030, 0.011))
    # 0.4 ms of room on either side of 10 to 30 ms: a millisecond is 1000 / 20.8 steps
    assert path(html, "samples") == "M19 3v10M115 3v10M500 3v10M981 19v10M67 19v10"
    assert path(html, "min") == "M19 8h0M67 24h0"
    assert path(html, "median") == "M115 1v14M524 17v14"
    assert re.findall(r'text-anchor="end">(\d)</text>', html) == ["1", "2"]
    said = re.search(r'aria-label="([^"]*)"', html)
    assert said is not None
    assert said[1] == "单位 ms；第 1 轮 3 个样本，最小 10，中位数 12；第 2 轮 2 个样本，最小 11，中位数 20.5"


@pytest.mark.parametrize(
    ("axis", "labels"),
    [
        (Axis(0.0096, 0.0304, MS), ["10", "15", "20", "25", "30"]),
        (Axis(0.0201, 0.0214, MS), ["20.2", "20.4", "20.6", "20.8", "21.0", "21.2", "21.4"]),
        (Axis(-0.5, 7.5, None), ["0", "2", "4", "6"]),
        (Axis(0, 1200, None), ["0", "200", "400", "600", "800", "1000", "1200"]),
    ],
)
def test_ticks_are_round_and_in_the_unit_of_the_axis(axis: Axis, labels: list[str]) -> None:
    assert [label for _, label in axis.ticks()] == labels
    scale = 1000 if axis.unit else 1
    assert [value * scale for value, _ in axis.ticks()] == pytest.approx([float(label) for label in labels])


def test_one_unit_is_named_once() -> None:
    assert drawn((0.010, 0.012, 0.020)).count("ms</text>") == 1


def test_far_samples_are_counted_beside_the_axis() -> None:
    """Of 10, 10.1 … 11.9 and 500 ms the nine tenths end at 11.8; the axis ends thrice as far from the least again."""
    html = drawn((*(0.010 + 0.0001 * k for k in range(20)), 0.5))
    assert "→1</text>" in html
    assert "轴的右边还有 1 个样本，最大 500 ms" in html
    assert len(path(html, "samples").split("M")) == 21
    assert axis_for([0.010 + 0.0001 * k for k in range(20)] + [0.5], "s").high == pytest.approx(0.0118 + 3 * 0.0018, rel=0.02)


def test_many_samples_are_counted_in_bins_and_the_page_says_so() -> None:
    samples = tuple(0.001 + 1e-6 * k for k in range(distribution.MOST_LINES + 1))
    html = drawn(samples)
    assert path(html, "samples") == ""
    assert path(html, "bins").count("h") == distribution.BINS
    assert "数进 100 格，每格宽 3.12 µs" in html  # 300 µs and 2 % of room on either side
    axis = axis_for(samples, "s")
    tops = [float(v) for v in re.findall(r"V([\d.]+)h", distribution._bins(samples, axis, 14))]
    assert min(tops) == 2
    counted = sum(14 - top for top in tops) / 12
    most = 14 - min(tops)
    assert counted * most == pytest.approx(len(samples) / 4 * 12, rel=0.1)  # 3.12 steps a bin: the fullest holds 4


def test_samples_that_do_not_differ_have_an_axis() -> None:
    axis = axis_for([0.002, 0.002], "s")
    assert (axis.at(0.002), len(axis.ticks()) > 0) == (500, True)


def test_what_cannot_be_placed_is_said() -> None:
    assert drawn((1e300, 1e-300), (1.0,)) == "<figcaption>样本的跨度画不出来。</figcaption>"
