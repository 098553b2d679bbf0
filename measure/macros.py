"""The vocabulary of a page, and the sandbox it is spoken in.

Pages are Jinja templates with the delimiters `[= … =]`, `[% … %]`, `[## … ##]`. They see the names of `Page.vocabulary` and nothing
else. A mistake does not stop the page: it is noted with its line, the expression yields `Broken`, and reading goes on, so that one
build lists all mistakes. Nothing with a mistake is ever published.
"""

from __future__ import annotations

import inspect
import marshal
import operator
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import version
from traceback import walk_tb
from types import CodeType
from typing import Any

from jinja2 import Template, TemplateError, TemplateSyntaxError, nodes, pass_context
from jinja2.compiler import CodeGenerator, Frame
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.runtime import Context, Undefined
from jinja2.sandbox import SandboxedEnvironment

from measure import blocks, claims, evidence, grammar, late, plots, words
from measure.blocks import Links
from measure.cache import kept
from measure.claims import Verdict
from measure.evidence import Claim
from measure.late import Placed
from measure.quantity import PageError, Quantity, constant, difference, ratio, total
from measure.store import Records
from measure.view import FactView, Family, RecordView, SeriesView, best

DELIMITERS = {
    "variable_start_string": "[=",
    "variable_end_string": "=]",
    "block_start_string": "[%",
    "block_end_string": "%]",
    "comment_start_string": "[##",
    "comment_end_string": "##]",
}
ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
OPERATORS = {"gt": ">", "lt": "<", "gteq": ">=", "lteq": "<=", "eq": "==", "ne": "!="}
COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    **{name: getattr(operator, short) for name, short in zip(OPERATORS, ("gt", "lt", "ge", "le", "eq", "ne"), strict=True)},
    "in": lambda a, b: a in b,
    "notin": lambda a, b: a not in b,
}
SLIPS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What Python raises for operands and arguments that do not fit."""

NOT_TEXT = re.compile("[\ud800-\udfff\ue000-\uf8ff]")
"""Halves of characters, which no file can hold, and private ones, of which placeholders are made."""

PUBLIC: dict[type, frozenset[str]] = {
    Quantity: frozenset({"digits", "text"}),
    SeriesView: frozenset({"min", "median", "p90", "typical", "first", "by_run", "cores", "round", "n", "case"}),
    RecordView: frozenset({"machine", "published", "rounds", "has", "series", "over", "fact", "version"}),
    FactView: frozenset({"of", "digits"}),
    Family: frozenset(),
}
"""What a page may ask of an object; everything else does not exist for it."""

ATTRIBUTES = frozenset().union(*PUBLIC.values())


@dataclass(frozen=True, order=True)
class Mistake:
    """Something wrong in a page, for the one list at the end."""

    file: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}：{self.message}"


class Broken:
    """What a wrong expression yields: it takes part in anything and prints nothing. The build fails, with the first cause only."""

    def __getattr__(self, name: str) -> Broken:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *_: object, **__: object) -> Broken:
        """Calling it gives itself."""
        return self

    def __getitem__(self, _: object) -> Broken:
        return self

    def __iter__(self) -> Iterator[object]:
        return iter(())

    def _self(self, *_: object) -> Broken:
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _self


BROKEN = Broken()


@dataclass(frozen=True)
class Record:
    """Which record a page sees under a name: the one of its machine, with those of other machines for names and source text."""

    view: RecordView | None
    problem: str = ""
    """Why there is none; empty where that has been noted already."""


def records_for(machine: str, names: Iterable[str], records: Records) -> dict[str, Record]:
    """What a page sees under the names of experiments when it is rendered for `machine`. Nothing is said of one that is not there."""
    found: dict[str, Record] = {}
    for name in names:
        record = records.get((machine, name))
        peers = tuple(r for (m, n), r in sorted(records.items()) if n == name and m != machine)
        found[name] = Record(None if record is None else RecordView(record, peers))
    return found


@dataclass
class Page:
    """One rendering of one page on one machine: where it stands, what it may see, and what it placed."""

    file: str
    """Path for messages, from the project's root."""
    machine: str
    """The machine it is rendered for."""
    first_line: int
    """Line of the file on which the Markdown after the front matter begins."""
    records: Mapping[str, Record]
    links: Links
    mistakes: list[Mistake]
    values: list[Placed] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    """In the order in which they were come to."""

    def wrong(self, line: int, message: str) -> Broken:
        """Note a mistake on a line of the template."""
        self.mistakes.append(Mistake(self.file, line + self.first_line - 1, message))
        return BROKEN

    def placed(self, value: Placed) -> str:
        """The token that stands for `value` until the page is HTML."""
        self.values.append(replace(value, line=current_line()))
        return late.token(len(self.values) - 1)

    def place(self, value: object) -> Placed:
        """How a value looks on this page. Raises `PageError` for what is no measured value."""
        if isinstance(value, Placed):
            return value
        if isinstance(value, Quantity):
            return blocks.number(value, self.links)
        if isinstance(value, FactView):
            return blocks.fact(value, self.links)
        if isinstance(value, (SeriesView, RecordView)):
            raise PageError("这是一组数据，不是一个数。取它的 .min、.median、.typical……")
        if isinstance(value, Verdict):
            raise PageError("判断不能印出来。写成 [% claim … %]…[% endclaim %]")
        if isinstance(value, str):
            raise PageError("[= =] 不印文字。文字直接写在正文里，数字只能来自记录")
        raise PageError(f"[= {shown(value)} =] 不是测出来的。数字只能来自记录；常数直接写在代码里")

    def vocabulary(self) -> dict[str, Callable[..., object]]:
        """Every name a page can use."""

        def record(name: str) -> RecordView | Broken:
            found = self.records.get(name, Record(None, f"没有叫 {name} 的实验"))
            if found.view is None and not found.problem:
                return BROKEN
            if found.view is None:
                raise PageError(found.problem)
            return found.view

        def table(header: Sequence[str], *rows: Sequence[object] | None) -> Placed:
            return blocks.table(header, rows, self.place)

        def output(
            view: RecordView, *cases: str, rounds: Sequence[int] = (), lines: str | None = None, **params: int | str
        ) -> Placed:
            return blocks.output(view, cases, rounds, lines, params)

        def versions(views: RecordView | Sequence[RecordView], *names: str) -> Placed:
            """Of one record or of several of the same machine."""
            return blocks.versions([views] if isinstance(views, RecordView) else views, names)

        def bars(title: str, *rows: tuple[str, Quantity] | None) -> Placed:
            return plots.bars(title, rows)

        def times(a: Quantity, b: Quantity, across: str | None = None) -> Placed:
            """a/b = N, said as N 倍."""
            q = ratio(a, b, across)
            return blocks.number(q, self.links, words.times(q))

        def faster(a: Quantity, b: Quantity) -> Placed:
            """1 − a/b, said as 快 p %."""
            q = ratio(a, b)
            return blocks.number(q, self.links, words.faster(q))

        def share(part: Quantity, whole: Quantity) -> Placed:
            """part/whole, in per cent."""
            q = ratio(part, whole)
            return blocks.number(q, self.links, words.share(q))

        return {
            "record": record,
            "best": best,
            "ratio": ratio,
            "times": times,
            "faster": faster,
            "share": share,
            "total": total,
            "difference": difference,
            "same": claims.same,
            "ordered": claims.ordered,
            "parts": claims.parts,
            "flips": claims.flips,
            "all_over": claims.all_over,
            "identical": claims.identical,
            "within_abs": claims.within_abs,
            "mostly": words.mostly,
            "almost_all": words.almost_all,
            "about": words.about,
            "q": constant,
            "table": table,
            "bars": bars,
            "stacked": lambda title, *rows: plots.stacked(title, rows),
            "strip": lambda title, *rows, log=False: plots.strip(title, rows, log=log),
            "output": output,
            "versions": versions,
            "conditions": blocks.conditions,
            "features": blocks.features,
            "excerpt": blocks.excerpt,
            "declared": blocks.declared,
            "binary": RecordView.binary,
            "absent": blocks.absent,
            "not_tested": blocks.not_tested,
        }


WORDS = frozenset(Page("", "", 1, {}, Links(lambda machine, experiment: "", lambda machine, experiment: ()), []).vocabulary())
"""The names of all macros."""


class ClaimTag(Extension):
    """`claim … elif … noise … endclaim` and `inferred … endinferred`.

    Inside the condition `and`, `or`, `not` and comparisons become calls, because Python's own ask for a truth value, and a verdict has none.
    """

    tags = {"claim", "inferred"}  # noqa: RUF012 - declared so by Jinja

    def parse(self, parser: Parser) -> nodes.Node:
        """Build the call of `_choose` or `_inferred` around the bodies."""
        tag = next(parser.stream)
        if tag.value == "inferred":
            body = parser.parse_statements(("name:endinferred",), drop_needle=True)
            return nodes.CallBlock(self.call_method("_inferred"), [], [], body).set_lineno(tag.lineno)
        conditions: list[nodes.Expr] = [self._condition(parser.parse_expression())]
        bodies: list[list[nodes.Node]] = []
        noise: list[nodes.Node] | None = None
        while True:
            bodies.append(parser.parse_statements(("name:elif", "name:noise", "name:endclaim")))
            token = next(parser.stream)
            if token.value == "elif":
                conditions.append(self._condition(parser.parse_expression()))
                continue
            if token.value == "noise":
                noise = parser.parse_statements(("name:endclaim",), drop_needle=True)
            break
        arms: list[nodes.Node] = []
        chosen = parser.free_identifier()  # a name that no page can say
        everything = [*bodies, *([] if noise is None else [noise])]
        for index, body in enumerate(everything):
            test = nodes.Compare(chosen, [nodes.Operand("eq", nodes.Const(index))])
            arms.append(nodes.If(test, body, [], []).set_lineno(tag.lineno))
        call = self.call_method("_choose", [nodes.List(conditions), nodes.Const(noise is not None), nodes.Const(tag.lineno)])
        choice = nodes.Assign(chosen, call).set_lineno(tag.lineno)
        opened = self.call_method("_opened", [chosen])
        wrapped = nodes.CallBlock(opened, [], [], arms).set_lineno(tag.lineno)
        return nodes.Scope([choice, wrapped]).set_lineno(tag.lineno)

    def _condition(self, node: nodes.Expr) -> nodes.Expr:
        match node:
            case nodes.And() | nodes.Or():
                name = "_both" if isinstance(node, nodes.And) else "_either"
                new: nodes.Expr = self.call_method(name, [self._condition(node.left), self._condition(node.right)])
            case nodes.Not():
                new = self.call_method("_negate", [self._condition(node.node)])
            case nodes.Compare():
                terms = [node.expr, *(op.expr for op in node.ops)]
                new = self.call_method(
                    "_compare", [nodes.List(terms), nodes.Const(tuple(OPERATORS.get(op.op, op.op) for op in node.ops))]
                )
            case _:
                return node
        new.set_lineno(node.lineno)
        return new

    @property
    def _page(self) -> Page:
        environment = self.environment
        assert isinstance(environment, PageEnvironment)
        return environment.page

    def _guard(self, function: Callable[..., Verdict], *arguments: object) -> Verdict | Broken:
        if any(isinstance(a, Broken) or (isinstance(a, list) and any(isinstance(x, Broken) for x in a)) for a in arguments):
            return BROKEN
        try:
            return function(*arguments)
        except (PageError, *SLIPS) as error:
            return self._page.wrong(current_line(), told(error))

    def _both(self, left: object, right: object) -> Verdict | Broken:
        return self._guard(claims.both, [left, right])

    def _either(self, left: object, right: object) -> Verdict | Broken:
        return self._guard(claims.either, [left, right])

    def _negate(self, part: object) -> Verdict | Broken:
        return self._guard(claims.negate, part)

    def _compare(self, terms: list[object], operators: tuple[str, ...]) -> Verdict | Broken:
        def chain(values: list[object]) -> Verdict:
            parts = [claims.compare(values[i], op, values[i + 1]) for i, op in enumerate(operators)]
            return parts[0] if len(parts) == 1 else claims.both(parts)

        return self._guard(chain, terms)

    def _choose(self, conditions: list[object], has_noise: bool, line: int) -> int:
        """The index of the sentence to show; −1, and a mistake noted, where none applies."""
        page = self._page
        if any(isinstance(c, Broken) for c in conditions):
            return -1
        verdicts: list[Verdict] = []
        for index, condition in enumerate(conditions):
            verdict = self._guard(claims.as_verdict, condition)
            if isinstance(verdict, Broken):
                return -1
            verdicts.append(verdict)
            if verdict.state == "holds":
                return self._chose(index, verdict, line)
        if has_noise and any(v.state == "noise" for v in verdicts):
            return self._chose(len(conditions), next(v for v in verdicts if v.state == "noise"), line)
        found = "；".join(v.evidence for v in verdicts)
        page.wrong(line, f"claim 里没有一句话合 {page.machine} 的数据：{found}。加一个 elif 或 noise，写数据说的话")
        return self._chose(-1, Verdict("fails", found), line)

    def _chose(self, arm: int, verdict: Verdict, line: int) -> int:
        page = self._page
        page.claims.append(Claim(line + page.first_line - 1, arm, verdict.state, verdict.evidence))
        return arm

    def _opened(self, arm: int, caller: Callable[[], str]) -> str:
        claims, index = self._page.claims, len(self._page.claims) - 1
        body = caller().strip()
        if arm < 0:
            return ""
        claim = claims[index] = replace(claims[index], sentence=late.as_text(body, self._page.values, str))
        if "\n\n" in body:
            self._page.wrong(current_line(), "claim 只能包住一段之内的句子，不能包住几段")
        if not body:
            return ""
        opened = Placed("", f'<span class="claim" data-claim="{claim.state}">')
        closed = Placed("", f"{evidence.mark(claim, index + 1)}</span>")
        return f"{self._page.placed(opened)}{body}{self._page.placed(closed)}"

    def _inferred(self, caller: Callable[[], str]) -> str:
        opened = self._page.placed(Placed("", '<span class="inferred" title="解释，不是测量结果">'))
        return f"{opened}{caller().strip()}{self._page.placed(Placed('', '</span>'))}"


class Code(CodeGenerator):
    """Comparisons outside claims pass through the environment, because quantities give verdicts and not truth values."""

    def visit_Compare(self, node: nodes.Compare, frame: Frame) -> None:  # noqa: N802 - Jinja's name
        """Write a call of `PageEnvironment.compare`."""
        self.write("environment.compare((")
        for term in (node.expr, *(op.expr for op in node.ops)):
            self.visit(term, frame)
            self.write(", ")
        self.write(f"), {tuple(op.op for op in node.ops)!r})")


class PageEnvironment(SandboxedEnvironment):
    """Jinja's sandbox without a loader, filters or tests; objects show only what `PUBLIC` names.

    It computes only what `grammar` has let through, and holds what can be seen no sooner: what a name stands for, how large a number is.
    """

    code_generator_class = Code

    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "%", "**"})
    intercepted_unops = frozenset({"+", "-"})

    def __init__(self) -> None:
        # not optimized: nothing is computed while compiling, where there is no line to name and no page
        super().__init__(
            extensions=[ClaimTag], undefined=self._undefined_class(), finalize=self._print, optimized=False, **DELIMITERS
        )
        self.filters.clear()
        self.tests.clear()
        self.globals.clear()
        self.page: Page
        self.said: Collection[str] = ()
        """What has been noted of the page's text; a name that nobody knows is not complained about again."""

    def _undefined_class(self) -> type[Undefined]:
        environment = self

        class Missing(Undefined):
            """Created where a name is not there: notes it, and behaves as `Broken`."""

            def __new__(cls, hint: str | None = None, obj: object = None, name: str | None = None, exc: object = None) -> Any:
                what = grammar.unknown(name or f"（{hint}）", WORDS)
                return BROKEN if what in environment.said else environment.page.wrong(current_line(), what)

        return Missing

    def from_string(self, source: Any, globals: Any = None, template_class: Any = None) -> Any:  # noqa: A002 - Jinja's name
        """Called by mkdocs-macros with a page's Markdown. What it passes to `render` (site, configuration, front matter) is dropped."""
        return PageTemplate(self, late.PRIVATE.sub("\ufffd", source))

    def render_page(self, page: Page, source: str) -> str:
        """The page's Markdown with tokens for values; mistakes are noted on the page."""
        self.page = page
        template = read(source)
        self.said = {message for _, message in template.slips}
        for line, message in template.slips:
            page.wrong(line, message)
        if template.code is None:
            return ""
        try:
            text: str = Template.from_code(self, template.code, {}).render(page.vocabulary())
        except Exception as error:
            page.wrong(line_of(error), told(error))
            return ""
        return _without_made_snippets(page, source, text)

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        """Refuse what only an escape in a string can bring in, and digits that Jinja's lexer takes for a number and Python does not."""
        try:
            tree = super()._parse(source, name, filename)
        except (SyntaxError, ValueError) as error:
            lines = [frame.f_locals["lineno"] for frame, _ in walk_tb(error.__traceback__) if frame.f_code.co_name == "wrap"]
            raise TemplateSyntaxError("这一行有读不懂的数字", lines[-1] if lines else 1) from None
        for literal in tree.find_all(nodes.Const):
            if isinstance(literal.value, str) and (found := NOT_TEXT.search(literal.value)):
                raise TemplateSyntaxError(f"字符串里有不是文字的字符 {found[0]!a}", literal.lineno)
        return tree

    @pass_context  # with a context Jinja cannot call it while compiling, where there is no line to name
    def _print(self, _: Context, value: object) -> str:
        if isinstance(value, Broken):
            return ""
        try:
            return self.page.placed(self.page.place(value))
        except (PageError, *SLIPS) as error:
            self.page.wrong(current_line(), told(error))
            return ""

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Attributes of our own objects, by the list in `PUBLIC`."""
        if isinstance(obj, Broken):
            return obj
        allowed = PUBLIC.get(type(obj), frozenset())
        if attribute not in ATTRIBUTES:
            return BROKEN  # `grammar` has said so
        if attribute not in allowed:
            names = "、".join(sorted(allowed)) or "（没有）"
            return self.page.wrong(current_line(), f"不能用 .{attribute}；能用的有 {names}")
        return self._try(lambda: getattr(obj, attribute))

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805, PYI063 - Jinja's signature
        """Calls of the vocabulary; a mistake is noted with its line."""
        if isinstance(getattr(__obj, "__self__", None), ClaimTag):
            return __obj(*args, **kwargs)  # the tag deals with `Broken` itself
        values = [*args, *kwargs.values()]
        if isinstance(__obj, Broken) or any(_contains_broken(v) for v in values):
            return BROKEN
        environment = __self
        return environment._try(lambda: super(PageEnvironment, environment).call(__context, __obj, *args, **kwargs))

    def compare(self, terms: tuple[Any, ...], operators: tuple[str, ...]) -> Any:
        """A comparison outside a claim: of plain values only, such as the number of rounds."""
        if any(isinstance(t, Broken) for t in terms):
            return BROKEN
        if any(isinstance(t, (*PUBLIC, Verdict)) for t in terms):
            return self.page.wrong(
                current_line(), "测出来的量只能在 [% claim … %] 里比较：结果有三种（成立、不成立、噪声），不能当真假用"
            )
        return self._try(lambda: all(COMPARISONS[op](terms[i], terms[i + 1]) for i, op in enumerate(operators)))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Arithmetic, which for quantities is ratios and constant factors only."""
        if isinstance(left, Broken) or isinstance(right, Broken):
            return BROKEN
        plain = all(isinstance(x, (int, float)) for x in (left, right))
        if operator not in ARITHMETIC or not (plain or isinstance(left, Quantity) or isinstance(right, Quantity)):
            return self.page.wrong(current_line(), f"这两样东西不能用 {operator} 算")
        return self._try(lambda: _sized(ARITHMETIC[operator](left, right)))

    def call_unop(self, context: Context, operator: str, arg: Any) -> Any:
        """Signs of plain numbers only."""
        if isinstance(arg, (int, float)):
            return -arg if operator == "-" else arg
        return self.page.wrong(current_line(), f"{operator} 只能用在数字上")

    def _try(self, action: Callable[[], Any]) -> Any:
        try:
            return action()
        except (PageError, *SLIPS) as error:
            return self.page.wrong(current_line(), told(error))


def _without_made_snippets(page: Page, source: str, text: str) -> str:
    """Snippet lines are checked as they stand in the page's file; one that the template put together has not been."""
    if "-8<-" not in text:
        return text
    written = {line for line in source.split("\n") if "-8<-" in line}
    made = [line for line in text.split("\n") if "-8<-" in line and line not in written]
    if made:
        page.wrong(1, f"片段要自成一行，不能由模板拼出来：{made[0].strip()}")
    return "\n".join(line for line in text.split("\n") if line not in made)


class PageTemplate:
    """What mkdocs-macros takes for a compiled template."""

    def __init__(self, environment: PageEnvironment, source: str) -> None:
        self._environment = environment
        self._source = source

    def render(self, **_: object) -> str:
        """The rendered Markdown of the environment's current page."""
        return self._environment.render_page(self._environment.page, self._source)


def body_of(text: str) -> tuple[str, int]:
    """The Markdown of a page's file after the front matter, and the line it begins on."""
    from mkdocs.utils.meta import get_data

    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    found, _ = get_data(text)
    return found, text.count("\n") - found.count("\n") + 1 if found != text else 1


@dataclass(frozen=True)
class Read:
    """All that follows from a page's text alone."""

    used: tuple[tuple[str, int], ...] = ()
    """The experiments it names in `record("…")`, each with its first line."""
    slips: tuple[tuple[int, str], ...] = ()
    """What is wrong, by line."""
    code: CodeType | None = None
    """None for what is no template."""


@cache
def read(source: str) -> Read:
    """Parse and compile a page's Markdown; the slow part of showing it, so it is kept. Lines count from 1."""
    of = f"{_made_by()}\0{source}"
    try:
        used, slips, code = marshal.loads(kept("templates", of.encode(), lambda: marshal.dumps(_compiled(source))))  # noqa: S302 - our own, checked
    except Exception as error:  # of any kind: Jinja turns a page into Python, and that may break in many ways
        return Read(slips=((line_of(error), told(error)),))
    return Read(used, slips, code)


@cache  # the same for every page, and asking for a version reads files
def _made_by() -> str:
    return "\0".join((sys.version, version("jinja2"), *map(inspect.getsource, (sys.modules[__name__], grammar))))


def _compiled(source: str) -> tuple[tuple[tuple[str, int], ...], tuple[tuple[int, str], ...], CodeType | None]:
    environment = PageEnvironment()
    tree = environment.parse(source)
    found = grammar.check(tree, source, WORDS, ATTRIBUTES)
    used: dict[str, int] = {}
    for call in tree.find_all(nodes.Call):
        if isinstance(call.node, nodes.Name) and call.node.name == "record":
            match call.args:
                case [nodes.Const(value=str(name))] if not call.kwargs:
                    used.setdefault(name, call.lineno)
                case _:
                    found.append(grammar.Slip(call.lineno, 'record 只能写成 record("实验名")，实验名是字面的字符串'))
    slips = tuple((slip.line, slip.message) for slip in found)
    return tuple(used.items()), slips, None if any(slip.fatal for slip in found) else environment.compile(tree)


def records_used(source: str, file: str, first_line: int) -> tuple[tuple[tuple[str, int], ...], list[Mistake]]:
    """The experiments a page names in `record("…")`, each with its first line in the file, and what is wrong with the page's text."""
    found = read(source)
    used = tuple((name, line + first_line - 1) for name, line in found.used)
    return used, [Mistake(file, line + first_line - 1, message) for line, message in found.slips]


def current_line() -> int:
    """The line of the template that is being rendered, found on the stack."""
    frame = sys._getframe(1)
    while frame is not None:
        if "__jinja_template__" in frame.f_globals:
            number = frame.f_lineno
            return next((line for line, code in _lines(frame.f_globals["debug_info"]) if code <= number), 1)
        frame = frame.f_back  # type: ignore[assignment]
    return 1


@cache
def _lines(debug_info: str) -> tuple[tuple[int, int], ...]:
    """(line of the template, line of its code), last first. Jinja reads its table anew for each question, and every value asks one."""
    pairs = (pair.split("=") for pair in reversed(debug_info.split("&")) if pair)
    return tuple((int(line), int(code)) for line, code in pairs)


def line_of(error: BaseException) -> int:
    """The innermost line of a template in a traceback. Jinja rewrites those frames to lines of the template."""
    if isinstance(error, TemplateSyntaxError):
        return error.lineno
    line = 1
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<template>":
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def shown(value: object) -> str:
    """A value as a page writes it; only its kind, where a page cannot."""
    return repr(value) if isinstance(value, (bool, int, float, str)) else type(value).__name__


def told(error: Exception) -> str:
    """What an author is told of an error."""
    match error:
        case PageError():
            return str(error)
        case TemplateSyntaxError():
            return f"写法不对：{error.message}"
        case RecursionError() | SyntaxError() | MemoryError():  # in Python's words, about what Jinja made of the page
            return "这一页的模板嵌套得太深：把它拆开，宏不能调用自己"
        case TemplateError():
            return f"页面里不能这样写：{error.message}"
        case _:
            return f"参数不对：{error}"


def _sized(number: Any) -> Any:
    """A result that the next line could square in turn has to stay a number that fits one."""
    if isinstance(number, int) and number.bit_length() > sys.float_info.max_exp:
        raise PageError("这个数太大")
    return number


def _contains_broken(value: object) -> bool:
    return isinstance(value, Broken) or (isinstance(value, (list, tuple)) and any(_contains_broken(v) for v in value))
