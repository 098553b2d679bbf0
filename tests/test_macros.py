"""What a page can say, what it cannot, and how it is told."""

from __future__ import annotations

import pytest

from measure import late
from measure.blocks import Links
from measure.macros import Mistake, Page, PageEnvironment, Record, records_used, told
from measure.record import Measured
from measure.view import RecordView
from tests.records import EQUAL, SLOW_AND_FAST, measured, rounds

SETS = '[% set m = record("x") %][% set slow = m.series("slow", "matmul") %][% set fast = m.series("fast", "matmul") %]'


def render(source: str, record: Measured = SLOW_AND_FAST) -> tuple[str, list[Mistake]]:
    """The text a reader sees, and the mistakes; the body begins on line 3 of its file."""
    links = Links(lambda machine, experiment: f"records/{machine}/{experiment}/", lambda machine, experiment: ())
    page = Page("docs/p.md", "lab", 3, {"x": Record(RecordView(record))}, links, [])
    environment = PageEnvironment()
    environment.page = page
    return late.as_text(
        environment.from_string(SETS + source).render(config="site", page="meta"), page.values, str
    ), page.mistakes


def wrong(source: str, record: Measured = SLOW_AND_FAST) -> list[str]:
    return [str(m) for m in render(source, record)[1]]


def test_values_print_with_unit_and_ratios_with_two_digits() -> None:
    text, mistakes = render("[= slow.typical =] 和 [= fast.min =]，[= slow.typical / fast.typical =] 倍")
    assert mistakes == []
    assert text == "40.0 ms 和 9.80 ms，4.0 倍"  # 0.99 * 0.0099 = 0.009801


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("[= 27 =]", "不是测出来的"),
        ('[= "27" =]', "不印文字"),
        ("[= slow =]", "取它的 .min"),
        ("[= slow.mean =]", "不能用 .mean"),
        ('[= m.series("slwo", "matmul").min =]', "没有叫 slwo 的实现；有 fast、slow"),
        ('[= m.series("slow", "matmull").min =]', "没有叫 matmull 的指标；有 matmul"),
        ('[= m.series("slow", "matmul", threads=3).min =]', "没有 threads=3 这个设置"),
        ("[= fsat.min =]", "不认识的名字 fsat"),
        ("[= slow.typical + fast.typical =]", "参数不对"),
        ("[= slow.typical * fast.typical =]", "相乘没有意义"),
        ('[= q("1 fortnight") =]', "不认识的单位 fortnight"),
        ('[= q("1 s") =]', "不是测出来的"),
        ("[% if slow.typical > fast.typical %]慢[% endif %]", "claim"),
        ("[% claim slow.min > fast.min %]慢[% endclaim %]", "用 .typical"),
        ("[% claim slow.typical < fast.typical %]快[% endclaim %]", "没有一句话合 lab 的数据"),
        ("[% claim slow.typical > fast.typical %]一段\n\n两段[% endclaim %]", "一段之内"),
        ("[% claim slow.typical %]慢[% endclaim %]", "claim 里要写判断"),
    ],
)
def test_each_mistake_names_file_line_thing_and_cure(source: str, says: str) -> None:
    found = wrong(f"\n\n{source}")
    assert len(found) == 1, found
    assert found[0].startswith("docs/p.md:5：")
    assert says in found[0]


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("[= 0E０ =]", "写法不对：这一行有读不懂的数字"),
        ("[= 1" + "0" * 5000 + " =]", "写法不对：这一行有读不懂的数字"),
        ('[= not_tested("\\ud800") =]', r"写法不对：字符串里有不是文字的字符 '\ud800'"),
        ('[= not_tested("\\ue000\\ue010\\ue001") =]', r"写法不对：字符串里有不是文字的字符 '\ue000'"),
        ("[= slow[0] =]", "不能用 下标"),
        ("[= table =]", "table 只能写成 table(…)"),
        ("[% claim q('1') > 1e400 %]大[% endclaim %]", "参数不对"),
        ("[% for a in 5 %][% endfor %]", "for 只能走过写在那里的列表"),
        ("[% inferred %][= caller =][% endinferred %]", "不认识的名字 caller"),
    ],
)
def test_what_python_would_stumble_over_is_a_mistake_with_its_line(source: str, says: str) -> None:
    found = wrong(f"\n\n{source}")
    assert len(found) == 1, found
    assert found[0].startswith("docs/p.md:5：")
    assert says in found[0]


@pytest.mark.parametrize(
    "source",
    ["[= " + "(" * 5000 + " =]", "[= slow.n" + " + slow.n" * 5000 + " =]", "[% if slow.n %]" * 200 + "[% endif %]" * 200],
)
def test_templates_nested_too_deep_are_a_mistake(source: str) -> None:
    _, mistakes = records_used(source, "docs/p.md", 1)
    assert {m.message for m in mistakes} <= {told(RecursionError())}
    assert [m.message for m in render(source)[1]] == [told(RecursionError())]


def test_all_mistakes_of_a_page_are_listed() -> None:
    """C05: the first mistake does not hide the second, and what follows from one is not listed again."""
    found = wrong('[% set a = m.series("no", "matmul") %]\n[= a.min / fast.min =]\n[= gone.min =]\n[= 3 =]')
    assert sorted(line.split("：")[0] for line in found) == ["docs/p.md:3", "docs/p.md:5", "docs/p.md:6"]


@pytest.mark.parametrize(
    "source",
    [
        "[= slow.__class__ =]", "[= m.data =]", "[= m._record =]", "[= config =]", "[= page =]", "[= environment =]", "[= self =]",
        "[= ''.__class__.__mro__ =]", "[= 'a'.format(1) =]", "[= [].append(1) =]", "[= {}['a'] =]", "[= range(9) =]", "[= dict() =]", "[= lipsum() =]",
        "[= cycler =]", "[= joiner =]", "[= namespace() =]", "[= slow|attr('_points') =]", "[= slow is callable =]", "[% include 'x' %]",
        "[% import 'x' as y %]", "[% extends 'x' %]", "[= m['data'] =]", "[= m.series.__func__ =]", "[= record.__globals__ =]", "[= table.__closure__ =]",
        "[= best.__code__ =]", "[= (1).bit_length() =]", "[= ().__class__ =]", "[= 'a' % 3 =]", "[= 9 ** 9 =]",
    ],
)  # fmt: skip
def test_a_page_reaches_nothing_but_its_vocabulary(source: str) -> None:
    text, mistakes = render(source)
    assert mistakes, text
    assert "<" not in text


def test_claims_follow_the_data() -> None:
    """Swapped records: the sentence that is now false is gone, and another or the noise stands there."""
    source = "[% claim slow.typical > 2 * fast.typical %]慢得多[% elif fast.typical > 2 * slow.typical %]快得多[% noise %]分不出[% endclaim %]"
    swapped = measured(
        *rounds("fast", 0.040, 0.0402, 0.0398, 0.0401, 0.0399), *rounds("slow", 0.010, 0.0101, 0.0099, 0.01, 0.01002)
    )
    assert render(source) == ("慢得多", [])
    assert render(source, swapped) == ("快得多", [])
    assert wrong(source, EQUAL)  # neither more than twice, for certain: no branch fits, and noise is not what it is
    plain = source.replace("2 * ", "")
    assert render(plain, EQUAL) == ("分不出", [])


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("slow.typical > fast.typical and not fast.typical > slow.typical", True),
        ("fast.typical > slow.typical or slow.typical > 3.5 * fast.typical > fast.typical", True),
        ("same(slow.typical / fast.typical, 4, within=0.05)", True),
        ("slow.typical > 5 * fast.typical", False),
        ('slow.typical > q("30 ms")', True),
        ('slow.typical > q("50 ms")', False),
        ('m.has("slow")', True),
    ],
)
def test_conditions_are_three_valued_logic(condition: str, holds: bool) -> None:
    text, mistakes = render(f"[% claim {condition} %]是[% endclaim %]")
    assert (text, bool(mistakes)) == (("是", False) if holds else ("", True))


def test_operands_of_another_dtype_or_device_are_refused() -> None:
    """C24: read back from the result, not from the request."""
    other = measured(*rounds("slow", 0.04, 0.04, dtype="f64"), *rounds("fast", 0.01, 0.01))
    assert "数据类型不同（f64、f32）" in wrong("[= slow.typical / fast.typical =]", other)[0]
    assert render('[= ratio(slow.typical, fast.typical, across="dtype") =]', other) == ("4.0", [])
    gpu = measured(*rounds("slow", 0.04, 0.04, device="cuda"), *rounds("fast", 0.01, 0.01))
    assert "设备不同（cuda、cpu）" in wrong("[% claim slow.typical > fast.typical %]慢[% endclaim %]", gpu)[0]


def test_braces_of_other_languages_are_text() -> None:
    """C01, C02, C03."""
    source = '`{{ {} }}` {% if %} {# a #} ${{ runner.os }} f"{{x}}" {#sec}'
    assert render(source) == (source, [])


def test_records_are_named_by_one_literal_only() -> None:
    assert records_used('[% set m = record("x") %]\n[= record("y") =]', "p", 1) == ((("x", 1), ("y", 2)), [])
    for source in (
        "[% set r = record %]",
        '[= record("a" ~ "b") =]',
        "[= record(name) =]",
        '[= record("a", 1) =]',
        '[= record(name="a") =]',
    ):
        used, mistakes = records_used(source, "docs/p.md", 4)
        assert used == ()
        assert {(m.file, m.line) for m in mistakes} == {("docs/p.md", 4)}, source
        assert any(m.message.startswith("record 只能写成") for m in mistakes)


def test_private_characters_of_a_page_cannot_forge_a_value() -> None:
    text, _ = render("\ue000\ue010\ue001")
    assert "\ue000" not in text


@pytest.mark.parametrize(
    "source", ["[= slow.typical > fast.typical =]", "[% set quicker = slow.typical < fast.typical %]", "[= slow.typical == 1 =]"]
)
def test_measured_values_are_compared_in_claims_only(source: str) -> None:
    (found,) = wrong(source)
    assert "只能在 [% claim … %] 里比较" in found


def test_plain_values_are_compared_as_usual() -> None:
    source = '[% if m.rounds >= 5 and slow.case == "slow" and slow.case in ["slow"] and 1 < m.rounds != 6 %]是[% endif %]'
    assert render(source) == ("是", [])


def test_a_verdict_is_no_truth_value() -> None:
    (found,) = wrong("\n[% if same(slow.typical, fast.typical) %]一样[% endif %]")
    assert found.startswith("docs/p.md:4：判断有三种结果")
    (found,) = wrong("[= same(slow.typical, fast.typical) =]")
    assert "判断不能印出来" in found


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("[% set s %][= slow.min =][% endset %][= s =]", "不能用 [% set x %]…[% endset %]"),
        ("[= slow.case ~ 1 =]", "不能用 ~"),
        ('[= "一" =]', "不印文字"),
        ("[= slow.case =]", "不印文字"),
    ],
)
def test_text_is_not_printed(source: str, says: str) -> None:
    """A number by hand cannot come in on the back of a measured one."""
    text, mistakes = render(source)
    assert text == ""
    assert [says in str(m) for m in mistakes] == [True]


def test_filters_tests_and_files_are_refused_one_by_one() -> None:
    found = wrong('[= slow.min|round =]\n[% if slow is defined %][% endif %]\n[= "x"|upper =]\n[% include "mkdocs.yml" %]')
    assert [line.split("：")[0] for line in found] == [f"docs/p.md:{n}" for n in (3, 4, 5, 6)]
    assert "不能用 | round" in found[0]
    assert "不能用 is defined" in found[1]
    assert "页面不能读别的文件" in found[3]


def test_what_the_plugin_passes_is_not_seen() -> None:
    """Front matter and the site's configuration cannot shadow a macro, nor be read."""
    links = Links(lambda machine, experiment: "", lambda machine, experiment: ())
    page = Page("docs/p.md", "lab", 1, {"x": Record(RecordView(SLOW_AND_FAST))}, links, [])
    environment = PageEnvironment()
    environment.page = page
    template = environment.from_string('[= record("x").series("slow", "matmul").typical =][= other =]')
    shown = late.as_text(template.render(record="front matter", other="s3", config={}, page=None), page.values)
    assert shown == "40.0 ms"
    assert [m.message.split("。")[0] for m in page.mistakes] == ["不认识的名字 other"]


def test_a_page_cannot_choose_the_branch_itself() -> None:
    source = "[% set _arm = 0 %][% claim slow.typical > fast.typical %][% set _arm = 1 %]慢[% elif fast.typical > slow.typical %]快[% endclaim %]"
    assert render(source) == ("慢", [])


def test_claims_inside_claims_and_loops() -> None:
    source = (
        "[% claim slow.typical > fast.typical %]外[% claim same(slow.typical, slow.typical) %]内[% endclaim %][% endclaim %]"
        "[% for a in [slow, fast] %][% claim a.typical > fast.typical %]慢[% noise %]平[% endclaim %][% endfor %]"
    )
    assert render(source) == ("外内慢平", [])


def test_a_sentence_that_does_not_hold_is_not_even_evaluated() -> None:
    source = "[% claim slow.typical > fast.typical %]慢[% elif fast.typical > slow.typical %][= faster(fast.typical, slow.typical) =][% endclaim %]"
    assert render(source) == ("慢", [])


@pytest.mark.parametrize(
    ("condition", "shown"),
    [
        ("slow.typical > fast.typical", "噪声"),
        ("not slow.typical > fast.typical", "噪声"),
        ("slow.typical > fast.typical and m.has('slow')", "噪声"),
        ("slow.typical > fast.typical or m.has('slow')", "成立"),
        ("not (slow.typical > fast.typical and slow.typical > 5 * fast.typical)", "成立"),
        ("slow.typical > fast.typical and slow.typical > 5 * fast.typical", ""),
        ("slow.typical > 5 * fast.typical", ""),
    ],
)
def test_noise_is_a_third_value(condition: str, shown: str) -> None:
    text, mistakes = render(f"[% claim {condition} %]成立[% noise %]噪声[% endclaim %]", EQUAL)
    assert text == shown
    assert [("没有一句话合 lab 的数据" in str(m)) for m in mistakes] == ([] if shown else [True])


def test_a_shown_claim_carries_its_evidence() -> None:
    environment = PageEnvironment()
    links = Links(lambda machine, experiment: "", lambda machine, experiment: ())
    page = environment.page = Page("docs/p.md", "lab", 1, {"x": Record(RecordView(SLOW_AND_FAST))}, links, [])
    text = environment.from_string(SETS + "[% claim slow.typical > fast.typical %]慢[% endclaim %]").render()
    html = late.resolve(text, page.values, lambda value, reason: None)
    assert html.startswith('<span class="claim" data-claim="holds">慢<button type="button" class="claim-mark" id="claim-1" ')
    assert "typical(slow/matmul/steady/ready)（40.0 ms）" in html


@pytest.mark.parametrize(
    "source",
    [
        "[% claim slow.typical > fast.typical %]慢",
        "[= slow.min",
        "[% endclaim %]",
        "[% claim %]x[% endclaim %]",
        "[% elif x %]",
        "[= =]",
        "[% if %]",
    ],
)
def test_wrong_syntax_has_file_and_line(source: str) -> None:
    (found,) = wrong(f"\n\n{source}")
    assert found.startswith("docs/p.md:5：写法不对")


def test_machines_are_never_mixed() -> None:
    """C24: arithmetic and comparisons need one machine."""
    other = measured(*rounds("slow", 0.04, 0.04, 0.04), machine=SLOW_AND_FAST.machine.model_copy(update={"label": "other"}))
    links = Links(lambda machine, experiment: "", lambda machine, experiment: ())
    environment = PageEnvironment()
    records = {"x": Record(RecordView(SLOW_AND_FAST)), "y": Record(RecordView(other))}
    page = environment.page = Page("docs/p.md", "lab", 1, records, links, [])
    body = '[% set there = record("y").series("slow", "matmul") %][= there.typical / fast.typical =][% claim there.typical > fast.typical %]慢[% endclaim %]'
    assert late.as_text(environment.from_string(SETS + body).render(), page.values) == ""
    assert ["来自两台机器（other、lab）" in m.message for m in page.mistakes] == [True, True]


def test_a_record_that_was_already_complained_about_is_not_complained_about_again() -> None:
    links = Links(lambda machine, experiment: "", lambda machine, experiment: ())
    environment = PageEnvironment()
    page = environment.page = Page("docs/p.md", "lab", 1, {"x": Record(None)}, links, [])
    body = "[= slow.min =][% claim slow.typical > 2 * fast.typical %]慢[% endclaim %][% if m.rounds > 2 %]多[% endif %][= times(slow.min, fast.min) =]"
    environment.from_string(SETS + body).render()
    assert page.mistakes == []
