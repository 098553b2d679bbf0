"""Numbers typed by hand: measurements in prose that no record stands behind.

A digit or a Chinese numeral with a unit of time, 倍, 成, % or 万 is a claim about a run, and has to come from one. Code, links,
macros, formulas and HTML tags are no prose. A line that has to say such a number carries `[## 手写数字：理由 ##]`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

WAIVER = re.compile(r"\[##\s*手写数字：\s*\S.*?##\]")
"""What waives the line it stands on. It is a template comment, so that readers don't see it."""

_NOT_PROSE = (
    re.compile(r"\A---\n.*?\n---\n", re.DOTALL),  # front matter
    re.compile(r"\[##.*?##\]", re.DOTALL),
    re.compile(r"\[%.*?%\]", re.DOTALL),
    re.compile(r"\[=.*?=\]", re.DOTALL),
    re.compile(r"<!--.*?-->", re.DOTALL),
    re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL),
    re.compile(r"\$\$.*?\$\$|\\\(.*?\\\)|\\\[.*?\\\]", re.DOTALL),
    re.compile(r"(?<![\w$])\$(?=\S)[^$\n]*?\S\$(?![\w$])"),
    re.compile(r"</?[a-zA-Z][^<>]*>"),
    re.compile(r"(?<=\])\([^()\s]*(?:\s+\"[^\"]*\")?\)"),  # where a link leads
    re.compile(r"(?<=\])\[[^\]\n]*\]"),
    re.compile(r"\{[^{}\n]*\}"),  # attribute lists
    re.compile(r"https?://\S+"),
    re.compile(r"^\s*--8<--.*$", re.MULTILINE),
)
_FENCE = re.compile(r"^([ \t]*(?:>[ \t]*)*)(`{3,}|~{3,})[ \t]*(?:\{?\.?(\w*)).*?^\1\2[`~]*[ \t]*$", re.DOTALL | re.MULTILINE)

_DIGITS = r"[0-9０-９]+(?:[.．,，][0-9０-９]+)*"
_NUMERAL = r"[〇零一二两三四五六七八九十百千万亿]+(?:点[〇零一二三四五六七八九]+)?"
_SECONDS = r"(?:毫秒|微秒|纳秒|秒)"
_TYPED = re.compile(
    rf"""
      (?:{_NUMERAL})分之\s*(?:{_DIGITS}|{_NUMERAL})
    | 每秒\s*(?:{_DIGITS}|{_NUMERAL})
    | 半个?(?:秒(?!钟)|分钟|小时)|[快慢省]了?一半
    | {_DIGITS}\s*[×xX](?![\w×]|\s*[0-9])
    | {_DIGITS}\s*(?:[KMGT]i?B|[KMGT]?FLOPS?|兆)(?![A-Za-z])
    | {_DIGITS}(?:\s*[-–—~～到至]\s*{_DIGITS})?\s*(?:
          {_SECONDS}|[mµμun]?s(?![A-Za-z0-9_])|[倍成]|[%％‰]|[万亿](?!维|能|一)
        | 个?(?:百分点|数量级)|(?:分钟|小时)
      )
    | (?<![第一-鿿])?(?:{_NUMERAL})(?:多|几|来)?(?:个)?\s*(?:{_SECONDS}(?!钟)|倍|成(?![不为了功对立就果熟员分套体本一品长因语绩千]))
    | (?:{_NUMERAL})\s*个?(?:数量级|分钟|分半钟|小时)
    | (?:毫|微|纳)?秒级
    """,
    re.VERBOSE,
)


@dataclass(frozen=True)
class Typed:
    """A number somebody typed: where, and what it looks like."""

    line: int
    text: str


def find(source: str) -> list[Typed]:
    """Every number typed by hand in a page's Markdown, lines counted from 1."""
    left = prose(source)
    found = [Typed(left.count("\n", 0, match.start()) + 1, match[0].strip()) for match in _TYPED.finditer(left)]
    excused = waived(source)
    return [typed for typed in found if typed.line not in excused]


def prose(source: str) -> str:
    """A page's Markdown with all that is no prose blanked, every character in its place."""
    left = _FENCE.sub(lambda m: re.sub("[`~]", "\x00", m[0]) if m[3] == "mermaid" else _blank(m), source)  # labels are prose
    for kind in _NOT_PROSE:
        left = kind.sub(_blank, left)
    return left


def waived(source: str) -> set[int]:
    """The lines that carry a waiver."""
    return {source.count("\n", 0, match.start()) + 1 for match in WAIVER.finditer(source)}


def _blank(match: re.Match[str]) -> str:
    """As many lines, none of the text. A stop keeps a digit before a macro apart from a unit behind it."""
    return re.sub(r"[^\n]", "\x00", match[0])


def message(typed: Typed) -> str:
    """What to tell the author."""
    if typed.text == "一倍":
        return "「一倍」说不清是一倍还是两倍：写成 [= times(a, b) =]，它说 a 是 b 的几倍"
    return f"手写的数字「{typed.text}」：测出来的数要写成 [= … =]；不是测出来的，在这一行末尾写 [## 手写数字：理由 ##]"
