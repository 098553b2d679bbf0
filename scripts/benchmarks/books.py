"""One book for several tools: chapters of 20 values, a table, a diagram, an output block and 3 claims, for two machines.

Ours is written with macros over two committed records. The others show what ours comes to: with the numbers typed in, looked up by
plain macros, or printed by code that runs.
"""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

from measure import late
from measure.blocks import Links
from measure.macros import Page, PageEnvironment, records_for
from measure.store import Store

ROOT = Path(__file__).parents[2]
EXPERIMENT = "cpu-matmul"
MACHINES = ("linux-xeon-2c", "apple-m2-max")
"""The machine of the plain URL, then the one that has a page of its own."""
SERIES = [
    ("torch", 1), ("torch", "all"), ("burn-template", "unset"), ("burn-simd", "unset"), ("burn-simd", 1), ("burn-simd", "all"),
    ("burn-default", "unset"),
]  # fmt: skip
METRICS = ("matmul", "train-step")


def chapter(number: int) -> str:
    """The Markdown of one chapter of ours."""
    names = [(case, threads, metric) for metric in METRICS for case, threads in SERIES]
    sets = [
        f'[% set s{i} = m.series("{case}", "{metric}", threads={json.dumps(threads)}) %]'
        for i, (case, threads, metric) in enumerate(names)
    ]
    order = [(number + i) % len(names) for i in range(len(names))]
    a, b, c, d, *_ = order
    values = [f"第 {i} 组的中位数是 [= s{k}.typical =]，最小值是 [= s{k}.min =]。" for i, k in enumerate(order[:9])]
    claims = [
        f"[% claim s{x}.typical > s{y}.typical %]第 {i} 句：前一个久。"
        f"[% elif s{x}.typical < s{y}.typical %]第 {i} 句：后一个久。[% noise %]第 {i} 句：分不出。[% endclaim %]"
        for i, (x, y) in enumerate([(a, b), (b, c), (c, d)])
    ]
    return "\n".join(
        [
            f'[% set m = record("{EXPERIMENT}") %]',
            *sets,
            f"# 第 {number} 章：[= s{a}.typical =]",
            "",
            f"前一组和后一组的比值是 [= s{a}.typical / s{b}.typical =]。",
            "",
            *["".join(values[i : i + 3]) + "\n" for i in range(0, len(values), 3)],
            "## 表",
            "",
            '[= table(["名字", "最小值", "中位数"], '
            + ", ".join(f'["第 {i} 组", s{k}.min, s{k}.typical]' for i, k in enumerate(order[:4]))
            + ") =]",
            "",
            "## 图",
            "",
            "```mermaid",
            "flowchart LR",
            f'  a["前一组 [= s{a}.min =]"] --> b["后一组 [= s{b}.min =]"]',
            "```",
            "",
            "## 输出",
            "",
            '[= output(m, "burn-template", rounds=[1]) =]',
            "",
            "## 结论",
            "",
            *[claim + "\n" for claim in claims],
        ]
    )


def typed(source: str, machine: str) -> str:
    """A chapter of ours as somebody would have written it by hand: Markdown with the numbers in it."""
    record = Store().load(EXPERIMENT, machine)
    assert record is not None, f"没有 {EXPERIMENT} 在 {machine} 上的记录"
    records = {(machine, EXPERIMENT): record}
    links = Links(lambda machine, experiment: "", lambda machine, experiment: ())
    page = Page("docs/chapter.md", machine, 1, records_for(machine, [EXPERIMENT], records), links, [])
    text = PageEnvironment().render_page(page, source)
    assert not page.mistakes, page.mistakes
    return late.TOKEN.sub(lambda found: _by_hand(late.values_in(found[0], page.values)[0]), text).lstrip()


def _by_hand(value: late.Placed) -> str:
    """A value as plain Markdown: a table with bars, output in a fence."""
    if not value.block:
        return value.text
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", value.html)]
    if rows:
        lines = ["| " + " | ".join(plain(cell) for cell in row) + " |" for row in rows]
        return "\n".join([lines[0], "|" + " --- |" * len(rows[0]), *lines[1:]])
    return "\n".join(f"```text\n{plain(block).strip()}\n```" for block in re.findall(r"<pre.*?</pre>", value.html, re.DOTALL))


def plain(html: str) -> str:
    """The text a reader sees."""
    return unescape(re.sub(r"<[^>]+>", "", html))


CONFIG = """\
INHERIT: {root}/mkdocs.yml
site_name: 书
nav: {nav}
not_in_nav: "/*/m/"
extra_css: []
theme: {{custom_dir: {root}/theme}}
strict: true
hooks: {hooks}
{plugins}
"""


def ours(folder: Path, chapters: int) -> None:
    """The book with macros."""
    _write(folder, {f"c{i}.md": chapter(i) for i in range(chapters)}, f'["{ROOT}/measure/hooks.py"]', "")


def by_hand(folder: Path, chapters: int) -> None:
    """The same book for MkDocs alone, the pages of the other machine written out."""
    pages = {}
    for i in range(chapters):
        source = chapter(i)
        pages[f"c{i}.md"] = typed(source, MACHINES[0])
        pages[f"c{i}/m/{MACHINES[1]}.md"] = typed(source, MACHINES[1])
    _write(folder, pages, "[]", "plugins:\n  - search:\n      lang: [zh, en]")


def looked_up(folder: Path, chapters: int) -> None:
    """The same book for plain mkdocs-macros: every number is a look-up in a JSON file."""
    pages, numbers = {}, {}
    for i in range(chapters):
        for machine, name in zip(MACHINES, (f"c{i}.md", f"c{i}/m/{MACHINES[1]}.md"), strict=True):
            text = typed(chapter(i), machine)
            found = list(dict.fromkeys(re.findall(r"\d+(?:\.\d+)? (?:ms|s|µs)", text)))
            numbers[name] = dict(zip((f"v{k}" for k in range(len(found))), found, strict=True))
            for key, number in numbers[name].items():
                text = text.replace(number, f'{{{{ val("{name}", "{key}") }}}}')
            pages[name] = text
    folder.mkdir(parents=True)
    (folder / "numbers.json").write_text(json.dumps(numbers), encoding="utf-8")
    (folder / "main.py").write_text(MACROS, encoding="utf-8")
    macros = f"  - macros:\n      module_name: {folder}/main"
    _write(folder, pages, "[]", f"plugins:\n  - search:\n      lang: [zh, en]\n{macros}")


MACROS = """import json
from pathlib import Path

NUMBERS = json.loads((Path(__file__).parent / "numbers.json").read_text(encoding="utf-8"))


def define_env(env):
    @env.macro
    def val(page, key):
        return NUMBERS[page][key]
"""


def printed_by_code(folder: Path, chapters: int) -> None:
    """The same book for markdown-exec: a block of Python on each page prints the chapter."""
    pages = {}
    for i in range(chapters):
        for machine, name in zip(MACHINES, (f"c{i}.md", f"c{i}/m/{MACHINES[1]}.md"), strict=True):
            title, _, rest = typed(chapter(i), machine).partition("\n")
            pages[name] = f'{title}\n\n````python exec="on"\nprint({rest!r})\n````\n'
    _write(folder, pages, "[]", "plugins:\n  - search:\n      lang: [zh, en]\n  - markdown-exec")


def _write(folder: Path, pages: dict[str, str], hooks: str, plugins: str) -> None:
    pages["index.md"] = "# 书\n\n目录在左边。\n"
    for name, text in pages.items():
        path = folder / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        other = "---\nsearch: {exclude: true}\n---\n" if "/m/" in name else ""  # as ours are
        path.write_text(other + text, encoding="utf-8")
    nav = json.dumps([name for name in pages if "/" not in name])
    (folder / "mkdocs.yml").write_text(CONFIG.format(root=ROOT, nav=nav, hooks=hooks, plugins=plugins), encoding="utf-8")
