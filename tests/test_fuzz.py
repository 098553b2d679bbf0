"""Anything may come in: every failure is one of our own errors, with a message. `pytest --hypothesis-profile long` tries 10,000 inputs each."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis import strategies as st
from markdown import Markdown
from mkdocs.config import load_config

from measure import cargo, cli, comparison, handtyped, late, machine, protocol, record_pages, runner, staleness
from measure.blocks import Links
from measure.experiment import Case, Experiment, RustProgram
from measure.macros import PUBLIC, Page, PageEnvironment, Record, records_used
from measure.protocol import ProtocolError
from measure.record import Absent, Build, Excerpt, Fact, Measured, Published
from measure.runner import Outcome, RunFailedError
from measure.store import Store, StoreError, dumps, load_file
from measure.view import RecordView
from tests.records import measured, run, runs, timed

ROOT = Path(__file__).parent.parent

# ---- what comes in

HOSTILE = (
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "'><b>", "&amp;", "\ue000\ue010\ue001", "\ud800", "\x00", "\x1b[31m",
    "\x1b]0;t\x07", "\r", "\n", "\n\n", "```", "~~~", "[= 6*7 =]", "[% if", "{{ x }}", "# h", '--8<-- "a"', "|", "](x)", "../..", "-0", "1e999",
    "NaN", "１２", "计时 µs", "a" * 300,
)  # fmt: skip
texts = st.one_of(st.text(max_size=12), st.sampled_from(HOSTILE), st.lists(st.sampled_from(HOSTILE), max_size=4).map("".join))
numbers = st.one_of(
    st.sampled_from([0, 0.0, -0.0, 1, -1, 0.5, 10**6, 10**30, 10**400, 1e-320, 1e-9, 1e22, 1e308]), st.integers(), st.floats()
)
plain = st.one_of(st.none(), st.booleans(), numbers, texts)
values = st.recursive(plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=6)
empty: st.SearchStrategy[Any] = st.sampled_from([{}, [], "", None])


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something stands in a JSON document. Of a list the first and the last thing do for all."""
    if path:
        yield path
    keys = sorted(value) if isinstance(value, dict) else sorted({0, len(value) - 1}) if isinstance(value, list) and value else []
    for key in keys:
        yield from places(value[key], (*path, key))


@st.composite
def mutated(draw: st.DrawFn, whole: Any) -> Any:
    """A JSON document with something changed somewhere: mostly for another value of the same kind, which may well be in order."""
    data = json.loads(json.dumps(whole))
    for *above, key in draw(st.lists(st.sampled_from(list(places(whole))), max_size=3)):
        try:
            container = data
            for step in above:
                container = container[step]
            old = container[key]
        except (LookupError, TypeError):
            continue  # gone by an earlier change
        match draw(st.integers(0, 9)):
            case 0:
                del container[key]
            case 1 if isinstance(container, dict):
                container[draw(texts)] = old
            case 1 if isinstance(container, list):
                container.append(old)
            case 2:
                container[key] = draw(values)
            case 3:
                container[key] = draw(empty)
            case _ if isinstance(old, str):
                container[key] = draw(texts)
            case _ if isinstance(old, (int, float)):
                container[key] = draw(numbers)
            case _ if isinstance(old, (dict, list)):
                container[key] = type(old)()
            case _:
                container[key] = draw(plain)
    return data


@st.composite
def garbled(draw: st.DrawFn, good: st.SearchStrategy[bytes]) -> bytes:
    """Bytes, some of them cut out, put in or doubled; often none."""
    data = draw(good)
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
        a, b = sorted(draw(st.tuples(st.integers(0, len(data)), st.integers(0, len(data)))))
        data = (
            data[:a]
            + draw(st.sampled_from([b"", data[a:b] * 2, b"\xff", b"\x00", b"\xef\xbb\xbf", b"\r\n"]) | st.binary(max_size=4))
            + data[b:]
        )
    return data


def encoded(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


def documents(*good: Any) -> st.SearchStrategy[bytes]:
    """Files that are, were, or never were one of these JSON documents."""
    return st.one_of(garbled(st.sampled_from(good).flatmap(mutated).map(encoded)), st.binary(), values.map(encoded))


BUILD = Build(
    package="a", profile="release", declared="burn = 1", resolved=("burn-flex v1 [std]",), compiler="rustc 1.95.0", target="t", binary_bytes=10**6
)  # fmt: skip
MEASURED = measured(
    *runs(
        "a", (0.01, 0.011, 0.012), (0.0101, 0.0111, 0.0121), (0.0102, 0.0112, 0.0122), threads=1,
        series=(timed("size", 4096.0, unit="byte"), timed("first", 0.5, phase="first", scope="call")),
        facts=(Fact(name="hits", value=3, of=5, params={"beta": 1}), Fact(name="energy", value=0.5, bits=protocol.ieee_bits(0.5)), Fact(name="ok", value=True)),
    ),
    *runs("b", (0.02, 0.021, 0.022), (0.0201, 0.0211, 0.0221), (0.0202, 0.0212, 0.0222), threads=1),
    builds=(BUILD,), absent=(Absent(case="c", params={"threads": 2}, reason="没有这种硬件"),),
    excerpts=(Excerpt(name="e", source="lib", version="1.2", path="src/a.rs", first_line=3, text="fn a() {}", sha256="0" * 64, licence="MIT"),),
)  # fmt: skip
PUBLISHED: dict[str, Any] = {
    "schema_version": 1, "origin": "published", "experiment": "x", "machine": MEASURED.machine.model_dump(mode="json") | {"memory_gib": None},
    "source": "一本书", "conditions": "负载 0.5 到 1.0", "versions": {"lib": "1.2"},
    "series": [
        {"case": "a", "metric": "matmul", "phase": "steady", "scope": "ready", "params": {"threads": 1}, "round": k, "n": 20,
         "printed": {"min": {"text": "21.424", "unit": "ms"}, "median": {"text": "22.005", "unit": "ms"}}} for k in (1, 2)
    ],
    "facts": [{"name": "hits", "value": 3, "of": 5, "case": "a"}, {"name": "energy", "value": -0.5}],
    "outputs": [{"case": "a", "round": 1, "load": "0.5", "text": "a: min 21.424ms"}],
    "absent": [{"case": "c", "reason": "没有发表"}],
}  # fmt: skip
GOOD = (MEASURED.model_dump(mode="json"), PUBLISHED)
ODD_ONE_OUT = MEASURED.model_copy(update={"runs": (*MEASURED.runs[:-1], run("b", 3, (0.02, 0.021, 0.022), device="", threads=1))})
"""One run of a case was on another device than the others."""


# ---- where it comes to


@pytest.fixture(scope="module", autouse=True)
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A machine called `lab`, on which nothing is waited for; a folder for this module's files."""
    folder = tmp_path_factory.mktemp("lab")
    x = Experiment("x", "?", lambda machine: (Case("a", RustProgram("a")),), 1, 1, 1)
    calm = MEASURED.runs[0].before
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEASURE_MACHINE", "lab")
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        patch.setattr(machine, "conditions", lambda: calm)
        patch.setattr(runner, "QUIET_LIMIT", 0)
        patch.setattr(cli, "load_all", lambda: {"x": x})
        patch.setattr(staleness, "inputs", lambda experiment, root=ROOT: {"parameters": "0"})
        patch.setattr(staleness, "missing_software", lambda experiment, here, root=ROOT: None)
        patch.setattr(cargo, "build", lambda package, on_crate, root, features: folder / package)
        patch.setattr(cargo, "describe", lambda program, binary, root: BUILD)
        patch.setattr(cargo, "compiler", lambda root: {"release": "1.95.0"})
        yield folder


@pytest.fixture(scope="module")
def site() -> Callable[[str], str]:
    """The Markdown of this book."""
    config = load_config(str(ROOT / "mkdocs.yml"))

    def convert(text: str) -> str:
        extensions = [name for name in config.markdown_extensions if name != "pymdownx.snippets"]
        return str(Markdown(extensions=extensions, extension_configs=config.mdx_configs or {}).convert(text))

    return convert


class Elements(HTMLParser):
    """The tags and attributes of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


def publishable(html: str) -> Elements:
    """What every page has to be: text that can be written, with no element of somebody else's."""
    html.encode()
    found = Elements(html)
    assert not found.tags & {"script", "img", "iframe", "object", "style", "link", "base", "form"}
    assert not [name for name in found.attributes if name.startswith("on")]
    return found


def view(record: Measured | Published, source: str) -> tuple[str, Page]:
    """A page about the record, up to Markdown."""
    page = Page("docs/p.md", "lab", 1, {"x": Record(RecordView(record))}, LINKS, [])
    environment = PageEnvironment()
    environment.page = page
    return environment.from_string(source).render(), page


INTERNAL = re.compile(
    r"\b[A-Z]\w*(Error|Exception|Overflow|Operation|Exit|Interrupt)\b|Traceback|<class|object at 0x|site-packages|\.py\b"
)


def for_people(message: str) -> None:
    """An error says something in Chinese, and nothing of our insides."""
    assert re.search("[\u4e00-\u9fff]", message), message
    assert not INTERNAL.search(message), message
    message.encode()


ALL = """[% set m = record("x") %]

[= versions(m, "lib") =]

[= conditions(m) =]

[= output(m, "a", "b") =]

[= features(m) =]

[= declared(m) =]

[= absent(m) =]

[= excerpt(m, "e") =]

[= binary(m, "a") =][= m.series("a", "matmul").typical =][= m.series("a", "matmul").median / m.series("b", "matmul").median =]
[= m.fact("hits") =][= m.fact("energy", case="a") =][= m.version("lib") =]

[= table(["谁", "时间"], ["a", m.series("a", "matmul").min], ["b", m.series("b", "matmul").p90]) =]

[% claim m.series("a", "matmul").typical > m.series("b", "matmul").typical %]慢[% elif m.has("c") %]有[% noise %]平[% endclaim %]
"""


# ---- record files


@given(documents(*GOOD))
@example(encoded(ODD_ONE_OUT.model_dump(mode="json")))
def test_c14_record_files(lab: Path, site: Callable[[str], str], data: bytes) -> None:
    """Refused with the file's name, or shown whole: on its own page, on a page of the book, by the command."""
    store = Store(lab / "records")
    path = store.path("measured", "lab", "x")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    said = ""
    try:
        record = load_file(path)
    except StoreError as error:
        said = str(error)
    if said:
        for_people(said.replace(str(path), "", 1))
        assert str(path) in said
        assert CliRunner().invoke(cli.main, ["--records", str(store.root), "show", "x"]).exit_code == 1
        return
    assert json.loads(dumps(record)) == record.model_dump(mode="json")
    text, placed = record_pages.page(record, "?", ("parameters",), [("a", "../a/")])
    publishable(late.resolve(site(text), placed, lambda value, reason: None))
    text, placed = comparison.page("?", [record], {"lab": ("parameters",)})
    publishable(late.resolve(site(text), placed, lambda value, reason: None))
    text, placed = record_pages.index([(record, ())])
    publishable(late.resolve(site(text), placed, lambda value, reason: None))
    if isinstance(record, Measured):
        assert datetime.fromisoformat(record.finished).utcoffset() is not None
    text, page = view(record, ALL)
    publishable(late.resolve(site(text), page.values, lambda value, reason: None))
    for mistake in page.mistakes:
        for_people(mistake.message)
    for command in (["show", "x"], ["list"], ["why"]):
        done = CliRunner().invoke(cli.main, ["--records", str(store.root), *command])
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception


# ---- what programs leave behind

SERIES = {"type": "series", "metric": "matmul", "phase": "steady", "scope": "ready", "unit": "ns", "warm_up": 1, "cores": 1.0}
LINES: dict[str, dict[str, Any]] = {
    "0": {"type": "header", "protocol": 1, "program": "fake", "quick": False},
    "1": {**SERIES, "params": {"beta": "0.5"}, "samples": [1000, 2000.5]},
    "2": {**SERIES, "metric": "size", "unit": "byte", "samples": [4096]},
    "3": {"type": "fact", "name": "hits", "value": 3, "of": 5, "params": {"beta": 1}},
    "4": {"type": "fact", "name": "energy", "value": 0.5, "bits": protocol.ieee_bits(0.5), "source": "x"},
    "5": {"type": "fact", "name": "version-lib", "value": "1.2"},
    "6": {"type": "fact", "name": "ok", "value": True},
}
odd = st.sampled_from(
    [text.encode("utf-8", "surrogatepass") for text in HOSTILE]
    + [
        b"\xff",
        b"\xe7\xbb",
        b"\x9b2K",
        b"\x1b[2K",
        b"\x1b[",
        b"\x1b[1;31mx\x1b[0m",
        b"\x08",
        b"min 1.0ms",
        b"a: 2 runs\n",
        b"\x1bP",
        b"\x85",
        b"\x1b(B",
    ]
)
printed = st.lists(odd | st.binary(max_size=6), max_size=8).map(b"".join)


@st.composite
def results(draw: st.DrawFn) -> bytes:
    """What may stand in MEASURE_OUT: rows that are or were in order, then an end."""
    found = draw(mutated(LINES))
    rows = list(found.values()) if isinstance(found, dict) else [found]
    end = [{"type": "end", "lines": draw(st.sampled_from([len(rows)] * 5 + [0]))}] * draw(st.sampled_from([1, 1, 1, 1, 0, 2]))
    return b"".join(encoded(row) + b"\n" for row in (*rows, *end))


@given(garbled(results()) | st.binary() | printed)
@example(b"")
@example(b"[" * 10_000)
def test_c16_protocol_files(data: bytes) -> None:
    """A whole file, or an error that names the line."""
    said = "第 0 行：好"
    try:
        protocol.parse(data)
    except ProtocolError as error:
        said = str(error)
    for_people(said)
    assert re.match("第 [0-9]+ 行：", said)


@given(
    st.tuples(garbled(results()) | st.just(b""), results()),
    st.tuples(printed, printed),
    printed,
    st.sampled_from([None, None, None, "退出码 3"]),
)
def test_c13_c16_what_programs_leave_behind(
    lab: Path,
    site: Callable[[str], str],
    written: tuple[bytes, bytes],
    stdout: tuple[bytes, bytes],
    stderr: bytes,
    problem: str | None,
) -> None:
    """A record that can be read and shown, or a failed attempt with reasons; whatever two programs wrote and printed."""
    left = {
        name: Outcome(protocol.clean(out), protocol.clean(stderr), data or None, 1.0, 1.0, problem if name == "a" else None)
        for name, data, out in zip("ab", written, stdout, strict=True)
    }
    cases = tuple(Case(name, RustProgram(name)) for name in left)
    x = Experiment("x", "?", lambda machine: cases, rounds=1, timeout=1, estimate=1)
    store = Store(lab / "attempts")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "execute", lambda command, env, timeout, root: left[Path(command[0]).name])
        try:
            record = runner.run(x, store)
        except RunFailedError as error:
            for failure in error.attempt.failures:
                for_people(failure.reason)
            str(error).encode()
            return
    assert store.load("x", "lab") == record
    text, page = view(record, '[% set m = record("x") %][= output(m, "a") =]')
    assert not page.mistakes
    shown = publishable(late.resolve(site(text), page.values, lambda value, reason: None))
    assert protocol.clean(stdout[0]).rstrip("\n").replace("\r", "\n") in shown.text


@given(printed)
def test_c13_what_is_shown_of_output(data: bytes) -> None:
    shown = protocol.clean(data)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", shown)
    shown.encode()


# ---- pages

LINKS = Links(lambda machine, experiment: f"records/{machine}/{experiment}/", lambda machine, experiment: ())
VOCABULARY = sorted(Page("", "", 1, {}, LINKS, []).vocabulary())
SETS = '[% set m = record("x") %][% set a = m.series("a", "matmul") %][% set b = m.series("b", "matmul") %]'
NAMES = [
    *VOCABULARY,
    "m",
    "a",
    "b",
    "x",
    "loop",
    "self",
    "caller",
    "super",
    "varargs",
    "none",
    "true",
    "config",
    "page",
    "__import__",
]
ATTRIBUTES = [
    *sorted({name for public in PUBLIC.values() for name in public}),
    "__class__",
    "data",
    "items",
    "append",
    "format",
    "cycle",
    "x",
]
QUANTITIES = [
    "a.typical",
    "b.min",
    "a.median / b.median",
    "a.round(1).median",
    "total(a.min, b.min)",
    "q('1 s')",
    "q('0.5')",
    "binary(m, 'a')",
    "a.cores",
]
GOOD_EXPRESSIONS = [
    *QUANTITIES,
    "m.fact('hits')",
    "m.fact('energy', 'a')",
    "m.has('c')",
    "best(a, b)",
    "m.over('threads', 'a', 'matmul')",
    "m.rounds",
    "a.n",
]


def literal(text: str) -> str:
    """The text as a template would write it, mostly."""
    return f'"{text}"'


constants = st.one_of(
    numbers.map(str),
    texts.map(literal),
    st.sampled_from(["'a'", "'matmul'", "'\\ud800'", "'\\ue000\\ue010\\ue001'", "'1 s'", "9 ** 9 ** 9"]),
)


def longer(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Expressions made of expressions."""
    some = st.lists(inner, max_size=3).map(", ".join)
    words = st.sampled_from(
        [
            "",
            "",
            "",
            ", threads=1",
            ", within=0.05",
            ", across='scope'",
            ", rounds=[1]",
            ", lines='a'",
            ", log=true",
            ", *[1]",
            ", **{'x': 1}",
        ]
    )
    operators = st.sampled_from(
        ["+", "-", "*", "/", "//", "%", "**", "~", ">", "<", ">=", "==", "!=", "in", "not in", "and", "or", "is", "|"]
    )
    return st.one_of(
        st.tuples(inner, st.sampled_from(ATTRIBUTES)).map(".".join),
        st.tuples(st.sampled_from(VOCABULARY), some, words).map(lambda p: f"{p[0]}({p[1]}{p[2]})"),
        st.tuples(inner, st.sampled_from(ATTRIBUTES), some, words).map(lambda p: f"{p[0]}.{p[1]}({p[2]}{p[3]})"),
        st.tuples(inner, some).map(lambda p: f"{p[0]}({p[1]})"),
        st.tuples(inner, operators, inner).map(" ".join),
        st.tuples(inner, inner).map(lambda p: f"{p[0]}[{p[1]}]"),
        st.tuples(inner, inner, inner).map(lambda p: f"{p[0]} if {p[1]} else {p[2]}"),
        st.tuples(inner, operators, inner, operators, inner).map(" ".join),
        st.tuples(st.sampled_from(["not ", "-", "+", "("]), inner).map("".join),
        some.map(lambda p: f"[{p}]"), some.map(lambda p: f"({p})"), st.tuples(inner, inner).map(lambda p: f"{{{p[0]}: {p[1]}}}"),
    )  # fmt: skip


def computed(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Quantities made of quantities and numbers, in ways that are mostly allowed."""
    return st.one_of(
        st.tuples(inner, st.sampled_from("*/"), numbers).map(lambda p: f"({p[0]} {p[1]} {p[2]})"),
        st.tuples(inner, st.sampled_from("*/"), inner).map(lambda p: f"({p[0]} {p[1]} {p[2]})"),
        st.tuples(st.sampled_from(["total", "difference", "ratio", "times", "faster", "share"]), inner, inner).map(lambda p: f"{p[0]}({p[1]}, {p[2]})"),
        st.tuples(inner, numbers).map(lambda p: f"{p[0]}.digits({p[1]})"),
        numbers.map(lambda n: f"q('{n}')"),
        numbers.map(lambda n: f"q('{n} ms')"),
    )  # fmt: skip


def judged(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Conditions of claims, in ways that are mostly allowed."""
    facts = st.sampled_from(
        ["m.fact('hits')", "m.fact('energy')", "m.fact('ok')", "m.fact('dtype', 'a')", "m.fact('hits').of"]
    ) | numbers.map(str)
    return st.one_of(
        st.tuples(inner, st.sampled_from([">", "<", ">=", "<=", "==", "!="]), inner | numbers.map(str)).map(" ".join),
        st.tuples(inner, inner, inner).map(" > ".join),
        st.tuples(inner, inner, numbers).map(lambda p: f"same({p[0]}, {p[1]}, within={p[2]})"),
        st.tuples(st.sampled_from(["ordered", "parts", "identical"]), inner, inner, inner).map(lambda p: f"{p[0]}({p[1]}, {p[2]}, {p[3]})"),
        st.tuples(facts, st.sampled_from([">", "<", "==", "!="]), facts).map(" ".join),
        st.tuples(facts, facts, numbers).map(lambda p: f"within_abs({p[0]}, {p[1]}, {p[2]})"),
        st.tuples(facts, facts).map(lambda p: f"identical({p[0]}, {p[1]})"),
        st.sampled_from(["flips(a, b, 'min', 'median')", "all_over('threads', m.over('threads', 'a', 'matmul'), '<', q('1 s'))", "m.has('c')"]),
    )  # fmt: skip


quantities = st.recursive(st.sampled_from(QUANTITIES), computed, max_leaves=4)
verdicts = judged(quantities) | st.tuples(
    judged(quantities), st.sampled_from([" and ", " or ", " and not "]), judged(quantities)
).map("".join)
blocks = st.one_of(
    st.tuples(quantities, quantities, texts).map(lambda p: f"table(['谁', '时间'], ['a', {p[0]}], [{literal(p[2])}, {p[1]}])"),
    st.tuples(texts, texts).map(lambda p: f"output(m, 'a', lines={literal(p[0])}) =][= not_tested({literal(p[1])})"),
    st.sampled_from(["versions(m, 'lib')", "conditions(m)", "features(m)", "declared(m)", "absent(m)", "excerpt(m, 'e')", "output(m, 'a', 'b', rounds=[1, 2])"]),
)  # fmt: skip
expressions = st.recursive(
    st.sampled_from(NAMES) | st.sampled_from(GOOD_EXPRESSIONS) | quantities | blocks | constants, longer, max_leaves=6
)
conditions = expressions | verdicts
prose = texts | st.sampled_from(
    [
        "慢 ",
        "\n\n",
        "    ",
        '\n\n```mermaid\nflowchart TB\n  a["',
        '"]\n```\n\n',
        "| a | b |\n|---|---|\n| ",
        "`",
        "](",
        '<p title="',
        "$$",
        "!!! note\n\n    ",
    ]
)


def statements(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Parts of a page made of parts of a page."""
    return st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(expressions, inner).map(lambda p: f"[% if {p[0]} %]{p[1]}[% endif %]"),
        st.tuples(st.sampled_from(["v", "a", "a, b", "m", "loop"]), expressions, inner).map(lambda p: f"[% for {p[0]} in {p[1]} %]{p[2]}[% endfor %]"),
        st.tuples(conditions, inner, conditions, inner, inner).map(
            lambda p: f"[% claim {p[0]} %]{p[1]}[% elif {p[2]} %]{p[3]}[% noise %]{p[4]}[% endclaim %]"
        ),
        inner.map(lambda p: f"[% inferred %]{p}[% endinferred %]"),
        st.tuples(st.sampled_from(["set v = {0}", "include {0}", "import {0} as v", "extends {0}", "from {0} import v", "do {0}", "set m.x = {0}", "set a = {0}"]), expressions, inner).map(
            lambda p: f"[% {p[0].format(p[1])} %]{p[2]}"
        ),
        st.tuples(
            st.sampled_from(["macro f(v)", "call f()", "call(v) table({0})", "filter upper", "with v = {0}", "block v", "autoescape {0}", "set v", "raw", "trans"]),
            expressions, inner,
        ).map(lambda p: f"[% {p[0].format(p[1])} %]{p[2]}[% end{p[0].split()[0].split('(')[0]} %]"),
    )  # fmt: skip


pages = st.recursive(
    prose
    | quantities.map(lambda e: f"[= {e} =]")
    | blocks.map(lambda e: f"\n\n[= {e} =]\n\n")
    | expressions.map(lambda e: f"[= {e} =]"),
    statements,
    max_leaves=8,
)
tangled = st.lists(st.sampled_from(["[=", "=]", "[%", "%]", "[##", "##]", "claim", "elif", "noise", "endclaim", "(", ")", "'", '"', "\\", "-", "+", "record", "\n"]) | texts | expressions, max_size=12).map("".join)  # fmt: skip


@given(pages | tangled | st.binary().map(lambda data: data.decode("utf-8", "replace")), st.sampled_from(["", SETS]))
@example("[= " + "(" * 5000 + " =]", "")
@example("\n[= 0E０ =]", "")
@example("\n[= 1" + "0" * 5000 + " =]", "")
@example("[= " + "-" * 5000 + "a.n =]", SETS)
@example("[= a.n" + " + a.n" * 5000 + " =]", SETS)
@example("[% if a.n %]" * 200 + "[% endif %]" * 200, SETS)
@example("[% for v in [1] %]" * 30 + "[% endfor %]" * 30, SETS)
@example("[% macro f() %][= f() =][% endmacro %][= f() =]", SETS)
def test_pages(site: Callable[[str], str], source: str, sets: str) -> None:
    """A page is fit to be published, or has mistakes, each with a line of its own and a message for its author."""
    source = re.sub("\r\n?", "\n", f"{sets}{source}").encode("utf-8", "replace").decode()  # as files are read
    _, mistakes = records_used(source, "docs/p.md", 1)
    handtyped.find(source)
    text, page = view(MEASURED, source)
    misplaced: list[str] = []
    html = late.resolve(site(text), page.values, lambda value, reason: misplaced.append(reason))
    for mistake in [*mistakes, *page.mistakes]:
        for_people(mistake.message)
        assert 1 <= mistake.line <= source.count("\n") + 1
    if not mistakes and not page.mistakes and not misplaced:
        html.encode()
