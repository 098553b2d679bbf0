"""Values land where Markdown put their tokens, and look as that place allows. Markdown is the real one, as in the site."""

from __future__ import annotations

from html.parser import HTMLParser

import markdown
import pytest

from measure.late import (
    MISPLACED_BLOCK,
    UNQUOTED_LABEL,
    Placed,
    Title,
    as_text,
    mermaid_label,
    resolve,
    slugify,
    token,
    without_tokens,
)

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "Tensor<B, 2>",
    "a & b",
    'he said "quick"',
    "*a* _b_ `c` [d](e) #f |g| {h} $i$",
    "```",
    "[= 7 =] [% if %]",
    "\ue000\ue010\ue001",
]
FENCE = {"name": "mermaid", "class": "mermaid", "format": None}


def prose(text: str) -> Placed:
    """A value as `blocks` builds it: escaped in its own mark-up."""
    shown = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return Placed(text, f'<data class="measured">{shown}</data>')


def page(source: str, *values: Placed) -> tuple[str, list[tuple[Placed, str]]]:
    from pymdownx.superfences import fence_code_format

    extensions = ["admonition", "attr_list", "tables", "pymdownx.superfences", "pymdownx.details", "pymdownx.tabbed", "toc"]
    configs = {
        "pymdownx.superfences": {"custom_fences": [FENCE | {"format": fence_code_format}]},
        "pymdownx.tabbed": {"alternate_style": True},
        "toc": {"slugify": slugify},
    }
    refused: list[tuple[Placed, str]] = []
    html = markdown.markdown(source, extensions=extensions, extension_configs=configs)
    return resolve(html, list(values), lambda value, reason: refused.append((value, reason))), refused


class Elements(HTMLParser):
    """What a browser would see: the elements, and all text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


T = token(0)


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize(
    ("place", "tag"),
    [
        (f"值是 {T}。", "p"),
        (f"| a |\n| --- |\n| {T} |", "td"),
        (f"`{T}`", "code"),
        (f"```\n{T}\n```", "pre"),
        (f"# 标题 {T}", "h1"),
        (f"[看 {T}](x.md)", "a"),
        (f'!!! note "题 {T}"\n\n    文', "p"),
        (f"- 甲 {T}", "li"),
        (f"**粗 {T}**", "strong"),
    ],
)
def test_c33_a_value_is_text_everywhere(text: str, place: str, tag: str) -> None:
    html, refused = page(place, prose(text))
    seen = Elements(html)
    assert refused == []
    assert text in seen.text
    assert tag in seen.tags
    assert not {"script", "img", "em"} & set(seen.tags)
    assert not [name for name, _ in seen.attributes if name.startswith("on")]


@pytest.mark.parametrize("text", HOSTILE)
def test_c33_an_attribute_holds_the_text_and_stays_one_attribute(text: str) -> None:
    html, _ = page(f'<span title="{T}">x</span>\n\n![{T}](a.png)', prose(text))
    seen = Elements(html)
    assert ("title", text) in seen.attributes
    assert ("alt", text) in seen.attributes
    assert seen.tags == ["p", "span", "p", "img"]


def test_marked_up_in_prose_and_cells_plain_elsewhere() -> None:
    value = prose("21.4 ms")
    assert '<data class="measured">21.4 ms</data>' in page(f"慢：{T}", value)[0]
    assert '<td><data class="measured">21.4 ms</data></td>' in page(f"| a |\n| - |\n| {T} |", value)[0]
    for place in (f"`{T}`", f"    {T}", f"## {T}", f"[{T}](a.md)", f"<button>{T}</button>"):
        html, _ = page(place, value)
        assert "<data" not in html
        assert "21.4 ms" in html


def test_text_after_code_is_marked_up_again() -> None:
    html, _ = page(f"`{T}` 和 {T}，[{T}](a.md) 和 {T}", prose("1 s"))
    assert html.count("<data") == 2


def test_ids_of_headings_never_carry_values() -> None:
    """C37: Chinese stays, numbers of records do not."""
    html, _ = page(f"## 慢 {T} 倍\n\n## 计时方法\n\n## 计时方法\n\n## 短 {{#sec}}", prose("27"))
    assert 'id="慢-倍"' in html
    assert 'id="计时方法"' in html
    assert 'id="计时方法_1"' in html
    assert 'id="sec"' in html
    assert "慢 27 倍" in html
    assert without_tokens(f"慢 {T} 倍") == "慢  倍"


@pytest.mark.parametrize("text", [*HOSTILE, "2.0 (±0.1)", "a|b", "编译 (首次)", "two\nlines"])
def test_c34_a_label_gives_its_diagram_nothing_to_parse(text: str) -> None:
    html, refused = page(f'```mermaid\nflowchart TB\n  a["值 {T}"] --> b\n```', prose(text))
    assert refused == []
    assert Elements(html).tags == ["pre", "code"]
    source = Elements(html).text
    (line,) = [line for line in source.splitlines() if "值" in line]
    label = line.removeprefix('  a["值 ').removesuffix('"] --> b')
    assert not set('"`') & set(label)
    assert "<" not in label.replace("<br/>", "")
    names = {"#lt;": "<", "#gt;": ">", "#quot;": '"', "#amp;": "&", "#96;": "`", "#59;": ";", "<br/>": "\n"}
    for name, character in names.items():
        label = label.replace(name, character)
    assert label.replace("#35;", "#") == text


def test_c34_a_value_outside_quotes_is_refused() -> None:
    _, refused = page(f"```mermaid\nflowchart TB\n  a: [{T}] --> b\n```", prose("2.0 (±0.1)"))
    assert [reason for _, reason in refused] == [UNQUOTED_LABEL]


def test_in_a_sequence_diagram_a_label_is_what_follows_the_colon() -> None:
    fence = "```mermaid\nsequenceDiagram\n  A->>B: {} 之后\n  Note over A: {}\n```"
    html, refused = page(fence.format(T, T), prose("35 µs; #1"))
    assert refused == []
    assert html.count("35 µs#59; #35;1") == 2
    _, refused = page(f"```mermaid\nsequenceDiagram\n  A->>{T}: 之后\n```", prose("B"))
    assert [reason for _, reason in refused] == [UNQUOTED_LABEL]


def test_a_diagram_ends_where_its_fence_ends() -> None:
    html, _ = page(f'```mermaid\nflowchart TB\n  a["{T}"]\n```\n\n```\n{T}\n```\n\n{T} 之后', prose("#1"))
    assert html.count("#35;1") == 1
    assert mermaid_label("#1") == "#35;1"
    assert html.count("<data") == 1


BLOCK = Placed("text", '<figure class="output"><pre><code>out</code></pre></figure>', block=True, line=7)


@pytest.mark.parametrize(
    "place",
    [
        T,
        f"!!! note\n\n    {T}",
        f"???+ note\n\n    前\n\n    {T}",
        f'=== "甲"\n\n    前\n\n    {T}',
        f"1.  甲\n\n    {T}",
        f'!!! note\n\n    === "甲"\n\n        {T}',
        f"> {T}",
        f"前\n\n{T}\n\n后",
    ],
)
def test_c30_a_block_stands_in_any_container(place: str) -> None:
    html, refused = page(f"{place}\n\n## 后面", BLOCK)
    assert refused == []
    assert BLOCK.html in html
    assert f"<p>{BLOCK.html}" not in html
    assert ">后面</h2>" in html


@pytest.mark.parametrize(
    "place", [f"下表：\n{T}", f"在 {T} 里", f"# {T}", f"| a |\n| - |\n| {T} |", f"`{T}`", f"- {T}", f"[{T}](a.md)"]
)
def test_c30_a_block_inside_a_line_is_an_error(place: str) -> None:
    html, refused = page(place, BLOCK)
    assert refused == [(BLOCK, MISPLACED_BLOCK)]
    assert "figure" not in html


def test_what_a_block_holds_is_not_resolved_again() -> None:
    """Program output with the very characters of a token stays what it is."""
    html, _ = page(f"{T}\n\n{token(1)}", Placed("", f"<pre>{token(1)}</pre>", block=True), prose("9 ms"))
    assert html.count("9 ms") == 1


def test_private_characters_from_elsewhere_stand_for_nothing() -> None:
    assert page(f"a {token(5)} b", prose("1 s"))[0] == "<p>a \ufffd b</p>"


def test_comments_and_titles() -> None:
    assert page(f"<!-- {T} -->", prose("a --> b"))[0] == "<!-- a --&gt; b -->"
    assert as_text(f"慢 {T}", [prose("<2>")]) == "慢 &lt;2&gt;"
    assert as_text(f"慢 {T}", [prose("<2>")], str) == "慢 <2>"


def test_c33_a_title_is_text_as_html_and_with_tags_stripped() -> None:
    """The theme prints it as it is in the navigation, and through `striptags`, which undoes the escaping, in the head."""
    from jinja2.filters import do_striptags

    title = Title(f"Tensor<B> & {T}", [prose("</title><script>")])
    assert title == "Tensor&lt;B&gt; &amp; &lt;/title&gt;&lt;script&gt;"
    assert do_striptags(title) == title


def test_many_tokens_keep_their_order() -> None:
    values = [prose(str(i)) for i in range(123)]
    html = resolve(" ".join(token(i) for i in range(123)), values, lambda value, reason: None)
    assert Elements(html).text.split() == [str(i) for i in range(123)]
