"""Tables, output and the rest: one unit a column, text as it was printed, nothing that could become mark-up."""

from __future__ import annotations

import re
from html import unescape

import pytest

from measure import blocks, plots
from measure.blocks import Links
from measure.late import Placed
from measure.quantity import PageError, Quantity, time_unit
from measure.record import Measured
from measure.view import FactView, RecordView
from tests.records import SLOW_AND_FAST, measured, rounds, run

LINKS = Links(lambda machine, experiment: f"../records/{machine}/{experiment}/", lambda machine, experiment: ())
STALE = Links(LINKS.record, lambda machine, experiment: ("a.rs",))


def view(record: Measured = SLOW_AND_FAST) -> RecordView:
    return RecordView(record)


def value(seconds: float) -> Quantity:
    return view(measured(*rounds("a", seconds))).series("a", "matmul").typical


def place(item: object) -> Placed:
    if isinstance(item, Quantity):
        return blocks.number(item, LINKS)
    assert isinstance(item, FactView)
    return blocks.fact(item, LINKS)


def text(placed: Placed) -> str:
    return unescape(re.sub(r"<[^>]*>", "|", placed.html))


def cells(placed: Placed, tag: str) -> list[str]:
    return [unescape(re.sub(r"<[^>]*>", "", c)) for c in re.findall(rf"<{tag}\b[^>]*>(.*?)</{tag}>", placed.html)]


def test_a_number_says_where_it_comes_from() -> None:
    html = blocks.number(view().series("slow", "matmul").typical, LINKS).html
    assert html.startswith('<data class="measured" value="0.04" data-unit="s" data-machine="lab" data-experiment="x" ')
    assert 'data-formula="typical(slow/matmul/steady/ready)"' in html
    assert 'href="../records/lab/x/#slow-matmul-steady-ready"' in html
    told = ["各次运行中位数的中位数，5 轮共 15 次", "各轮的中位数 39.8 ms 到 40.2 ms", "slow/matmul/steady/ready"]
    assert "；".join([*told, "lab，2026-11-30", "1 分钟负载 0.1 到 1.0"]) in html
    assert ">40.0 ms</a></data>" in html


def test_a_stale_number_says_so() -> None:
    html = blocks.number(view().series("slow", "matmul").typical, STALE).html
    assert 'class="measured stale"' in html
    assert "已过期：a.rs 改过" in html
    html = blocks.fact(view().fact("dtype", "slow"), STALE).html
    assert 'class="fact stale"' in html
    assert "lab，2026-11-30；1 分钟负载 0.1 到 1.0；已过期：a.rs 改过" in html


def test_a_column_of_times_has_one_unit() -> None:
    table = blocks.table(
        ["谁", "时间", "倍"], [["甲", value(0.000798), value(1) / value(1)], ["乙", value(0.0214), value(27) / value(1)]], place
    )
    assert cells(table, "th") == ["谁", "时间（ms）", "倍"]
    assert cells(table, "td") == ["甲", "0.798", "1.0", "乙", "21.4", "27"]
    assert table.html.count("<data") == 4


def test_columns_choose_their_units_apart() -> None:
    table = blocks.table(["a", "b"], [[value(2e-6), value(3.0)], [value(4e-6), value(5.0)]], place)
    assert cells(table, "th") == ["a（µs）", "b（s）"]
    assert cells(table, "td") == ["2.00", "3.00", "4.00", "5.00"]


def test_a_column_of_any_size_has_a_unit() -> None:
    assert cells(blocks.table(["a"], [[value(1e200)]], place), "td") == ["1" + 200 * "0"]


def test_a_record_without_a_run_has_conditions_too() -> None:
    """A machine may have none of the hardware."""
    bare = SLOW_AND_FAST.model_copy(update={"runs": ()})
    assert (
        text(blocks.conditions(view(bare))).strip("|")
        == "2026-11-30 测得，5 轮，每轮各实现轮流跑、顺序交替，共 0 个进程。没有负载读数。"
    )


def test_rows_that_are_none_are_left_out_and_ragged_ones_refused() -> None:
    assert cells(blocks.table(["a"], [["x"], None], place), "td") == ["x"]
    with pytest.raises(PageError, match="表格有 2 列，这一行有 1 格：x"):
        blocks.table(["a", "b"], [["x"]], place)


def test_c33_words_in_a_table_are_text() -> None:
    hostile = "<script>alert(1)</script> Tensor<B, 2> a & b"
    table = blocks.table([hostile], [[hostile]], place)
    assert cells(table, "th") == cells(table, "td") == [hostile]
    assert "<script" not in table.html


PRINTED = "load: 1\ntorch: matmul\nskip 1\nskip 2\ntorch: step\n"


def printed(*outputs: str) -> RecordView:
    return view(measured(*(run("a", k, (0.01, 0.01), stdout=text) for k, text in enumerate(outputs, 1))))


def code(placed: Placed) -> str:
    (found,) = re.findall(r"<pre><code>(.*?)</code></pre>", placed.html, re.DOTALL)
    return unescape(found)


def test_output_as_printed() -> None:
    assert code(blocks.output(printed(PRINTED), ["a"], [1], None, {})) == PRINTED.rstrip("\n")


def test_several_rounds_have_headings() -> None:
    both = printed("one\n", "two\n")
    assert code(blocks.output(both, ["a"], [], None, {})) == "## round 1\none\n## round 2\ntwo"
    assert code(blocks.output(both, ["a"], [2], None, {})) == "two"


def test_lines_left_out_show_as_one_ellipsis() -> None:
    assert code(blocks.output(printed(PRINTED), ["a"], [1], "matmul", {})) == "…\ntorch: matmul\n…"
    assert code(blocks.output(printed(PRINTED), ["a"], [1], "torch", {})) == "…\ntorch: matmul\n…\ntorch: step"


@pytest.mark.parametrize(
    "hostile",
    [
        "```\n`````\n~~~\n",
        "</code></pre><script>alert(1)</script>\n",
        "{{{v2} 65d0 201} 4c0a}\n{% if %}\n[= 7*6 =]\n",
        '--8<-- "mkdocs.yml"\n',
    ],
)
def test_c02_c32_c33_output_is_one_block_of_text(hostile: str) -> None:
    placed = blocks.output(printed(hostile), ["a"], [1], None, {})
    assert code(placed) == hostile.rstrip("\n")
    assert placed.html.count("<pre>") == placed.html.count("</pre>") == 1
    assert "<script" not in placed.html


def test_only_what_printed_the_line_is_shown() -> None:
    """Else the load of another output would stand under these lines."""
    assert code(blocks.output(printed("one: matmul\n", "two: step\n"), ["a"], [], "matmul", {})) == "## round 1\none: matmul"


def test_output_that_is_not_there() -> None:
    with pytest.raises(PageError, match="含「step」的行"):
        blocks.output(printed("x\n"), ["a"], [1], "step", {})
    with pytest.raises(PageError, match=r"lab 上没有 a 的输出（轮次 \[9\]，参数 不限）"):
        blocks.output(printed("x\n"), ["a"], [9], None, {})
    with pytest.raises(PageError, match="没有叫 b 的实现"):
        blocks.output(printed("x\n"), ["b"], [], None, {})


def test_versions_and_conditions() -> None:
    assert text(blocks.versions([view()], ["lib", "none"])) == "|版本：lib 1.2。机器：Test CPU，2 核，4 GiB，Linux x86_64。|"
    assert "5 轮，每轮各实现轮流跑、顺序交替，共 10 个进程。1 分钟负载 0.1 到 1.0" in text(blocks.conditions(view()))


def test_builds_need_builds() -> None:
    with pytest.raises(PageError, match="没有构建记录"):
        blocks.features(view())


def test_nothing_absent_is_nothing() -> None:
    assert blocks.absent(view()).html == ""


def test_not_tested_gives_the_reason_as_text() -> None:
    assert blocks.not_tested("没有 <GPU>").html == '<p class="not-tested">没有测：没有 &lt;GPU&gt;</p>'


def test_bars_share_one_unit_and_keep_their_words(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    rows = [("模板 <B>", value(0.0214)), None, ("PyTorch", value(0.000798))]
    placed = plots.bars("时间", rows)
    assert "时间（ms）" in placed.html
    assert placed.html == plots.bars("时间", rows).html  # the second comes from the cache
    shown = unescape(re.sub(r"<[^>]*>", "", placed.html))
    assert "模板 <B>" in shown
    assert "0.798" in shown
    assert "<B>" not in placed.html
    assert "currentColor" in placed.html
    assert placed.block


@pytest.mark.parametrize("rows", [[], [None]])
def test_bars_need_rows(rows: list[None]) -> None:
    with pytest.raises(PageError, match="至少一行"):
        plots.bars("x", rows)


def test_bars_are_of_times() -> None:
    with pytest.raises(PageError, match="时间"):
        plots.bars("x", [("a", value(1) / value(2))])


def test_units_follow_rounding() -> None:
    assert time_unit(0.00099996).name == "ms"
