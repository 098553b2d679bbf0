"""Values become HTML late: a placeholder goes through Markdown, and its meaning is put in afterwards.

In the template phase a value is a token of private-use characters, which Markdown neither reads nor changes. Once the page is
HTML, each token is replaced by what suits the place it landed in: marked-up in prose and cells, plain text in code, diagrams,
links, headings and attributes. So no output of a program is ever read as Markdown, and nothing in it can become an element.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from html import escape

OPEN, CLOSE, ZERO = "\ue000", "\ue001", 0xE010
TOKEN = re.compile(f"{OPEN}([{chr(ZERO)}-{chr(ZERO + 9)}]+){CLOSE}")
PRIVATE = re.compile("[\ue000-\uf8ff]")
PIECE = re.compile(rf"(?P<comment><!--.*?-->)|<(?P<end>/?)(?P<tag>[a-zA-Z][\w-]*)(?:[^>\"']|\"[^\"]*\"|'[^']*')*>|{TOKEN.pattern}", re.DOTALL)
PLAIN_TAGS = frozenset({"pre", "code", "a", "h1", "h2", "h3", "h4", "h5", "h6", "title", "script", "style", "svg", "button"})
LONE_BLOCK = re.compile(rf"<p>\s*({TOKEN.pattern})\s*</p>")


@dataclass(frozen=True)
class Placed:
    """What a token stands for. `html` is for prose and cells, `text` for everywhere else."""

    text: str
    html: str
    block: bool = False
    """A block cannot stand inside a line, a heading or a cell."""
    line: int = 1
    """The line of the template that placed it."""


def token(index: int) -> str:
    """The placeholder of the value with this index on its page."""
    return OPEN + "".join(chr(ZERO + int(d)) for d in str(index)) + CLOSE


def without_tokens(text: str) -> str:
    """For heading ids: anchors never carry numbers."""
    return TOKEN.sub("", text)


def as_text(text: str, values: list[Placed], quote: Callable[[str], str] = escape) -> str:
    """Tokens replaced by plain text, escaped by `quote`."""
    return TOKEN.sub(lambda m: quote(values[_index(m[1])].text), text)


def resolve(html: str, values: list[Placed], misplaced: Callable[[Placed], None]) -> str:
    """The page's HTML with every token replaced. Calls `misplaced` for a block that stands where no block can."""
    if OPEN not in html:
        return html
    html = LONE_BLOCK.sub(lambda m: values[_index(m[2])].html if values[_index(m[2])].block else m[0], html)
    out: list[str] = []
    plain: list[str] = []
    mermaid = False
    position = 0
    for m in PIECE.finditer(html):
        out.append(html[position : m.start()])
        position = m.end()
        tag = m["tag"]
        if m["comment"]:
            out.append(m[0])
        elif tag:
            tag = tag.lower()
            if tag in PLAIN_TAGS:
                if not m["end"]:
                    plain.append(tag)
                    mermaid = mermaid or (tag == "pre" and 'class="mermaid"' in m[0])
                elif tag in plain:
                    plain.reverse()
                    plain.remove(tag)
                    plain.reverse()
                    mermaid = mermaid and "pre" in plain
            out.append(as_text(m[0], values))
        else:
            value = values[_index(m[4])]
            if value.block:
                misplaced(value)
            elif mermaid:
                out.append(mermaid_label(value.text))
            else:
                out.append(escape(value.text) if plain else value.html)
    out.append(html[position:])
    return "".join(out)


def mermaid_label(text: str) -> str:
    """Text inside a quoted Mermaid label: the characters its parser and the HTML parser would take for their own are named."""
    return escape(text.replace("#", "#35;").replace('"', "#quot;").replace("\n", "<br/>"), quote=False)


def _index(digits: str) -> int:
    return int("".join(str(ord(c) - ZERO) for c in digits))


def slugify(text: str, separator: str) -> str:
    """The id of a heading: its words as they are, Chinese too, without values."""
    kept = re.sub(r"[^\w\s-]", "", without_tokens(text)).strip().lower()
    return re.sub(r"[\s-]+", separator, kept)
