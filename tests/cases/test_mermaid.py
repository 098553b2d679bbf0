"""Diagrams say what the data say, parse, and need nobody else's server. The real parser and browser are in tests/site."""

from __future__ import annotations

import hashlib
import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from measure.record import Fact
from measure.store import Store
from tests.books import ROOT, change, contents, good, mistakes, of, page
from tests.records import measured, run

LABELS = [
    "编译 (首次)", "2.0 (±0.1)", "a|b", '他说"快"了', "Tensor<B, 2>", "第一行\n第二行", "end", "编译（一）", "a & b; #1 %% c", "[x] {y} >z] ((w))",
    "`md` **粗**", "subgraph", "click a href", "%%{init: {}}%%", "\\", "--> |x|", "graph TB",
]  # fmt: skip
READ = {"#lt;": "<", "#gt;": ">", "#quot;": '"', "#amp;": "&", "#96;": "`", "#59;": ";", "<br/>": "\n"}
"""What the parser makes of the names of characters."""


def diagrams(html: str) -> list[str]:
    """The sources of a page's diagrams, as a browser hands them to the library."""
    return [unescape(code) for code in re.findall(r'<pre class="mermaid"><code>(.*?)</code></pre>', html, re.DOTALL)]


def test_c34_labels_from_data_parse_and_say_the_same(book: Path) -> None:
    """A node and an edge for each label: every line is one of two forms, whose text is quoted and reads as it stood in the record."""
    facts = [Fact(name=f"l{k}", value=label) for k, label in enumerate(LABELS)]
    Store(book / "records").save(of(measured(run("slow", 1, (0.04,), facts=facts), run("fast", 1, (0.01,)))))
    (book / "records/measured/box/cpu-matmul.json").unlink()
    rows = [f'  n{k}["[= m.fact("l{k}") =]"] -->|"[= m.fact("l{k}") =]"| e' for k in range(len(LABELS))]
    source = '[% set m = record("cpu-matmul") %]\n# 图\n\n```mermaid\nflowchart TB\n' + "\n".join(rows) + "\n```\n"
    change(book, {"a.md": source, "b.md": "# 乙\n"})
    (text,) = diagrams(page(good(book, "--strict"), "a"))
    head, *lines = text.strip().split("\n")
    assert head == "flowchart TB"
    assert len(lines) == len(LABELS)
    for label, line in zip(LABELS, lines, strict=True):
        found = re.fullmatch(r'  n\d+\["([^"`\n]*)"\] -->\|"([^"`\n]*)"\| e', line)
        assert found, line
        for quoted in found.groups():
            for name, character in READ.items():
                quoted = quoted.replace(name, character)
            assert quoted.replace("#35;", "#") == label


@pytest.mark.parametrize(
    "line",
    [
        '[= m.fact("l0") =]["x"]',
        'a["x"] --> [= m.fact("l0") =]',
        'a([= m.fact("l0") =])',
        'a -->|[= m.fact("l0") =]| b',
        "a[[= m.fact('l0') =]]",
    ],
)
def test_c34_a_node_is_never_named_by_data_and_a_label_never_stands_unquoted(book: Path, line: str) -> None:
    """An experiment may be called `end`; its name cannot become the id of a node."""
    facts = [Fact(name="l0", value="end")]
    Store(book / "records").save(of(measured(run("slow", 1, (0.04,), facts=facts), run("fast", 1, (0.01,)))))
    (book / "records/measured/box/cpu-matmul.json").unlink()
    source = f'[% set m = record("cpu-matmul") %]\n# 图\n\n```mermaid\nflowchart TB\n  {line}\n```\n'
    change(book, {"a.md": source, "b.md": "# 乙\n"})
    (found,) = mistakes(book)
    assert found.startswith("docs/a.md:6：图里的值要写在双引号里")


class Loaded(HTMLParser):
    """What a browser fetches to show a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag != "a":
            self.found += [value for name in ("src", "srcset", "poster", "data") if (value := given.get(name))]
        if tag == "link" and set((given.get("rel") or "").split()) & {
            "stylesheet",
            "icon",
            "preload",
            "preconnect",
            "prefetch",
            "dns-prefetch",
        }:
            self.found.append(given.get("href") or "")


def test_c36_nothing_is_fetched_from_another_host(book: Path) -> None:
    """Scripts, styles, fonts, pictures; and the diagram library is a file of the site, of the version that was pinned."""
    site = good(book, "--strict")
    for name, content in contents(site).items():
        text = content.decode("utf-8", "replace")
        if name.endswith(".html"):
            assert not [link for link in Loaded(text).found if re.match(r"\w+:|//", link) and not link.startswith("data:")], name
        if name.endswith(".css"):
            assert not re.findall(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//[^)]*", text), name
    html = page(site, "a")
    assert '<script src="../assets/mermaid.min.js"></script>' in html
    assert "mermaid" not in page(site, "b")
    library = (site / "assets/mermaid.min.js").read_bytes()
    assert hashlib.sha256(library).hexdigest().startswith("74d7c46dabca328c")
    assert re.search(
        r"^artoo-mermaid==\S+ .*\n?.*--hash=sha256:",
        (ROOT / "requirements/mermaid.txt").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
