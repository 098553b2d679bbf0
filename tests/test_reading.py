"""One page, two sets of records: which claims and sentences change, on which line, and what would stop a build."""

from __future__ import annotations

from pathlib import Path

import pytest

from measure import reading
from measure.reading import PageChange, SentenceChange, Source
from measure.record import Run
from measure.store import Records
from tests.records import LAB, SLOW_AND_FAST, measured, rounds

PAGE = """---
tags: [a]
---
[% set m = record("x") %]
[% set slow = m.series("slow", "matmul") %]
[% set fast = m.series("fast", "matmul") %]
# 快与慢

慢的用 [= slow.typical =]。它们都不变。另一个用 [= fast.typical =]！

[% claim slow.typical > fast.typical %]慢的确实慢，是 [= slow.typical / fast.typical =] 倍。[% elif fast.typical > slow.typical %]它其实快。[% noise %]分不出来。[% endclaim %]
[% claim same(slow.typical, fast.typical) %]一样快。[% elif not same(slow.typical, fast.typical) %]不一样快。[% noise %]看不出来。[% endclaim %]

[% if m.has("third") %]
有第三种。
[% endif %]

[= table(["谁", "时间"], ["慢", slow.typical]) =]

```mermaid
a["[= fast.typical =]"]
```
"""


def page(text: str = PAGE) -> Source:
    return Source("docs/a.md", text.split("---\n")[2], 4, ("x",))


def records(*of: Run, label: str = "lab") -> Records:
    return {(label, "x"): measured(*of, machine=LAB.model_copy(update={"label": label}))}


OLD: Records = {("lab", "x"): SLOW_AND_FAST}
FASTER = rounds("slow", 0.010, 0.0101, 0.0099) + rounds("fast", 0.040, 0.0402, 0.0398)
SWAPPED = records(*FASTER)


def changed(new: Records, text: str = PAGE, old: Records = OLD) -> PageChange:
    found = reading.compare(page(text), ("lab", old), ("lab", new))
    assert found is not None
    return found


def test_nothing_changes_with_the_same_records() -> None:
    assert reading.compare(page(), ("lab", OLD), ("lab", OLD)) is None


def test_another_sentence_of_a_claim_and_the_values_around_it() -> None:
    found = changed(SWAPPED)
    assert (found.page, found.machine, found.kind, found.problems) == ("docs/a.md", "lab", "changed", ())
    (claim,) = found.claims
    assert (claim.line, claim.old, claim.new) == (11, "慢的确实慢，是 4.0 倍。", "它其实快。")
    assert claim.evidence.startswith(
        "typical(fast/matmul/steady/ready)（40.0 ms） > typical(slow/matmul/steady/ready)（10.0 ms）"
    )
    assert found.sentences == (
        SentenceChange(9, False, "慢的用 40.0 ms。", "慢的用 10.0 ms。"),
        SentenceChange(9, False, "另一个用 10.0 ms！", "另一个用 40.0 ms！"),
        SentenceChange(11, True, "慢的确实慢，是 4.0 倍。", "它其实快。"),
        SentenceChange(21, False, 'a["10.0 ms"]', 'a["40.0 ms"]'),
    )


def test_a_sentence_that_only_some_records_bring() -> None:
    third = records(*SLOW_AND_FAST.runs, *rounds("third", 0.01, 0.01, 0.01))
    (found,) = changed(third, old=OLD | {("box", "x"): third["lab", "x"]}).sentences
    assert found == SentenceChange(15, True, "", "有第三种。")
    (found,) = changed(OLD | {("box", "x"): third["lab", "x"]}, old=third).sentences
    assert found == SentenceChange(15, True, "有第三种。", "")


def test_a_claim_that_nothing_is_left_of() -> None:
    text = PAGE.replace("[% elif fast.typical > slow.typical %]它其实快。[% noise %]分不出来。", "")
    found = changed(SWAPPED, text)
    assert [(c.line, c.old, c.new) for c in found.claims] == [(11, "慢的确实慢，是 4.0 倍。", "")]
    (problem,) = found.problems
    assert problem.startswith("docs/a.md:11：claim 里没有一句话合 lab 的数据")
    assert changed(OLD, text, SWAPPED).problems == ()  # it is the new records that a build goes by


def test_two_claims_on_one_line_are_told_apart() -> None:
    sets = PAGE.split("---\n")[2].partition("# 快与慢")[0]
    which = "[% claim slow.typical > fast.typical %]慢。[% elif fast.typical > slow.typical %]快。[% endclaim %]"
    long = '[% claim slow.typical > q("1 ms") %]长。[% endclaim %]'
    for line in (long + which, which + long):
        assert [(c.line, c.old, c.new) for c in changed(SWAPPED, f"---\na: b\n---\n{sets}{line}\n").claims] == [
            (7, "慢。", "快。")
        ]


def test_what_programs_printed_is_no_prose() -> None:
    printed = [one.model_copy(update={"stdout": "今天不同。\n"}) for one in SLOW_AND_FAST.runs]
    text = PAGE.replace("# 快与慢", '# 快与慢\n\n[= output(m, "slow") =]\n\n[= conditions(m) =]')
    assert reading.compare(page(text), ("lab", OLD), ("lab", records(*printed))) is None
    later = OLD["lab", "x"].model_copy(update={"started": "2027-01-01T00:00:00+00:00"})
    (found,) = changed({("lab", "x"): later}, text).sentences
    assert (found.line, found.new[:10]) == (11, "2027-01-01")


def test_mistakes_that_a_page_has_anyway_are_not_the_records_fault() -> None:
    text = PAGE + "\n[= nope.min =]\n"
    assert changed(SWAPPED, text).problems == ()
    gone = records(*rounds("slow", 0.01, 0.01, 0.01))
    assert [p.split("：")[0] for p in changed(gone, text).problems] == ["docs/a.md:6"]


def test_a_page_comes_and_goes_with_the_records_it_needs() -> None:
    assert reading.compare(page(), ("lab", {}), ("lab", OLD)) == PageChange("docs/a.md", "lab", "appeared")
    assert reading.compare(page(), ("lab", OLD), ("lab", {})) == PageChange("docs/a.md", "lab", "vanished")
    assert reading.compare(page(), ("lab", {}), ("lab", {})) is None


def test_two_machines() -> None:
    both: Records = OLD | records(*FASTER, label="box")
    found = reading.compare(page(), ("lab", both), ("box", both))
    assert found is not None
    assert found.machine == "lab → box"
    assert [c.new for c in found.claims] == ["它其实快。"]


@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_pages_are_read_with_their_lines(tmp_path: Path, newline: str) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.md").write_bytes(PAGE.replace("\n", newline).encode("utf-8-sig"))
    (tmp_path / "b.md").write_text("# 没有记录\n", encoding="utf-8")
    (tmp_path / "c.md").write_text("[% if %]\n", encoding="utf-8")
    (found,) = reading.pages(tmp_path)
    assert (found.file, found.first_line, found.experiments) == ("docs/sub/a.md", 4, ("x",))
    assert found.body == page().body
