"""Braces of other languages, and our own delimiters in code: shown character for character, or an error with its line."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest

from measure.store import Store
from tests.books import SETS, change, good, of, page, words, write
from tests.records import measured, run

CODE = {
    "rust": [
        'let t = format!("{{ {} }}", x);',
        'println!("{{ {:?} }}", v);',
        'println!("{{}}");',
        "macro_rules! m { ($($x:expr),*) => {{ let x = [1; 3]; }} }",
        "#![feature(x)] let y = x[i] % 3;",
    ],
    "python": ['f"{{x}}"', 'd = {"a": {"b": {}}}', "a[-1:], a[::2]", "'%(name)s {0!r}' % d"],
    "yaml": ["run: ${{ runner.os }}", "x: {{ .Values.y }}"],
    "latex": [r"\frac{{a}}{b} {% a comment %}", "{#1}"],
    "sh": ['if [[ $a == b ]]; then echo "${#list[@]}"; fi'],
    "jinja": ["{% if x %}{{ x }}{# gone #}{% endif %}"],
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One page of code for each language, a value in the prose beside it; and one of hashes in braces."""
    pages = {
        f"{language}.md": f"{SETS}# 甲\n\n值 [= slow.typical =]\n\n```{language}\n" + "\n".join(lines) + "\n```\n"
        for language, lines in CODE.items()
    }
    pages["hash.md"] = (
        f"{SETS}# 甲\n\n## 小节 {{#sec}}\n\n段一 `{{#a`\n\n结果 [= slow.typical =]\n\n段三 `b#}}`，`{{{{ x }}}}` 和 {{% y %}}\n"
    )
    book = write(tmp_path_factory.mktemp("code") / "book", pages)
    dump = '{{{v2} 65d0 201} 4c0a}\n{% if %}\n{{ 7*6 }}\n[= 7*6 =]\n[% if %]\n[## gone ##]\n--8<-- "mkdocs.yml"\n'
    Store(book / "records").save(of(measured(run("slow", 1, (0.04,), stdout=dump), run("fast", 1, (0.01,)))))
    change(book, {"dump.md": f'{SETS}# 甲\n\n[= output(m, "slow") =]\n', "dump.txt": dump})
    return good(book, "--strict")


def article(site: Path, name: str) -> str:
    html = page(site, name)
    return html[html.index("<article") : html.index("</article>")]


@pytest.mark.parametrize("language", CODE)
def test_c01_c02_code_is_shown_character_for_character(site: Path, language: str) -> None:
    html = article(site, language)
    (block,) = re.findall(r"<code>(.*?)</code></pre>", html, re.DOTALL)
    assert words(block).splitlines() == CODE[language]
    assert "值 40.0 ms" in words(html)


def test_c02_output_is_never_evaluated(site: Path) -> None:
    (block,) = re.findall(r"<code>(.*?)</code></pre>", article(site, "dump"), re.DOTALL)
    assert unescape(block).splitlines()[1:] == (site / "dump.txt").read_text(encoding="utf-8").splitlines()


def test_c03_a_hash_in_braces_is_an_id_or_code(site: Path) -> None:
    html = article(site, "hash")
    assert '<h2 id="sec">' in html
    shown = words(html)
    assert [text for text in ("段一 {#a", "结果 40.0 ms", "段三 b#}，{{ x }} 和 {% y %}") if text in shown] == [
        "段一 {#a",
        "结果 40.0 ms",
        "段三 b#}，{{ x }} 和 {% y %}",
    ]
