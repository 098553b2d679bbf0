"""The same records give the same bytes. More of it is in tests/test_determinism.py and, for the whole book, in tests/site."""

from __future__ import annotations

import os
import re
from pathlib import Path

from measure.store import Store
from tests import elsewhere
from tests.books import GOOD, OTHER, REVERSED, ROOT, contents, good, of, write


def test_c43_two_builds_are_the_same_bytes(tmp_path: Path) -> None:
    """On two days, under two hash seeds, in two folders whose files were made in another order at another time."""
    labels = ["attic", "cellar", "desk"]
    books = []
    for folder, order in (("here", 1), ("别处 and there", -1)):
        book = write(tmp_path / folder / "book", dict([("a.md", GOOD), ("b.md", OTHER)][::order]))
        for label in labels[::order]:
            Store(book / "records").save(of(REVERSED, label))
        books.append(book)
    for path in books[1].rglob("*"):
        os.utime(path, (1e9, 1e9))
    one = contents(good(books[0], "--strict", PYTHONHASHSEED="1", BOOK_SEARCH="true"))
    away = elsewhere.in_a_thousand_days()
    two = contents(good(books[1], "--strict", PYTHONHASHSEED="2", BOOK_SEARCH="true", SOURCE_DATE_EPOCH="1", **away))
    assert [name for name in one.keys() | two.keys() if one.get(name) != two.get(name)] == []
    for name, content in one.items():
        assert not [secret for secret in (str(tmp_path), str(ROOT)) if secret.encode() in content], name
        if name.endswith((".html", ".xml", ".json")):
            dates = set(re.findall(r"\b20\d\d-\d\d-\d\d\b", content.decode()))
            assert dates <= {"2026-11-30"}, name  # that of the measurement
