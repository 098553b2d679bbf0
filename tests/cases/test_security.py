"""What comes out of a program or a record is text, wherever it lands."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from measure.record import Absent, Build, Excerpt, Fact
from measure.store import Store, StoreError
from tests.books import build, change, contents, good, mistakes, of, page, write
from tests.records import LAB, measured, run

HOSTILE = [
    "Tensor<B, 2>",
    "Option<T>",
    "a & b &lt; c",
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "'><svg onload=alert(1)>\"",
    "</code></pre></figure><iframe src=//example.org>",
    "[x](javascript:alert(1)) ![y](//example.org/z.png) <https://example.org>",
    "*a* _b_ `c` # d | e",
    "-->]]></style></title>",
    '[= 6*7 =] {{ 6*7 }} --8<-- "mkdocs.yml"',
]
PAGE = """[% set m = record("cpu-matmul") %]
# 标题 [= m.fact("f0") =]

散文 [= m.fact("f0") =]。**粗 [= m.fact("f0") =]**，`[= m.fact("f0") =]`，[链接 [= m.fact("f0") =]](b.md)，<span title="[= m.fact("f0") =]">属性</span>

| 格 | [= m.fact("f0") =] |
| --- | --- |
| 格 | [= m.fact("f0") =] |

!!! note "题 [= m.fact("f0") =]"

    文 [= m.fact("f0") =]

???+ tip "题 [= m.fact("f0") =]"

    文

=== "签 [= m.fact("f0") =]"

    文

```text
[= m.fact("f0") =]
```

```mermaid
flowchart TB
  a["[= m.fact("f0") =]"] -->|"[= m.fact("f0") =]"| b
```

<!-- [= m.fact("f0") =] -->

[= table(["[= 头 =]", "值"], ["NAME", m.fact("f0")]) =]

[= output(m, "slow") =]

[= versions(m, "lib") =]

[= conditions(m) =]

[= features(m) =]

[= declared(m) =]

[= absent(m) =]

[= excerpt(m, "e") =]

[= not_tested("NAME") =]

[= bars("NAME", ["NAME", m.series("slow", "matmul").min]) =]

[= strip("NAME", ["NAME", m.series("slow", "matmul")]) =]
"""


class Elements(HTMLParser):
    """What a browser would make of a page: its elements and attributes, and the text of each."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, tuple[str, ...]]] = []
        self.values: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, tuple(name for name, _ in attrs)))
        self.values += [value or "" for _, value in attrs]

    def handle_data(self, data: str) -> None:
        self.text += data


def hostile(text: str) -> dict[str, Any]:
    """A record all of whose free text is this."""
    slow = run("slow", 1, (0.04,), stdout=f"{text}\n", facts=[Fact(name="f0", value=text, source=text)], setting=text)
    fast = run("fast", 1, (0.01,)).model_copy(update={"command": (text,), "env": {"X": text}})
    build_ = Build(package="slow", profile="release", declared=text, resolved=(text,), compiler=text, target=text, binary_bytes=1)
    excerpt = Excerpt(name="e", source=text, version=text, path=text, first_line=1, text=text, sha256=text, licence=text)
    machine = LAB.model_copy(update={"cpu": text, "system": text, "flags": (text,)})
    record = measured(
        slow, fast, versions={"lib": text, text: "1"}, builds=(build_,), excerpts=(excerpt,),
        absent=(Absent(case="gone", params={text: text}, reason=text),),
    )  # fmt: skip
    return of(record).model_copy(update={"machine": machine, "inputs": {text: text}}).model_dump(mode="json")


def site_of(folder: Path, text: str) -> Path:
    name = text.replace("\\", "\\\\").replace('"', '\\"')
    pages = {"a.md": PAGE.replace('["[= 头 =]", ', f'["{name}", ').replace("NAME", name), "b.md": "# 乙\n"}
    book = write(folder / "book", pages)
    (book / "records/measured/box/cpu-matmul.json").unlink()
    path = book / "records/measured/lab/cpu-matmul.json"
    path.write_text(json.dumps(hostile(text)), encoding="utf-8")
    done = build(book, BOOK_SEARCH="true")
    assert done.returncode == 0, done.stderr
    return book / "site"


@pytest.fixture(scope="module")
def harmless(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return site_of(tmp_path_factory.mktemp("harmless"), "harmless")


@pytest.fixture(scope="module", params=range(len(HOSTILE)), ids=HOSTILE)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    text = HOSTILE[request.param]
    return text, site_of(tmp_path_factory.mktemp("hostile"), text)


def test_c33_every_page_has_the_elements_it_has_with_harmless_text(pair: tuple[str, Path], harmless: Path) -> None:
    """The same elements with the same attributes in the same order, and the very text; on the page, on the record's, on the list."""
    text, site = pair
    for file in sorted(p.relative_to(harmless) for p in harmless.rglob("*.html")):
        one, other = (Elements((folder / file).read_text(encoding="utf-8")) for folder in (harmless, site))
        assert other.elements == one.elements, file
    shown = Elements(page(site, "a"))
    assert shown.text.count(text) >= 15
    assert text in shown.values
    assert Elements(page(site, "records/lab/cpu-matmul")).text.count(text) >= 10


def test_c33_the_search_finds_it_as_text(pair: tuple[str, Path]) -> None:
    text, site = pair
    index = json.loads((site / "search/search_index.json").read_text(encoding="utf-8"))
    entries = [entry["title"] + entry["text"] for entry in index["docs"]]
    tags = {tag for entry in entries for tag, _ in Elements(entry).elements}
    assert tags <= {"p", "code", "pre", "strong", "em", "ul", "ol", "li", "h1", "h2"}, tags
    plain = [re.sub(r"\s", "", Elements(entry).text.replace("\u200b", "")) for entry in entries]
    assert any(re.sub(r"\s", "", text) in entry for entry in plain)


@pytest.mark.parametrize("name", [*HOSTILE, "a/b", "../x", "A", "a b", "", "a--b", "-a", "甲"])
@pytest.mark.parametrize("field", ["case", "metric", "label", "experiment"])
def test_c33_an_id_cannot_be_such_text(book: Path, name: str, field: str) -> None:
    """Of a case, a metric, a machine, an experiment, from a file somebody sends: refused as a whole."""
    path = book / "records/measured/lab/cpu-matmul.json"
    old = {"case": "slow", "metric": "matmul", "label": "lab", "experiment": "cpu-matmul"}[field]
    whole = path.read_text(encoding="utf-8")
    path.write_text(whole.replace(f'"{field}": "{old}"', f'"{field}": {json.dumps(name)}'), encoding="utf-8")
    assert path.read_text(encoding="utf-8") != whole
    with pytest.raises(StoreError, match="损坏"):
        Store(book / "records").load("cpu-matmul", "lab")


def test_c33_a_page_runs_nothing_either(book: Path) -> None:
    change(book, {"b.md": "# 乙\n\n<script>alert(1)</script>\n\n<img src=b.png onerror=alert(1)>\n\n[x](javascript:alert(1))\n"})
    assert {m.split("：")[0] for m in mistakes(book)} >= {"docs/b.md:3", "docs/b.md:5", "docs/b.md:7"}
    assert not contents(book).get("site/index.html")
    change(book, {"b.md": "# 乙\n\n## 计时方法\n"})
    good(book)
