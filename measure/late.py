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
from typing import Self

OPEN, CLOSE, ZERO = "\ue000", "\ue001", 0xE010
DIGITS = f"[{chr(ZERO)}-{chr(ZERO + 9)}]+"
TOKEN = re.compile(f"{OPEN}({DIGITS}){CLOSE}")
PRIVATE = re.compile("[\ue000-\uf8ff]")
MERMAID_NAMES = str.maketrans(
    {"#": "#35;", '"': "#quot;", "&": "#amp;", "<": "#lt;", ">": "#gt;", "`": "#96;", ";": "#59;", "\n": "&lt;br/&gt;"}
)
PIECE = re.compile(
    rf"<p>\s*{OPEN}(?P<lone>{DIGITS}){CLOSE}\s*</p>|(?P<comment><!--.*?-->)"
    rf"|<(?P<end>/?)(?P<tag>[a-zA-Z][\w-]*)(?:[^>\"']|\"[^\"]*\"|'[^']*')*>|{OPEN}(?P<value>{DIGITS}){CLOSE}",
    re.DOTALL,
)
PLAIN_TAGS = frozenset({"pre", "code", "a", "h1", "h2", "h3", "h4", "h5", "h6", "title", "script", "style", "svg", "button"})


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


def values_in(text: str, values: list[Placed]) -> list[Placed]:
    """What the tokens of a text stand for, in order."""
    return [_value(m[1], values) for m in TOKEN.finditer(text)]


def as_text(text: str, values: list[Placed], quote: Callable[[str], str] = escape) -> str:
    """Tokens replaced by plain text, escaped by `quote`."""
    return TOKEN.sub(lambda m: quote(_value(m[1], values).text), text)


def resolve(html: str, values: list[Placed], misplaced: Callable[[Placed, str], None]) -> str:
    """The page's HTML with every token replaced. Calls `misplaced`, with the reason, for a value that cannot stand where it does."""
    if OPEN not in html:
        return html
    out: list[str] = []
    plain: list[str] = []
    mermaid = False
    position = 0
    for m in PIECE.finditer(html):
        out.append(html[position : m.start()])
        position = m.end()
        tag = m["tag"]
        if m["lone"]:
            value = _value(m["lone"], values)
            out.append(value.html if value.block else f"<p>{escape(value.text) if plain else value.html}</p>")
        elif m["comment"]:
            out.append(as_text(m[0], values))
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
            value = _value(m["value"], values)
            if value.block:
                misplaced(value, MISPLACED_BLOCK)
            elif mermaid and not _labelled(html, m.start()):
                misplaced(value, UNQUOTED_LABEL)
            elif mermaid:
                out.append(mermaid_label(value.text))
            else:
                out.append(escape(value.text) if plain else value.html)
    out.append(html[position:])
    return "".join(out)


MISPLACED_BLOCK = "块（表格、输出、图……）要自成一段，前后空行，不能放在一行文字、标题或表格格子里"
UNQUOTED_LABEL = (
    '图里的值要写在双引号里，像 A["[= x =]"]，时序图里写在冒号后面，像 Note over A: [= x =]，不然括号和竖线会弄坏整张图'
)


def _labelled(html: str, position: int) -> bool:
    """Whether this place of a diagram is inside double quotes or, in a sequence diagram, after the colon that begins a label."""
    line = html[html.rfind("\n", 0, position) + 1 : position]
    if (line.count('"') + line.count("&quot;")) % 2 == 1:
        return True
    begin = html.rfind("<code>", 0, position) + len("<code>")
    return ":" in line and html[begin:position].lstrip().startswith("sequenceDiagram")


def mermaid_label(text: str) -> str:
    """Text inside a quoted Mermaid label: the characters its parser and the browser would take for their own are named."""
    return text.translate(MERMAID_NAMES)


def _value(digits: str, values: list[Placed]) -> Placed:
    """What a token stands for; a replacement character where someone wrote the private characters himself."""
    index = int("".join(str(ord(c) - ZERO) for c in digits))
    return values[index] if index < len(values) else UNKNOWN


UNKNOWN = Placed("\ufffd", "\ufffd")


class Title(str):
    """The title of a page with its values, as HTML: MkDocs keeps it as plain text, and the theme prints it without escaping.

    In the head the theme takes the tags out and undoes one escaping, so there it is given two.
    """

    __slots__ = ()

    def __new__(cls, plain: str, values: list[Placed]) -> Self:
        """`plain` may hold tokens of `values`."""
        return super().__new__(cls, as_text(escape(plain), values))

    def __html__(self) -> str:
        return escape(self)


def slugify(text: str, separator: str) -> str:
    """The id of a heading: its words as they are, Chinese too, without values."""
    kept = re.sub(r"[^\w\s-]", "", without_tokens(text)).strip().lower()
    return re.sub(r"[\s-]+", separator, kept)
