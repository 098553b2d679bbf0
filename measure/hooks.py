"""The MkDocs life cycle: the one place that joins measuring and showing.

Before pages are rendered it asks which records they need and, where the mode allows, has the missing or stale ones made. Afterwards it
refuses to publish a broken site: all mistakes are listed at once, and the old site stays as it is.
"""

from __future__ import annotations

import os
import posixpath
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from html import escape
from importlib.metadata import distribution
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urljoin, urlsplit

import yaml
from markdown import Markdown
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import Abort, BuildError
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page as SitePage
from mkdocs.utils import get_relative_url
from mkdocs_macros import context as macros_context
from pymdownx.snippets import SnippetMissingError

from measure import comparison, discussion, disk, evidence, handtyped, late, links, publish, record_pages, staleness, words
from measure.blocks import Links
from measure.experiment import Experiment, load_all
from measure.machine import locked
from measure.macros import Mistake, Page, PageEnvironment, Record, body_of, records_for, records_used
from measure.record import Measured, Published
from measure.store import Records, Store, StoreError, clash, dumps

macros_context.get_git_info = dict  # the plugin would run git a dozen times for what no page can see

Mode = Literal["auto", "cached", "fresh"]
MODES: tuple[Mode, ...] = ("auto", "cached", "fresh")
MERMAID = "assets/mermaid.min.js"
TERMS = Path(__file__).with_name("terms.txt")


@dataclass
class Build:
    """One build of the site. Made anew for each, also under `serve`."""

    root: Path
    site: Path
    mode: Mode
    serving: bool
    strict: bool
    reference: str
    store: Store = field(default_factory=Store)
    experiments: dict[str, Experiment] = field(default_factory=dict)
    records: Records = field(default_factory=dict)
    """Those that pages use."""
    changed: dict[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    needs: dict[str, tuple[tuple[str, int], ...]] = field(default_factory=dict)
    """By source page: (experiment, line)."""
    machine_of: dict[str, str] = field(default_factory=dict)
    """By source page, also of variants: the machine it is rendered for."""
    seen: dict[str, dict[str, Record]] = field(default_factory=dict)
    """By machine: what its pages see under the names of experiments. Shared, and so is what one page computed."""
    original: dict[str, str] = field(default_factory=dict)
    """By source of a variant: the page it renders."""
    mistakes: list[Mistake] = field(default_factory=list)
    prepared: dict[str, list[late.Placed]] = field(default_factory=dict)
    """By source of a generated page: the values its tokens stand for."""
    environment: PageEnvironment = field(default_factory=PageEnvironment)
    pages: dict[str, Page] = field(default_factory=dict)
    threads: discussion.Discussion = field(default_factory=lambda: discussion.settings(None))
    snippets: Any = None
    """What cuts code out of files, as it is set up in `mkdocs.yml`."""
    ready: bool = False
    claim: ExitStack = field(default_factory=ExitStack)
    """What this build holds until it is over: the folder aside, and the lock on it."""


serving = False
running: dict[Path, bytes] = {}
"""The modules that `serve` goes by. Python keeps them as they were when it began."""
current: Build | None = None


def build() -> Build:
    """The build that is going on."""
    assert current is not None
    return current


def on_startup(command: str, dirty: bool) -> None:
    """Remember whether a folder is to be replaced or only served, and by which code."""
    global serving
    serving = command == "serve"
    running.update(_code() if serving else {})


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Read the mode, point MkDocs at the folder aside, and put the sandbox in the macros plugin's place."""
    global current
    root = Path(config.config_file_path).parent
    settings = config.extra.get("measure", {})
    mode = os.environ.get("MEASURE") or settings.get("mode") or ("cached" if serving else "auto")
    if mode not in MODES:
        raise Abort(f"MEASURE={mode}：只能是 {'、'.join(MODES)}")
    site = Path(config.site_dir)
    if serving and (edited := [path.name for path, content in _code().items() if running.get(path) != content]):
        print(f"注意：{'、'.join(edited)} 改过，重新启动 mkdocs serve 才会生效", file=sys.stderr)
    current = Build(root, site, mode, serving, bool(config.strict), settings.get("reference", ""))
    try:
        current.threads = discussion.settings(config.extra.get("discussion"))
    except discussion.SettingsError as error:
        current.mistakes.append(_in_settings(config, "discussion:", str(error)))
    store = settings.get("records")
    if store:
        current.store = Store(root / store)
    if not serving:
        waiting = "另一个构建正在写同一个网站，等它结束。边写边看用 mkdocs serve，不用等"
        current.claim.enter_context(locked(publish.lock(site), lambda: print(waiting, file=sys.stderr)))
        current.claim.callback(publish.recover, site)
        publish.recover(site)
        config.site_dir = str(publish.aside(site))
    current.experiments = load_all()
    cutter = Markdown(extensions=["pymdownx.snippets"], extension_configs=config.mdx_configs)
    current.snippets = cutter.preprocessors["snippet"]
    found = current.snippets.get_snippet_path
    current.snippets.get_snippet_path = lambda path: place if (place := found(path)) and _may_be_cut(Path(place)) else None
    macros: Any = config.plugins["macros"]
    macros._env = current.environment
    search: Any = config.plugins.get("material/search")
    if search is not None and search.config.enabled:
        _teach_search(TERMS.read_text(encoding="utf-8"))
    return config


def _code() -> dict[Path, bytes]:
    """This package's modules and the experiments, as they are now."""
    here = Path(__file__).parent
    return {path: path.read_bytes() for path in sorted([*here.glob("*.py"), *here.glob("experiments/*.py")])}


def _teach_search(terms: str) -> None:
    """Words that the search's index keeps in one piece."""
    import jieba  # reads a large dictionary at the first word

    for word in terms.splitlines():
        if not word.startswith("#"):
            jieba.add_word(word)


def _mend_search(files: Files, config: MkDocsConfig) -> None:
    """Material's search cuts a Chinese query into words of the index, but never looks at the query's last character.

    So 同步 would be searched as 同, and 自动微分 as 自动. Where its code changes, it is left as it is, and tests/site tells.
    """
    for file in files:
        if re.fullmatch(r"assets/javascripts/workers/search\.\w+\.min\.js", file.src_uri):
            code = file.content_string
            mended = re.sub(r"(let (\w)=\w\+1;\2<)(\w\.length;\2\+\+\)\w\.slice\()", r"\1=\3", code, count=1)
            files.remove(file)
            files.append(File.generated(config, file.src_uri, content=mended))
            return


@event_priority(100)
def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Find out which records the pages need, make or load them, and add the generated pages."""
    b = build()
    for file in files.documentation_pages():
        text = _text_of(file, b)
        if not text.strip() or file.src_uri.startswith("records/"):
            continue
        source, first_line = body_of(text)
        used, wrong = records_used(source, f"docs/{file.src_uri}", first_line)
        b.mistakes += wrong
        b.mistakes += _unread_front_matter(file.src_uri, text, source)
        b.mistakes += [Mistake(f"docs/{file.src_uri}", typed.line, handtyped.message(typed)) for typed in handtyped.find(text)]
        b.mistakes += [Mistake(f"docs/{file.src_uri}", typed.line, message) for typed, message in words.find(text)]
        b.needs[file.src_uri] = used
    wanted = sorted({name for used in b.needs.values() for name, _ in used})
    for page, used in b.needs.items():
        for name, line in used:
            if name not in b.experiments:
                known = "、".join(sorted(b.experiments))
                b.mistakes.append(Mistake(f"docs/{page}", line, f"没有叫 {name} 的实验；有 {known}"))
    wanted = [name for name in wanted if name in b.experiments]
    here = _measure(b, wanted)
    _load(b, wanted)
    _assign_machines(b, here)
    for file in list(files.documentation_pages()):
        for machine in _variants(b, file.src_uri):
            files.append(_variant(config, file, machine))
    named = {name for used in b.needs.values() for name, _ in used}
    b.seen = {machine: records_for(machine, named, b.records) for machine in {*b.machine_of.values(), b.reference}}
    for generated in _generated(config, b):
        files.append(generated)
    _mend_search(files, config)
    newest = max((r.finished for r in b.records.values() if isinstance(r, Measured)), default="2026-01-01T00:00:00+00:00")
    os.environ["SOURCE_DATE_EPOCH"] = str(int(datetime.fromisoformat(newest).astimezone(UTC).timestamp()))
    return files


def _text_of(file: File, b: Build) -> str:
    """The page's text. One in another encoding is a mistake, and goes on with signs in the place of what cannot be read."""
    if not file.src_uri.isascii() and not file.src_uri.isprintable():  # bytes that Python could not read under this locale
        raise Abort(f"读不出文件名 docs/{file.src_uri!a}：设 PYTHONUTF8=1 再构建，或把文件名改成 UTF-8")
    try:
        return file.content_string
    except UnicodeDecodeError as error:
        whole = error.object
        line = whole.count(b"\n", 0, error.start) + 1
        b.mistakes.append(Mistake(f"docs/{file.src_uri}", line, "这里不是 UTF-8 编码的文字。用编辑器把文件另存为 UTF-8"))
        file.content_string = bytes(whole).decode("utf-8", "replace")
        return file.content_string


def _unread_front_matter(page: str, text: str, body: str) -> Iterator[Mistake]:
    """MkDocs shows front matter that it cannot read as text of the page."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    if body != text or not text.startswith("---\n"):
        return
    front, end, _ = text[4:].partition("\n---")
    line, reason = 1, "里面写成「键: 值」" if end else "没有结束它的一行 ---"
    try:
        yaml.safe_load(front if end else "")
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 2 if mark else 1
        reason = f"不是合法的 YAML（{getattr(error, 'problem', None) or error}）"
    yield Mistake(f"docs/{page}", line, f"读不懂 front matter：{reason}")


def on_nav(nav: Navigation, config: MkDocsConfig, files: Files) -> Navigation:
    """Refuse a navigation that leads nowhere, and in a strict build one that leaves a page out."""
    b = build()
    settings = Path(config.config_file_path)
    for item in _nav_links(nav.items):
        if not urlsplit(item.url).scheme:
            b.mistakes.append(_in_settings(config, item.url, f"nav 里的 {item.url} 不在 docs/ 里"))
    for file in files.documentation_pages():
        if file.inclusion == InclusionLevel.INCLUDED and file.page not in nav.pages and file.src_uri not in b.prepared:
            left_out = Mistake(
                f"docs/{file.src_uri}", 1, f"这一页不在 {settings.name} 的 nav 里，读者走不到。加进 nav 或 not_in_nav"
            )
            _refuse_if_strict(b, left_out)
    return nav


def _in_settings(config: MkDocsConfig, wanted: str, message: str) -> Mistake:
    file = Path(config.config_file_path)
    return Mistake(file.name, _line_holding(file, wanted), message)


def _nav_links(items: list[Any]) -> Iterator[Any]:
    for item in items:
        if item.is_link:
            yield item
        yield from _nav_links(item.children or [])


def _refuse_if_strict(b: Build, mistake: Mistake) -> None:
    b.mistakes.append(mistake) if b.strict else print(f"注意：{mistake}", file=sys.stderr)


def _measure(b: Build, wanted: list[str]) -> str | None:
    """Bring this machine's records up to date where the mode says so. The label of this machine, where that was asked."""
    if b.mode == "cached" or not wanted:
        return None
    from measure import runner
    from measure.cli import console_progress
    from measure.machine import MachineError, this_machine

    try:
        machine = this_machine(b.store.fingerprint)
        known = b.store.fingerprint(machine.label)
        if known is not None and known != machine.model_dump():
            raise StoreError(clash(machine.label))
    except (MachineError, StoreError) as error:
        b.mistakes.append(Mistake("mkdocs.yml", 1, str(error)))
        return None
    with console_progress() as progress:
        problems = runner.bring_up_to_date(wanted, b.store, b.mode, progress)
    b.mistakes += [Mistake("measure/records", 1, problem) for problem in problems]
    return machine.label


def _load(b: Build, wanted: list[str]) -> None:
    for name in wanted:
        for machine in b.store.machines(name):
            try:
                record = b.store.load(name, machine)
            except StoreError as error:
                b.mistakes.append(Mistake(_relative(b, b.store.find(name, machine)), 1, str(error)))
                continue
            if record is None:
                continue
            if isinstance(record, Measured) and record.quick:
                b.mistakes.append(
                    Mistake(
                        _relative(b, b.store.find(name, machine)), 1, "这是 --quick 的试跑，不能放在页面上。重新运行 measure run"
                    )
                )
                continue
            b.records[machine, name] = record
            if isinstance(record, Measured):
                try:
                    b.changed[machine, name] = staleness.changed(record, b.experiments[name])
                except staleness.InputError as error:
                    b.mistakes.append(Mistake("measure/experiments", 1, str(error)))
                    continue
                if machine == b.reference and b.changed[machine, name]:
                    _stale(b, name, b.changed[machine, name])


def _stale(b: Build, name: str, changed: tuple[str, ...]) -> None:
    page, line = next((p, n) for p, used in b.needs.items() for experiment, n in used if experiment == name)
    what = f"{name} 在参考机器 {b.reference} 上的记录已过期：{'、'.join(changed)} 改过。运行 measure run {name}"
    _refuse_if_strict(b, Mistake(f"docs/{page}", line, what))


def _assign_machines(b: Build, here: str | None) -> None:
    for page, used in b.needs.items():
        names = [name for name, _ in used if name in b.experiments]
        if not names:
            continue
        complete = here is not None and all((here, name) in b.records for name in names)
        b.machine_of[page] = here if complete and here is not None else b.reference
        for name, line in used:
            if (
                name in b.experiments
                and (b.machine_of[page], name) not in b.records
                and b.store.find(name, b.machine_of[page]) is None
            ):
                have = "、".join(sorted({m for m, n in b.records if n == name})) or "（都没有）"
                attempt = b.store.path("failed", b.machine_of[page], name)
                failed = "".join(f"上一次测量失败：{why}。" for why in staleness.failures(attempt))
                what = f"{name} 在 {b.machine_of[page]} 上没有记录；有记录的机器：{have}。{failed}运行 measure run {name}"
                b.mistakes.append(Mistake(f"docs/{page}", line, what))


def _variants(b: Build, page: str) -> Iterator[str]:
    """Every machine that has all the page's records, but for the one of the plain URL."""
    names = [name for name, _ in b.needs.get(page, ()) if name in b.experiments]
    if names:
        for machine in sorted({m for m, _ in b.records}):
            if machine != b.machine_of[page] and all((machine, name) in b.records for name in names):
                yield machine


def _variant(config: MkDocsConfig, file: File, machine: str) -> File:
    b = build()
    source = file.src_uri.removesuffix(".md") + f"@{machine}.md"
    variant = File.generated(config, source, content=file.content_string, inclusion=InclusionLevel.NOT_IN_NAV)
    folder = file.dest_uri.removesuffix("index.html")
    variant.dest_uri = f"{folder}m/{machine}/index.html"
    b.original[source] = file.src_uri
    b.machine_of[source] = machine
    b.needs[source] = b.needs[file.src_uri]
    return variant


def _generated(config: MkDocsConfig, b: Build) -> Iterator[File]:
    """Record pages, the JSON they offer, the list of records, and the diagram library."""
    for (machine, name), record in sorted(b.records.items()):
        changed = b.changed.get((machine, name), ())
        source = f"records/{machine}/{name}.md"
        text, b.prepared[source] = record_pages.page(record, b.experiments[name].question, changed, _pages_of(b, name, machine))
        yield File.generated(config, source, content=text, inclusion=InclusionLevel.NOT_IN_NAV)
        # not the file, which a measurement may replace meanwhile: the page and what it offers are one
        yield File.generated(config, f"records/{machine}/{name}.json", content=dumps(record))
    for name in sorted({name for _, name in b.records}):
        machines = sorted(machine for machine, other in b.records if other == name)
        source = f"records/compare/{name}.md"
        beside = [b.records[machine, name] for machine in machines]
        stale = {machine: b.changed.get((machine, name), ()) for machine in machines}
        text, b.prepared[source] = comparison.page(b.experiments[name].question, beside, stale)
        yield File.generated(config, source, content=text, inclusion=InclusionLevel.NOT_IN_NAV)
    listing, b.prepared["records/index.md"] = record_pages.index(
        [(b.records[key], b.changed.get(key, ())) for key in sorted(b.records, key=lambda key: key[::-1])]
    )
    yield File.generated(config, "records/index.md", content=listing)
    # Importing the package would ask for its dependency, which is left out: only the file is wanted.
    found = next(file for file in distribution("artoo-mermaid").files or () if file.name == "mermaid.min.js")
    yield File.generated(config, MERMAID, abs_src_path=str(found.locate()))


def _pages_of(b: Build, name: str, machine: str) -> list[tuple[str, str]]:
    """(name, URL from a record's page) of the renderings that show a record."""
    shown = sorted(p for p, used in b.needs.items() if any(n == name for n, _ in used) and b.machine_of.get(p) == machine)
    return [(b.original.get(p, p).removesuffix(".md"), f"../../../{_url(b, p)}") for p in shown]


def _url(b: Build, source: str) -> str:
    original = b.original.get(source)
    plain = (original or source).removesuffix("index.md").removesuffix(".md")
    folder = f"{plain.rstrip('/')}/" if plain else ""
    return folder if original is None else f"{folder}m/{b.machine_of[source]}/"


@event_priority(100)
def on_page_markdown(markdown: str, page: SitePage, config: MkDocsConfig, files: Files) -> str:
    """Before the macros plugin: say which page, for which machine, comes next."""
    b = build()
    source = page.file.src_uri
    original = b.original.get(source, source)
    machine = b.machine_of.get(source, b.reference)
    _, first_line = body_of(page.file.content_string)
    if source in b.original and config.site_url:
        page.canonical_url = urljoin(config.site_url, _url(b, original))
    for key, reason in NOT_IN_FRONT_MATTER.items():
        if page.meta.pop(key, None) is not None:
            b.mistakes.append(Mistake(f"docs/{original}", 1, f"front matter 里不能有 {key}：{reason}"))
    if marked := [key for key, value in page.meta.items() if re.search('[<>"]', f"{key} {value}")]:
        b.mistakes.append(
            Mistake(f"docs/{original}", 1, f'front matter 的 {"、".join(marked)} 里不能有 < > "：主题把它当 HTML 写进网页')
        )
    seen = {name: b.seen[machine][name] for name, _ in b.needs.get(source, ())}
    b.environment.page = Page(f"docs/{original}", machine, first_line, seen, _links(b, page), b.mistakes)
    b.pages[source] = b.environment.page
    if source in b.prepared:
        b.environment.page.values = b.prepared[source]
        page.meta["render_macros"] = False  # generated text: nothing in it is a template
    if (
        source in b.original or source in b.prepared
    ):  # other machines' pages would repeat, and thousands of samples drown the text
        page.meta["search"] = {"exclude": True}
    return markdown if source in b.prepared else _without_lost_snippets(b, markdown)


CUT_FROM = ("docs", "measure", "rust_examples")
"""The folders whose files pages may show; not what is hidden or built there."""


def _may_be_cut(file: Path) -> bool:
    """Wherever links lead, and also for what a file that is cut out brings in. Snippets go by the folder the build is started in."""
    real, root = file.resolve(), Path.cwd()
    if not real.is_relative_to(root):
        return False
    top, *below = real.relative_to(root).parts
    return top in CUT_FROM and not any(part.startswith(".") or part in ("target", "__pycache__") for part in below)


def _without_lost_snippets(b: Build, markdown: str) -> str:
    """The page without the snippets that cannot be cut, each noted as a mistake: Markdown would stop at the first."""
    page = b.environment.page
    lines = markdown.split("\n")
    for number, line in enumerate(lines, 1):
        if "8<" not in line:
            continue
        problem = ""
        if line.strip().strip("-") == "8<":
            problem = '片段写成一行：--8<-- "路径:名字"'
        try:
            b.snippets.run([line])
        except (SnippetMissingError, OSError, ValueError) as error:
            problem = f"剪不出片段 {line.strip()}（{error}）。能剪的是 {'、'.join(CUT_FROM)} 里的文件，路径从仓库的根写起，名字是那个文件里 --8<-- [start:名字] 的名字"
        if problem:
            page.wrong(number, problem)
            lines[number - 1] = ""
    return "\n".join(lines)


NOT_IN_FRONT_MATTER = {
    "title": "标题来自页面的一级标题",
    "render_macros": "每一页都由宏生成",
    "ignore_macros": "每一页都由宏生成",
}


def _links(b: Build, page: SitePage) -> Links:
    def record(machine: str, experiment: str) -> str:
        return get_relative_url(f"records/{machine}/{experiment}/", page.url)

    return Links(record, lambda machine, experiment: b.changed.get((machine, experiment), ()))


def on_page_content(html: str, page: SitePage, config: MkDocsConfig, files: Files) -> str:
    """Put the values in, also in the title, the table of contents and so in the search index; show the machines."""
    b = build()
    source = page.file.src_uri
    values = b.pages[source].values
    here = b.pages[source]

    def misplaced(value: late.Placed, reason: str) -> None:
        b.mistakes.append(Mistake(here.file, value.line + here.first_line - 1, reason))

    html = late.resolve(html, values, misplaced)
    if page._title_from_render:
        page._title_from_render = late.Title(page._title_from_render, values)
    for item in page.toc:
        _named(item, b, here)
        _untoken(item, values)
    if source in b.machine_of:
        head, mark, tail = html.partition("</h1>")
        html = f"{head}{mark}\n{_switch(b, page)}{evidence.summary(here.claims)}{_beside(b, page)}{tail}"
    if f'id="{discussion.HEADING}"' in html:
        html += discussion.html(b.threads, b.original.get(source, source).removesuffix(".md"))
    return html + evidence.listing(here.claims)


def _untoken(item: Any, values: list[late.Placed]) -> None:
    item.title = late.as_text(item.title, values)
    for child in item.children:
        _untoken(child, values)


def _named(item: Any, b: Build, here: Page) -> None:
    """Markdown numbers what has no word to make an id of, and every heading above it would move the number."""
    if re.fullmatch(r"_\d+", item.id):
        placed, words = late.values_in(item.title, here.values), late.without_tokens(item.title).strip()
        line = placed[0].line + here.first_line - 1 if placed else _line_holding(b.root / here.file, words)
        what = f"标题「{words or '[= … =]'}」里没有可以做锚点的字：加上字，或写 {{#名字}}"
        b.mistakes.append(Mistake(here.file, line, what))
    for child in item.children:
        _named(child, b, here)


def _switch(b: Build, page: SitePage) -> str:
    """The machines this page can be read for, the present one marked."""
    source = page.file.src_uri
    original = b.original.get(source, source)
    shown = b.machine_of[source]
    plain = b.machine_of[original]
    base = page.url.removesuffix(f"m/{shown}/") if source != original else page.url
    machines = [plain, *(m for m in (b.machine_of[s] for s, o in sorted(b.original.items()) if o == original))]
    items = []
    for machine in machines:
        published = any(isinstance(r, Published) for (m, _), r in b.records.items() if m == machine)
        label = f"{machine}（已发表的数字）" if published else machine
        if machine == shown:
            items.append(f'<strong aria-current="page">{label}</strong>')
        else:
            url = base if machine == plain else f"{base}m/{machine}/"
            items.append(f'<a href="{get_relative_url(url, page.url)}">{label}</a>')
    names = [name for name, _ in b.needs[source] if name in b.experiments]
    old = [
        f'<a href="{get_relative_url(f"records/{shown}/{name}/", page.url)}">{name}</a>（{escape("、".join(changed))} 改过）'
        for name in names
        if (changed := b.changed.get((shown, name)))
    ]
    stale = f'<p class="stale-notice">过期：{"、".join(old)}。来自这些记录的数字和结论是改动之前测的。</p>' if old else ""
    return f'<nav class="machines" aria-label="换一台机器看这一页">这一页的数字来自：{" · ".join(items)}</nav>{stale}'


def _beside(b: Build, page: SitePage) -> str:
    """The way to all machines side by side, for each experiment of the page."""
    names = [name for name, _ in b.needs[page.file.src_uri] if name in b.experiments]
    links = [f'<a href="{get_relative_url(f"records/compare/{name}/", page.url)}">{name}</a>' for name in names]
    return f'<p class="compare">各台机器并排看：{"、".join(links)}。</p>'


@event_priority(-100)
def on_env(env: Any, config: MkDocsConfig, files: Files) -> Any:
    """All pages are rendered: refuse the site if anything was wrong, listing everything."""
    b = build()
    pages = {f.page.file.dest_uri: links.read(f.page.content or "") for f in files.documentation_pages() if f.page is not None}
    sources = {f.dest_uri: f.src_uri for f in files.documentation_pages()}
    others = {f.dest_uri for f in files} - pages.keys()
    for destination, link in links.dead_links(pages, others):
        variant = sources[destination]
        source = b.original.get(variant, variant)
        where = f"（在 {b.machine_of[variant]} 的那一份里）。写成 Markdown 的链接或图，路径会跟着改" if variant != source else ""
        b.mistakes.append(Mistake(f"docs/{source}", _line_with(b, source, link), f"链接 {link} 没有去处{where}"))
    for destination, html in pages.items():
        source = b.original.get(sources[destination], sources[destination])
        b.mistakes += [Mistake(f"docs/{source}", _line_with(b, source, what), why) for what, why in html.refused]
    if b.mistakes and not b.serving:
        raise BuildError(_listing(b.mistakes))
    return env


def _line_with(b: Build, source: str, link: str) -> int:
    path = b.root / "docs" / source
    wanted = posixpath.basename(link.partition("#")[0].rstrip("/")) or link
    return _line_holding(path, wanted, link.partition("#")[2] or wanted) if path.exists() else 1


def _line_holding(path: Path, *wanted: str) -> int:
    lines = enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
    return next((number for number, line in lines if any(text in line for text in wanted)), 1)


def _listing(mistakes: list[Mistake]) -> str:
    unique = sorted(set(mistakes))
    lines = "\n".join(f"  {m}" for m in unique)
    return f"有 {len(unique)} 处要改，网站没有更新：\n{lines}"


def on_template_context(context: Any, template_name: str, config: MkDocsConfig) -> Any:
    """Search engines are told of each page once."""
    if template_name == "sitemap.xml":
        context["pages"] = [file for file in context["pages"] if file.src_uri not in build().original]
    return context


@event_priority(-100)
def on_post_page(output: str, page: SitePage, config: MkDocsConfig) -> str:
    """Tell search engines which pages repeat another; under `serve`, show mistakes on the page."""
    b = build()
    if page.file.src_uri in b.original:
        main = get_relative_url(_url(b, b.original[page.file.src_uri]) or ".", page.url)
        # With an address of its own the theme names the main page in full. Without one a relative link is all that can be said.
        canonical = "" if config.site_url else f'<link rel="canonical" href="{main}">'
        output = output.replace("</head>", f'<meta name="robots" content="noindex">{canonical}</head>', 1)
    if b.mistakes and b.serving:
        output = output.replace("<article", f'<pre class="mistakes">{escape(_listing(b.mistakes))}</pre><article', 1)
    return output


@event_priority(-100)
def on_post_build(config: MkDocsConfig) -> None:
    """Everything was written: the folder aside may become the site."""
    build().ready = not build().serving


def on_build_error(error: Exception) -> None:
    """Strict mode may still refuse after `on_post_build`. A full disk is told in one sentence."""
    if current is not None:
        current.ready = False
        if isinstance(error, OSError):
            raise Abort(f"{disk.refusal(error, None if error.filename else current.site)}。网站没有更新") from None


def on_shutdown() -> None:
    """Swap the site in, if there is one to swap in, and leave nothing aside."""
    if current is None:
        return
    try:
        with current.claim:
            if current.ready:
                publish.swap_in(current.site)
    except OSError as error:
        raise Abort(disk.refusal(error)) from None


def on_serve(server: Any, config: MkDocsConfig, builder: Any) -> Any:
    """Watch the records and, for the console's sake, the modules: each file, since records and bytecode lie below their folder."""
    for path in (*build().store.files(), *running):
        server.watch(str(path))
    return server


def _relative(b: Build, path: Path | None) -> str:
    if path is None:
        return "measure/records"
    return path.relative_to(b.root).as_posix() if path.is_relative_to(b.root) else path.name
