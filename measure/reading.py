"""What a page says with one set of records and with another: which claims show another sentence, and which sentences read otherwise.

A page is rendered as a build renders it, up to Markdown: there a value still knows the line that placed it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import zip_longest
from pathlib import Path
from typing import Literal

from measure import late
from measure.blocks import Links
from measure.evidence import Claim
from measure.macros import Page, PageEnvironment, body_of, records_for, records_used
from measure.store import Records


@dataclass(frozen=True)
class Source:
    """A page before it is rendered, and the experiments whose records it shows."""

    file: str
    body: str
    first_line: int
    experiments: tuple[str, ...]


@dataclass(frozen=True)
class ClaimChange:
    """A claim that shows another sentence than before, or none."""

    line: int
    old: str
    new: str
    evidence: str
    """Of what is shown now."""


@dataclass(frozen=True)
class SentenceChange:
    """A piece of prose that reads otherwise."""

    line: int
    words: bool
    """Whether more changed than the values in it."""
    old: str
    new: str


@dataclass(frozen=True)
class PageChange:
    """How a page differs for one machine, or between two where that was asked for."""

    page: str
    machine: str
    kind: Literal["changed", "appeared", "vanished"]
    """A page appears for a machine with the last of the records it needs."""
    claims: tuple[ClaimChange, ...] = ()
    sentences: tuple[SentenceChange, ...] = ()
    problems: tuple[str, ...] = ()
    """What a build would refuse with the new records, on lines it would accept with the old."""


def pages(docs: Path) -> list[Source]:
    """The pages that show records. One that is no template at all is for `measure check` to name."""
    found = []
    for path in sorted(docs.rglob("*.md")):
        file = f"docs/{path.relative_to(docs).as_posix()}"
        body, first_line = body_of(path.read_text(encoding="utf-8-sig"))
        used, _ = records_used(body, file, first_line)
        if used:
            found.append(Source(file, body, first_line, tuple(name for name, _ in used)))
    return found


def compare(page: Source, old: tuple[str, Records], new: tuple[str, Records]) -> PageChange | None:
    """A page for one machine with some records, and for the same or another machine with others. None where it differs in nothing."""
    before, after = _render(page, *old), _render(page, *new)
    machine = both(old[0], new[0])
    if before is None or after is None:
        kind: Literal["appeared", "vanished"] = "appeared" if before is None else "vanished"
        return PageChange(page.file, machine, kind) if before or after else None
    known = {mistake.line for mistake in before.page.mistakes}
    change = PageChange(
        page.file,
        machine,
        "changed",
        tuple(_claims(before, after)),
        tuple(_sentences(before, after)),
        tuple(str(mistake) for mistake in sorted(set(after.page.mistakes)) if mistake.line not in known),
    )
    return change if change.claims or change.sentences or change.problems else None


def both(old: str, new: str) -> str:
    """What to call one machine, or two."""
    return new if old == new else f"{old} → {new}"


@dataclass(frozen=True)
class _Rendered:
    source: Source
    page: Page
    text: str
    """Markdown with tokens for values."""


def _render(source: Source, machine: str, records: Records) -> _Rendered | None:
    """None where the machine lacks a record the page needs: a build has no such page."""
    if any((machine, name) not in records for name in source.experiments):
        return None
    environment = PageEnvironment()
    links = Links(lambda machine, experiment: "", lambda machine, experiment: ())
    seen = records_for(machine, source.experiments, records)
    page = Page(source.file, machine, source.first_line, seen, links, [])
    return _Rendered(source, page, environment.render_page(page, source.body))


def _claims(old: _Rendered, new: _Rendered) -> Iterator[ClaimChange]:
    before, after = _by_place(old.page.claims), _by_place(new.page.claims)
    for place in sorted(before.keys() | after.keys()):
        a, b = before.get(place), after.get(place)
        if a is None or b is None or a.arm != b.arm:
            old_text, new_text = (claim.sentence if claim else "" for claim in (a, b))
            yield ClaimChange(place[0], old_text, new_text, b.evidence if b else "")


def _by_place(claims: Iterable[Claim]) -> dict[tuple[int, int], Claim]:
    """By line, and which of that line's it is."""
    places: dict[tuple[int, int], Claim] = {}
    for claim in claims:
        places[claim.line, sum(line == claim.line for line, _ in places)] = claim
    return places


def _sentences(old: _Rendered, new: _Rendered) -> Iterator[SentenceChange]:
    before, after = list(_pieces(old)), list(_pieces(new))
    for one, other in _paired(before, after):
        if one is None or other is None or one.text != other.text:
            line = other.line if other else one.line if one else 1
            words = one is None or other is None or one.words != other.words
            old_text, new_text = (piece.text if piece else "" for piece in (one, other))
            yield SentenceChange(line, words, old_text, new_text)


@dataclass(frozen=True)
class _Piece:
    """A sentence, or what a line has of one."""

    line: int
    words: str
    """Without its values."""
    text: str


def _pieces(rendered: _Rendered) -> Iterator[_Piece]:
    """The prose of a page. Tables, plots and output are left out: what they show are the records themselves."""
    source = rendered.source
    values = [v if v.html.startswith("<p") or not v.block else replace(v, text="") for v in rendered.page.values]
    line = source.first_line
    for raw in re.split(r"(?<=[。！？])|\n", rendered.text):
        text = late.as_text(raw, values, str).strip()
        if not text:
            continue
        placed, position = late.values_in(raw, values), source.body.find(raw.strip())
        if placed:
            line = placed[0].line + source.first_line - 1
        elif position >= 0:
            line = source.body.count("\n", 0, position) + source.first_line
        yield _Piece(line, late.without_tokens(raw).strip(), text)


def _paired(old: Sequence[_Piece], new: Sequence[_Piece]) -> Iterator[tuple[_Piece | None, _Piece | None]]:
    """What stands in the place of what, found by the words that stayed."""
    matcher = SequenceMatcher(None, [piece.words for piece in old], [piece.words for piece in new], autojunk=False)
    for _, a, b, c, d in matcher.get_opcodes():
        yield from zip_longest(old[a:b], new[c:d])
