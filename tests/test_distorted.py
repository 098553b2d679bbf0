"""When records are distorted no sentence survives by luck: what the book's pages then say is read again, by its words and its numbers.

The reader here knows nothing of claims. It takes a sentence as somebody who reads it would, and says where the words contradict the
numbers beside them.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Hashable, Iterator
from itertools import combinations

import pytest

from measure.blocks import Links
from measure.evidence import Claim
from measure.macros import Page, PageEnvironment, records_for
from measure.reading import Source, pages
from measure.record import Measured, Published
from measure.store import Store
from tests.books import ROOT

Record = Measured | Published
Who = tuple[str, Hashable]
"""A case and its settings."""
Key = tuple[Who, Hashable, int | None]
"""Whose series, which, and in which round."""

MOVES = 10
"""How many swaps and equalisations of each record that a page shows are tried, drawn with a fixed seed; there are hundreds."""
NUMBER = r"(?<![0-9.])([0-9.]+)"
TIME = rf"{NUMBER} (ns|µs|ms|s)(?![a-z])"
SECONDS = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
LESS = "快|少|短|降|小"
MORE = "慢|多|长|久|大"
UNDECIDED = "分不出|看不出|说不出|说不准|噪声"
COMPARATIVE = re.compile(
    "更[快慢多少久短长大小]|[快慢多少久短长大小](?:得多|一些|一点|了)|一样[快慢多]|差不多|反而|变[快慢大小]|比[^，。：？、]{1,20}[快慢多少久短长]|几乎|绝大部分"
)


BLOCK = re.compile(r"\[= (?:table|bars|strip|stacked|output|excerpt)\(.*?=\]", re.DOTALL)
"""What shows the record itself; drawing it takes long."""


def blank(found: re.Match[str]) -> str:
    return "\n" * found[0].count("\n")


# --- distortions ---


def series_of(record: Record) -> dict[Key, object]:
    """What there is of each series: samples, or printed figures."""
    if isinstance(record, Published):
        return {((s.case, settings(s.params)), (s.metric, s.phase, s.scope), s.round): s.printed for s in record.series}
    return {
        ((r.case, settings({**r.params, **s.params})), (s.metric, s.phase, s.scope), r.round): s.samples
        for r in record.runs
        for s in r.series
    }


def settings(params: dict[str, int | str]) -> Hashable:
    return frozenset(params.items())


def changed(record: Record, change: Callable[[Key, object], object]) -> Record:
    """The record with other figures; everything else stays."""
    if isinstance(record, Published):
        pairs = zip(record.series, series_of(record).items(), strict=True)
        return record.model_copy(update={"series": tuple(s.model_copy(update={"printed": change(*item)}) for s, item in pairs)})
    figures = iter(series_of(record).items())
    runs = tuple(
        r.model_copy(update={"series": tuple(s.model_copy(update={"samples": change(*next(figures))}) for s in r.series)})
        for r in record.runs
    )
    return record.model_copy(update={"runs": runs})


def scaled(case: str, factor: float) -> Callable[[Key, object], object]:
    def change(key: Key, figures: object) -> object:
        if key[0][0] != case:
            return figures
        if isinstance(figures, dict):
            return {k: p.model_copy(update={"text": f"{float(p.text) * factor:.9f}"}) for k, p in figures.items()}
        assert isinstance(figures, tuple)
        return tuple(sample * factor for sample in figures)

    return change


def moved(there: dict[Key, object], a: Who, b: Who, *, both_ways: bool) -> Callable[[Key, object], object]:
    """`b` gets the figures of `a`, and `a` those of `b` if it is both ways."""
    other = {b: a, a: b} if both_ways else {b: a}

    def change(key: Key, figures: object) -> object:
        who, series, round_ = key
        return there.get((other[who], series, round_), figures) if who in other else figures

    return change


def distortions(record: Record) -> list[tuple[str, Callable[[Key, object], object]]]:
    there = series_of(record)
    whos = list(dict.fromkeys(key[0] for key in there))
    of = {who: {key[1:] for key in there if key[0] == who} for who in whos}
    scales = [(f"{case} × {f:g}", scaled(case, f)) for case in dict.fromkeys(who[0] for who in whos) for f in (20, 1 / 20)]
    moves = []
    for a, b in combinations(whos, 2):
        if of[a] & of[b]:
            moves.append((f"{a} ↔ {b}", moved(there, a, b, both_ways=True)))
            moves.append((f"{b} := {a}", moved(there, a, b, both_ways=False)))
    return scales + random.Random(20261201).sample(moves, min(MOVES, len(moves)))  # noqa: S311 - not a secret


# --- what a page says ---


def rendered(page: Source, machine: str, records: dict[tuple[str, str], Record]) -> list[Claim]:
    """The claims that leave a sentence, with its words."""
    links = Links(lambda machine, experiment: "", lambda machine, experiment: ())
    seen = Page(page.file, machine, page.first_line, records_for(machine, page.experiments, records), links, [])
    PageEnvironment().render_page(seen, BLOCK.sub(blank, page.body))
    return [claim for claim in seen.claims if claim.sentence]


def contradictions(sentence: str) -> Iterator[str]:
    """Where a reader would see that words and numbers part."""
    said = re.sub("不忙|不限|不导入|并不慢|并不快", "", sentence)
    for t1, u1, words, t2, u2 in re.findall(rf"从 {TIME}( ?(?:变成|变大到|变小到|到) ?){TIME}", said):
        yield from expect(seconds(t2, u2) / seconds(t1, u1), words if "变大" in words or "变小" in words else said, words + t2)
    for t1, u1, t2, u2, word in re.findall(rf"{TIME}[，,]?(?:反而|仍)?比[^，。：]*?{TIME}[^，。：]*?({LESS}|{MORE})", said):
        yield from expect(seconds(t1, u1) / seconds(t2, u2), word, f"{t1} {u1} 比 {t2} {u2} {word}")
    for word, t1, u1, t2, u2 in re.findall(rf"({LESS}|{MORE})[了一些]*：{TIME} 对 {TIME}", said):
        yield from expect(seconds(t1, u1) / seconds(t2, u2), word, f"{word}：{t1} {u1} 对 {t2} {u2}")
    for n in re.findall(rf"[快慢]了? {NUMBER} 倍", said):
        if float(n) < 1:
            yield f"快了、慢了 {n} 倍"
    for clause in re.split("[。；]", re.sub("[^。；]*(?:差距|相差)[^。；]*", "", said)):
        if (n := re.search(rf"(?<![快慢]了 )(?<![快慢] ){NUMBER} 倍", clause)) and len(re.findall("倍", clause)) == 1:
            yield from expect(
                float(n[1]), clause.replace("还多", "").replace("没有那么多", "").replace("全用", ""), f"{n[0]}：{clause}"
            )
    for p in re.findall(rf"(?:降到|只要|用的时间是)[^，。]*? {NUMBER} %", said):
        if float(p) > 101:
            yield f"降到 {p} %"
    if (gap := re.findall(rf"{NUMBER} 倍", said)) and "差距小了" in said and not float(gap[0]) > float(gap[1]) > 1:
        yield f"差距小了：{gap}"
    times = [seconds(*found) for found in re.findall(TIME, said)]
    for word, limit in (("一样", 1.12), ("差不多", 1.32)):
        if word in said and len(times) == 2 and not UNDECIDED_WORDS.search(said) and max(times) / min(times) > limit:
            yield f"{word}：{times}"


UNDECIDED_WORDS = re.compile(UNDECIDED)


def expect(ratio: float, words: str, shown: str) -> Iterator[str]:
    """Words of one direction go with a ratio on one side of 1 (up to what is rounded off in print)."""
    if UNDECIDED_WORDS.search(words):
        return
    less, more = re.search(LESS, words), re.search(MORE, words)
    if less and not more and ratio > 1.01:
        yield f"说小，{shown} 却大"
    if more and not less and ratio < 0.99:
        yield f"说大，{shown} 却小"


def seconds(number: str, unit: str) -> float:
    return float(number) * SECONDS[unit]


STORE = Store()
PAGES = pages(ROOT / "docs")
SHOWN = [
    (page, machine)
    for page in PAGES
    for machine in STORE.machines(page.experiments[0])
    if all(machine in STORE.machines(name) for name in page.experiments)
]


@pytest.mark.parametrize(("page", "machine"), SHOWN, ids=[f"{page.file}-{machine}" for page, machine in SHOWN])
def test_sentences_follow_distorted_records(page: Source, machine: str) -> None:
    records = {(machine, name): record for name in page.experiments if (record := STORE.load(name, machine))}
    wrong = list(read(page, machine, records, "as it is"))
    for (label, name), record in records.items():
        for what, change in distortions(record):
            wrong += read(page, machine, records | {(label, name): changed(record, change)}, f"{name}: {what}")
    of_each_line = {found.split(" ")[0]: found for found in reversed(wrong)}
    assert not wrong, "\n".join(of_each_line.values())


def read(page: Source, machine: str, records: dict[tuple[str, str], Record], what: str) -> Iterator[str]:
    for claim in rendered(page, machine, records):
        for contradiction in contradictions(claim.sentence):
            yield f"{page.file}:{claim.line} [{what}] {contradiction} 「{claim.sentence}」"


def test_the_reader_sees_contradictions() -> None:
    for sentence in (
        "模板从 2.00 ms 到 3.00 ms，快了。",
        "用 3.00 ms，比 PyTorch 的 2.00 ms 还快。",
        "求值反而快了：3.00 ms 对 2.00 ms。",
        "快了 0.5 倍。",
        "模板慢一些，典型值是 PyTorch 的 0.90 倍。",
        "时间降到原来的 120 %。",
        "单个 matmul 是 0.8 倍，训练步是 0.5 倍，差距小了。",
        "一样快：1.00 ms 和 2.00 ms。",
        "差不多：900 µs 对 1.50 ms。",
    ):
        assert list(contradictions(sentence)), sentence
    for sentence in ("比 PyTorch 的 2.00 ms 还快：1.00 ms。", "一样快：1.00 ms 和 1.05 ms。", "分不出快慢，是 0.99 倍。"):
        assert not list(contradictions(sentence)), sentence


# --- what stands in the pages' files ---

GENERAL = (
    "要比快慢",
    "差别比它们的散开大得多",
    "两个一样快的程序",
    "比值都以 PyTorch 较快的那个线程设置为准",
    "起和核一样多的进程",
)
"""Rules and descriptions that sound like comparisons."""


def test_no_comparison_stands_outside_a_claim() -> None:
    """Questions compare nothing, and what is marked as inferred says so."""
    wrong = []
    for page in PAGES:
        text = page.body
        for kind in (r"\[% claim .*?endclaim %\]", r"\[% inferred %\].*?endinferred %\]", r"```.*?```", r"\[[=%#].*?[=%#]\]"):
            text = re.sub(kind, blank, text, flags=re.DOTALL)
        for number, line in enumerate(text.split("\n"), page.first_line):
            wrong += [
                f"{page.file}:{number} {sentence}"
                for sentence in re.split("(?<=[。？！])", line)
                if COMPARATIVE.search(sentence) and not any(known in sentence for known in ("？", *GENERAL))
            ]
    assert not wrong, "\n".join(wrong)


def arms(page: Source) -> Iterator[tuple[int, str, str]]:
    """Line, condition and sentence of every arm; the condition of what is said of noise is `noise`."""
    for claim in re.finditer(r"\[% claim (.*?)\[% endclaim %\]", page.body, re.DOTALL):
        line = page.body.count("\n", 0, claim.start()) + page.first_line
        pieces = re.split(r"\[% (?:elif (?P<c>.*?)|noise) %\]", "[% elif " + claim[1])
        for condition, sentence in zip(pieces[1::2], pieces[2::2], strict=True):
            yield line, condition or "noise", sentence


def test_noise_is_not_told_as_a_result() -> None:
    wrong = [
        f"{page.file}:{line} {sentence}"
        for page in PAGES
        for line, condition, sentence in arms(page)
        if condition == "noise"
        and COMPARATIVE.search(re.sub(r"\[%.*?%\]", "", sentence))
        and not UNDECIDED_WORDS.search(sentence)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(("word", "widest"), [("一样", 0.1), ("差不多", 0.3), ("看不出", 0.1)])
def test_what_is_called_the_same_is_as_near_as_the_word_says(word: str, widest: float) -> None:
    wrong = [
        f"{page.file}:{line} {condition} {sentence}"
        for page in PAGES
        for line, condition, sentence in arms(page)
        if word in sentence and any(float(within) > widest for within in re.findall(r"within=([0-9.]+)", condition))
    ]
    assert not wrong, "\n".join(wrong)


def test_much_is_at_least_half_as_much_again() -> None:
    wrong = [
        f"{page.file}:{line} {condition} {sentence}"
        for page in PAGES
        for line, condition, sentence in arms(page)
        if re.search("[快慢多少久短长大小]得多", sentence)
        and not any(float(n) >= 1.5 or 0 < float(n) <= 0.67 for n in re.findall(r"(?<![\w.])([0-9.]+)(?= \*|$)", condition))
    ]
    assert not wrong, "\n".join(wrong)
