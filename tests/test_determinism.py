"""C28, C43: a site is a function of its pages and records. It does not depend on folder, day, time zone, hash seed or locale.

What is shown is that these inputs change no byte on one system with one set of packages; another version of a library may well.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from measure.store import Store
from tests import elsewhere
from tests.books import GOOD, OTHER, REVERSED, SETS, contents, good, of, write

BLOCKS = f"""{SETS}# 各种块

[= table(["谁", "最小", "中位"], ["慢", slow.min, slow.median], ["快", fast.min, fast.median]) =]

[= strip("用时", ["慢", slow], ["快", fast]) =]

[= bars("最小值", ["慢", slow.min], ["快", fast.min]) =]

[= output(m, "slow") =]

[= versions(m) =]

[= conditions(m) =]
"""
PAGES = {"a.md": GOOD, "b.md": OTHER, "blocks.md": BLOCKS}


def book_at(folder: Path, pages: dict[str, str], *machines: str) -> Path:
    """A book with more machines than the usual two, so that an order by chance would show."""
    book = write(folder, pages)
    for label in machines:
        Store(book / "records").save(of(REVERSED, label))
    return book


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The site as it is built today."""
    book = book_at(tmp_path_factory.mktemp("here") / "book", PAGES, "attic", "cellar", "desk")
    return contents(good(book, "--strict", PYTHONHASHSEED="0", BOOK_SEARCH="true"))


def test_what_is_compared_has_something_to_compare(here: dict[str, bytes]) -> None:
    """Dates, a plot, the search index, and the compressed sitemap are all there."""
    assert b"<lastmod>2026-11-30</lastmod>" in here["sitemap.xml"]
    assert b"<svg" in here["blocks/index.html"]
    assert "sitemap.xml.gz" in here
    assert len(here["search/search_index.json"]) > 1000


@pytest.mark.parametrize("country", ["ASCII", "decimal commas"])
def test_another_place_day_seed_and_country_give_the_same_bytes(here: dict[str, bytes], tmp_path: Path, country: str) -> None:
    """The first in the C locale, the second where 1/2 is written 0,5. No SOURCE_DATE_EPOCH, no cache, files made in another order."""
    book = book_at(tmp_path / "别处 and elsewhere" / "same", dict(reversed(PAGES.items())), "desk", "cellar", "attic")
    for path in [*book.rglob("*"), book]:
        os.utime(path, (1e9, 1e9))  # 2001
    locale = elsewhere.ASCII if country == "ASCII" else elsewhere.with_decimal_commas()
    env = {**elsewhere.in_a_thousand_days(), **locale, "PYTHONHASHSEED": "1", "BOOK_SEARCH": "true", "USER": "somebody"}
    there = contents(good(book, "--strict", **env))
    assert [name for name in here.keys() | there.keys() if here.get(name) != there.get(name)] == []
