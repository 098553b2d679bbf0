"""The built book and its search index tell nothing of the machine, the user, or the environment that built them."""

from __future__ import annotations

import gzip
import json
import platform
import re
import sys
from html import unescape
from pathlib import Path

from measure import privacy
from tests.site.conftest import PLANTED, ROOT
from tests.test_privacy import PRIVATE, strings

OURS = (".html", ".json", ".xml", ".txt")
"""Made by the build; the rest is copied from packages that everybody has."""


def texts(site: Path) -> dict[str, str]:
    """The site's files by name; what is compressed, as it is read."""
    found = {}
    for file in sorted(site.rglob("*")):
        if file.is_file():
            content = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
            found[file.relative_to(site).as_posix()] = content.decode("utf-8", "replace")
    return found


def test_nothing_of_the_environment_is_in_any_file(site: Path) -> None:
    home = str(Path.home())
    secret = [*PLANTED.values(), "planted", str(ROOT), str(site.parent), sys.prefix, *([home] if len(home) > 5 else [])]
    assert not [(name, what) for name, text in texts(site).items() for what in secret if what in text]


def test_no_page_and_no_entry_of_the_search_names_host_user_or_folder(site: Path) -> None:
    """In what a reader sees, in attributes and comments, and in the data beside the pages."""
    pages = {name: text for name, text in texts(site).items() if name.endswith(OURS)}
    names = [name for name in (platform.node(), *privacy._hosts(), *privacy._users()) if privacy._tells(name)]
    ours = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md"))
    told = [(file, n) for file, text in pages.items() for n in names if n not in ours and re.search(privacy._word(n), text)]
    assert not told
    folders = re.compile(r"/(home|Users|root|tmp|var|private|opt|mnt)/")
    for file, text in pages.items():
        shown = unescape(text) if file.endswith(".html") else text
        assert not folders.search(re.sub(r"https?://[^\s\"'<>]+", "", shown)), file


def test_the_search_index_holds_what_pages_show(site: Path) -> None:
    index = json.loads((site / "search/search_index.json").read_text(encoding="utf-8"))
    assert len(index["docs"]) > 10
    found = [
        (e["location"], t)
        for e in index["docs"]
        for _, t in strings({"title": e["title"], "text": e["text"]})
        if PRIVATE.search(t)
    ]
    assert not found
