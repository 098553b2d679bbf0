"""What a page sees of a record: selection that never guesses, and statistics worked out by hand."""

import math
from collections.abc import Callable
from statistics import median

import pytest

from measure.claims import compare
from measure.quantity import NO_SPREAD, PageError
from measure.record import (
    Absent,
    Build,
    Excerpt,
    Fact,
    Machine,
    Printed,
    Published,
    PublishedFact,
    PublishedSeries,
    Run,
)
from measure.stats import Form, Runs, level
from measure.view import RecordView, best
from tests.records import measured, run, runs, timed

EXCERPT = Excerpt(
    name="gemm",
    source="burn-flex",
    version="0.22.1",
    path="src/m.rs",
    first_line=7,
    text="fn f<T>() {}",
    sha256="0" * 64,
    licence="MIT",
)


def figures(case: str, threads: int, round_: int | None, **texts: str) -> PublishedSeries:
    return PublishedSeries.model_validate(
        {
            "case": case,
            "metric": "matmul",
            "phase": "steady",
            "scope": "ready",
            "params": {"threads": threads},
            "round": round_,
            "n": 20,
            "printed": {name: Printed(text=text, unit="ms") for name, text in texts.items()},
        }
    )


@pytest.fixture
def published() -> Published:
    return Published(
        schema_version=1,
        origin="published",
        experiment="cpu-matmul",
        machine=Machine(label="m2", cpu="M2", cores=12, memory_gib=None, system="macOS"),
        source="书",
        conditions="负载 4 到 7",
        versions={"burn": "0.22.1"},
        series=(
            figures("torch", 1, 1, min="0.80", median="0.93"),
            figures("torch", 1, 2, min="0.770", median="0.85"),
            figures("burn", 1, 1, min="21.424", median="22.005"),
            figures("amx", 1, 1, min="5.1"),
        ),
        facts=(
            PublishedFact(name="dtype", value="f32"),
            PublishedFact(name="blas", value="accelerate", case="torch", params={"threads": 1}),
        ),
        absent=(Absent(case="x86v4", reason="这是 Apple 芯片"),),
    )


@pytest.fixture
def here() -> RecordView:
    """torch: rounds 1, 2, 3; burn: one round."""
    passed = Fact(name="passed", value=3, of=4)
    torch = runs("torch", (3.0, 1.0, 2.0), (5.0, 4.0), (2.5, 2.25, 9.0), facts=(passed,), threads=1)
    absent = Absent(case="amx", params={"threads": "all"}, reason="没有 AMX")
    return RecordView(measured(*torch, *runs("burn", (30.0,), dtype="f64", threads=1), absent=(absent,)))


def test_a_series_pools_its_rounds(here: RecordView) -> None:
    torch = here.series("torch", "matmul", threads=1)
    assert torch.n == 8
    assert (torch.min.value, torch.min.formula) == (1.0, "min(torch/matmul/steady/ready/threads=1)")
    assert torch.median.value == median([3.0, 1.0, 2.0, 5.0, 4.0, 2.5, 2.25, 9.0]) == 2.75
    assert torch.typical.value == 2.5  # of 2, 4.5 and 2.5
    assert torch.p90.value == pytest.approx(5.0 + 0.3 * 4.0)  # at 6.3 of the eight in order
    assert torch.round_numbers == (1, 2, 3)
    assert torch.round(2).median.value == 4.5
    assert torch.round(2).median.formula == "median(torch/matmul/steady/ready/threads=1@2)"
    assert torch.cores.value == 1.0


def test_verdicts_go_by_the_medians_of_runs(here: RecordView) -> None:
    torch = here.series("torch", "matmul")
    runs = Runs("x/torch/matmul/steady/ready/threads=1", (2.0, 4.5, 2.5), ("x:0", "x:1", "x:2"))
    assert torch.typical.form == torch.median.form == Form(level(runs))
    assert torch.min.form == torch.round(1).median.form == NO_SPREAD


def test_c27_a_run_of_zero_is_an_error_and_not_a_crash() -> None:
    m = RecordView(measured(*runs("a", (1.0,), (1.0,), series=(timed("hits", 0.0, 0.0, 1.0, unit="1"),))))
    assert m.series("a", "hits").typical.text() == "0"
    with pytest.raises(PageError, match="值不是正数"):
        compare(m.series("a", "hits").typical, ">", 1)


def test_series_of_one_run_name_the_same_process() -> None:
    m = RecordView(measured(*runs("a", (1.0, 2.0), (2.0, 3.0), (4.0, 5.0), series=(timed("rest", 1.0, 1.5),))))
    whole, rest = (m.series("a", metric).typical.form for metric in ("matmul", "rest"))
    assert isinstance(whole, Form)
    assert isinstance(rest, Form)
    processes = {runs.processes for form in (whole, rest) for runs in form.plus.powers}
    assert processes == {("x:0", "x:1", "x:2")}


def test_samples_say_how_uncertain_their_median_is() -> None:
    """One step of 1 % between neighbours in 21 samples: five steps either side of the median are two standard errors."""
    m = RecordView(measured(*runs("a", *[tuple(1.01**k for k in range(21))] * 3)))
    form = m.series("a", "matmul").typical.form
    assert isinstance(form, Form)
    (series,) = form.plus.powers
    assert series.sampling == pytest.approx(math.log(1.01) * 10 / (2 * 2.2172839))  # 0.0133 of B(21, ½) is at most 5
    (least,) = m.series("a", "matmul").by_run("min").form.plus.powers  # type: ignore[union-attr]
    assert least.sampling == 0.0


def test_a_note_tells_statistic_count_machine_and_load(here: RecordView) -> None:
    torch, burn = here.series("torch", "matmul"), here.series("burn", "matmul")
    assert torch.median.note == "中位数，3 轮共 8 次；各轮的中位数 2.00 s 到 4.50 s；torch/matmul/steady/ready/threads=1"
    assert torch.round(3).median.note.startswith("中位数，一轮共 3 次；样本 2.25 s 到 9.00 s；")
    assert burn.median.note == "中位数，一轮共 1 次；burn/matmul/steady/ready/threads=1@1"
    assert torch.median.taken == burn.median.taken == "lab，2026-11-30；1 分钟负载 0.1 到 1.0"


def test_c18_one_sample_shows_no_spread_and_gives_no_verdict(here: RecordView) -> None:
    burn = here.series("burn", "matmul")
    assert (burn.n, burn.median.text(), burn.median.form) == (1, "30.0 s", NO_SPREAD)
    assert "一轮共 1 次" in burn.median.note


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda m: m.series("tourch", "matmul"), "没有叫 tourch 的实现；有 amx、burn、torch"),
        (lambda m: m.series("torch", "matmull"), "没有叫 matmull 的指标；有 matmul"),
        (lambda m: m.series("torch", "matmul", threads=7), "没有 threads=7 这个设置；有 threads=1、threads=all"),
        (lambda m: m.series("torch", "matmul", thread=1), "没有 thread=1 这个设置"),
        (lambda m: m.series("torch", "matmul", threads="1"), "没有 threads=1 这个设置"),
        (
            lambda m: m.series("torch", "matmul", threads="all"),
            "torch 没有 metric=matmul threads=all；有 metric=matmul threads=1",
        ),
        (lambda m: m.series("torch", "matmul", scope="device"), "scope=device"),
        (lambda m: m.series("torch", "matmul", phase="first"), "phase=first"),
        (lambda m: m.series("amx", "matmul"), "lab 上没有 amx（没有 AMX）"),
        (lambda m: m.has("tourch"), "tourch"),
        (lambda m: m.has("torch", "matmull"), "matmull"),
        (lambda m: m.has("torch", thread=1), "thread=1"),
        (lambda m: m.series("torch", "matmul").round(4), "没有第 4 轮；有 1、2、3"),
        (
            lambda m: m.fact("dtyp", "torch"),
            r"没有事实 torch/dtyp；有 device（threads=1）、dtype（threads=1）、passed（threads=1）",
        ),
        (lambda m: m.fact("dtype"), "不同的值：f32、f64"),
        (lambda m: m.fact("dtype", "tourch"), "没有叫 tourch 的实现"),
        (lambda m: m.fact("dtype", "torch", thread=1), "thread=1"),
        (lambda m: m.version("jax"), "没有 jax 的版本；有 lib"),
        (lambda m: m.build("p"), "没有构建过 p"),
        (lambda m: m.excerpt("gemm"), "没有摘录 gemm"),
    ],
)
def test_selection_never_guesses(here: RecordView, ask: Callable[[RecordView], object], said: str) -> None:
    with pytest.raises(PageError, match=said):
        ask(here)


def test_more_than_one_match_is_an_error_that_lists_them() -> None:
    extra = [timed("step", 1.0, params={"size": n}) for n in (1, 2)]
    m = RecordView(measured(*runs("torch", (1.0,), (1.0,), series=extra, threads=1)))
    with pytest.raises(PageError, match=r"2 组.*size=1 threads=1.*size=2 threads=1"):
        m.series("torch", "step")
    assert m.series("torch", "step", size=2).n == 2
    assert [s.id for s in m.all_series()] == [
        "torch/matmul/steady/ready/threads=1",
        "torch/step/steady/ready/size=1/threads=1",
        "torch/step/steady/ready/size=2/threads=1",
    ]


def test_has_is_false_for_what_is_declared_and_absent(here: RecordView) -> None:
    assert here.has("torch", "matmul", threads=1)
    assert not here.has("amx")
    assert not here.has("torch", threads="all")


def test_names_of_other_machines_are_known(published: Published) -> None:
    m = RecordView(measured(*runs("torch", (1.0,), threads=1)), (published,))
    assert not m.has("x86v4")
    with pytest.raises(PageError, match="lab 上没有 burn（没有发表）"):
        m.series("burn", "matmul")


def test_facts_print_in_full(here: RecordView) -> None:
    assert here.fact("passed", "torch", round=2).text() == "3 / 4"
    assert here.fact("dtype", "torch", threads=1).text() == "f32"
    assert here.version("lib").text() == "1.2"


@pytest.fixture
def at_betas() -> RecordView:
    """Width 1 and 2 agree on one of two values; both have a fact that belongs to no beta."""

    def facts(second: float) -> tuple[Fact, ...]:
        lnz = [Fact(name="lnz", value=value, params={"beta": beta}) for beta, value in (("0.30", 0.75), ("0.40", second))]
        return (*lnz, Fact(name="svd-count", value=40))

    return RecordView(
        measured(
            *runs("trg", (1.0,), (1.0,), facts=facts(0.875), width=1), *runs("trg", (1.0,), (1.0,), facts=facts(0.876), width=2)
        )
    )


def test_facts_are_chosen_by_settings_of_the_run_and_their_own(at_betas: RecordView) -> None:
    assert at_betas.fact("lnz", "trg", beta="0.40", width=2).text() == "0.876"
    assert at_betas.fact("lnz", "trg", beta="0.40", width=1).formula == "fact(trg/lnz/beta=0.40/width=1)"
    assert at_betas.fact("lnz", beta="0.30").text() == "0.75"  # all runs agree
    assert at_betas.fact("svd-count", "trg", width=1).text() == "40"


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        ("lnz", {"beta": "0.40"}, "不同的值：0.875、0.876"),
        ("lnz", {"width": 1}, "不同的值：0.75、0.875"),
        ("svd-count", {"beta": "0.30"}, r"没有事实 \*/svd-count/beta=0.30；有 .*svd-count（width=1）"),
        ("lnz", {"beta": "0.45"}, "没有 beta=0.45 这个设置；有 beta=0.30、beta=0.40、width=1、width=2"),
        ("lnz", {"beta": "0.30", "width": 3}, "没有 width=3 这个设置"),
    ],
)
def test_a_fact_that_settings_do_not_single_out_is_an_error(
    at_betas: RecordView, name: str, settings: dict[str, int | str], said: str
) -> None:
    with pytest.raises(PageError, match=said):
        at_betas.fact(name, None, round=None, **settings)


def test_counts_are_added_up_over_the_runs_of_a_case() -> None:
    def case(name: str, *passed: int) -> list[Run]:
        return [run(name, k, (1.0,), facts=(Fact(name="passed", value=p, of=4),)) for k, p in enumerate(passed, 1)]

    m = RecordView(measured(*case("a", 3, 4, 3), *case("b", 0)))
    assert m.fact("passed", "a").text() == "10 / 12"
    assert m.fact("passed", "a").of == 12
    assert m.fact("passed", "a", round=2).text() == "4 / 4"
    assert m.fact("passed", "a", round=2).formula == "fact(a/passed/round=2)"
    with pytest.raises(PageError, match="不同的值：0、3、4"):
        m.fact("passed")


def test_a_fact_of_one_round_where_rounds_differ() -> None:
    m = RecordView(measured(*(run("a", k, (1.0,), facts=(Fact(name="kernel", value=f"k{k}"),)) for k in (1, 2))))
    assert m.fact("kernel", "a", round=2).text() == "k2"
    with pytest.raises(PageError, match="不同的值：k1、k2。写明 case、参数或 round"):
        m.fact("kernel", "a")
    with pytest.raises(PageError, match="没有事实 a/kernel/round=3"):
        m.fact("kernel", "a", round=3)


def test_facts_with_other_bits_do_not_agree() -> None:
    def of(bits: str) -> tuple[Fact, ...]:
        return (Fact(name="lnz", value=0.75, bits=bits),)

    one, other = (runs("trg", (1.0,), facts=of(bits), width=k) for k, bits in enumerate(("3fe8", "3fe9"), 1))
    with pytest.raises(PageError, match=r"0\.75（3fe8）、0\.75（3fe9）"):
        RecordView(measured(*one, *other)).fact("lnz")
    assert RecordView(measured(*one, *other)).fact("lnz", width=1).fact.bits == "3fe8"


def test_c24_series_of_different_dtype_do_not_divide(here: RecordView) -> None:
    with pytest.raises(PageError, match="数据类型不同（f64、f32）"):
        here.series("burn", "matmul").typical / here.series("torch", "matmul").typical


def test_c24_best_is_of_things_that_can_be_compared(here: RecordView) -> None:
    torch, burn = here.series("torch", "matmul"), here.series("burn", "matmul")
    with pytest.raises(PageError, match="数据类型"):
        best(torch, burn)
    assert best(torch.round(2), torch.round(1), torch.round(3)).min.value == 1.0
    with pytest.raises(PageError, match="至少"):
        best()


def test_published_figures_keep_their_digits(published: Published) -> None:
    m = RecordView(published)
    torch = m.series("torch", "matmul")
    assert (m.published, m.rounds, torch.n) == (True, 2, 40)
    assert (torch.min.text(), torch.round(1).min.text()) == ("770 µs", "800 µs")
    assert torch.round(1).min.significant == 2
    assert m.series("burn", "matmul").min.text() == "21.4 ms"
    assert torch.typical.value == pytest.approx((0.93e-3 + 0.85e-3) / 2)
    assert (m.series("burn", "matmul").min / torch.min).text() == "28"  # 21.424 / 0.770 = 27.8
    assert torch.min.margin == 1.05


def test_published_rounds_have_no_pooled_median(published: Published) -> None:
    m = RecordView(published)
    with pytest.raises(PageError, match=r"发表了 2 轮.*\.round\(1\)\.median 或 \.typical"):
        _ = m.series("torch", "matmul").median
    with pytest.raises(PageError, match="没有发表 p90"):
        _ = m.series("torch", "matmul").p90
    with pytest.raises(PageError, match="没有发表中位数"):
        _ = m.series("amx", "matmul").typical
    with pytest.raises(PageError, match="没有记录用了几个核"):
        _ = m.series("amx", "matmul").cores
    assert m.series("torch", "matmul").statistic("median") is None


def test_published_facts_of_the_whole_record_hold_for_each_case(published: Published) -> None:
    m = RecordView(published)
    assert m.fact("blas", "torch", threads=1).text() == "accelerate"
    assert m.fact("dtype").text() == m.fact("dtype", "torch").text() == m.fact("dtype", "burn").text() == "f32"
    with pytest.raises(PageError, match=r"没有事实 torch/dtype/threads=1；有 blas（threads=1）、dtype$"):
        m.fact("dtype", "torch", threads=1)
    assert m.settings("dtype", "burn") == "f32"


def test_excerpts_come_from_another_machine_only_in_the_same_version(published: Published) -> None:
    elsewhere = measured(*runs("torch", (1.0,), threads=1), excerpts=(EXCERPT,))
    assert RecordView(published, (elsewhere,)).excerpt("gemm") == EXCERPT
    older = published.model_copy(update={"versions": {"burn": "0.21.0"}})
    with pytest.raises(PageError, match="没有摘录 gemm"):
        RecordView(older, (elsewhere,)).excerpt("gemm")


def test_sizes_of_binaries() -> None:
    build = Build(
        package="p", profile="release", declared="", resolved=(), compiler="rustc", target="x86_64", binary_bytes=3 * 2**20
    )
    assert RecordView(measured(*runs("torch", (1.0,), threads=1), builds=(build,))).binary("p").text() == "3.00 MiB"
    bare = build.model_copy(update={"binary_bytes": None})
    with pytest.raises(PageError, match="p 的大小没有发表"):
        RecordView(measured(*runs("torch", (1.0,), threads=1)).model_copy(update={"builds": (bare,)})).binary("p")
