"""The language of pages: what a template may be made of, checked on its text before anything in it is computed.

What is not listed here does not exist for a page, whether a reader would ever come to that line or not. Every loop has its end in
sight and no value grows with the number of lines, so a page cannot keep a build busy either.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from jinja2 import nodes

MOST_TURNS = 10_000
"""How often the bodies of all loops of a page may be gone through, taken together."""

KNOWN = "record 等宏、四则运算、比较、if、for、set 和 claim"
READS = "页面不能读别的文件。代码用 --8<-- 从仓库里剪，数字来自 record"
FOR = "for 只能走过写在那里的列表：[% for x in [a, b] %]，或 [% for 名字, x in [[…, a], […, b]] %]"
LISTS = "列表写在用它的地方，不能放进变量，也不能印出来"

_PLAIN = (
    nodes.Template, nodes.Output, nodes.If, nodes.Keyword, nodes.Add, nodes.Sub, nodes.Mul, nodes.Div, nodes.Neg, nodes.Pos, nodes.And,
    nodes.Or, nodes.Not, nodes.CondExpr, nodes.Operand,
    nodes.Scope,  # only `claim` makes one
)  # fmt: skip
_LEAVES = (nodes.TemplateData, nodes.Const, nodes.InternalName, nodes.ExtensionAttribute)
_SIGNS: dict[type[nodes.Node], str] = {
    nodes.Concat: "~",
    nodes.Pow: "**",
    nodes.FloorDiv: "//",
    nodes.Mod: "%",
    nodes.Dict: "{…}",
    nodes.Getitem: "下标 […]",
    nodes.Slice: "下标 […]",
    nodes.NSRef: "set x.y",
    nodes.Macro: "[% macro %]",
    nodes.CallBlock: "[% call %]",
    nodes.FilterBlock: "[% filter %]",
    nodes.Block: "[% block %]",
    nodes.With: "[% with %]",
    nodes.AssignBlock: "[% set x %]…[% endset %]",
    nodes.ScopedEvalContextModifier: "[% autoescape %]",
}


@dataclass(frozen=True)
class Slip:
    """Something that is not in the language."""

    line: int
    message: str
    fatal: bool = True
    """Whether the page may not even be computed. A name nobody knows is no such thing: the rest of the page can still be looked at."""


def check(tree: nodes.Template, source: str, words: Collection[str], attributes: Collection[str]) -> list[Slip]:
    """All that is wrong with a page, whose macros are `words`, and whose objects have no more than `attributes`."""
    targets: list[nodes.Node] = [
        *(node.target for node in tree.find_all(nodes.Assign)),
        *(node.target for node in tree.find_all(nodes.AssignBlock)),
        *(node.target for node in tree.find_all(nodes.For)),
    ]
    names = {name.name for target in targets for name in (target, *target.find_all(nodes.Name)) if isinstance(name, nodes.Name)}
    return [*_Walk(words, attributes, names).slips(tree), *_text(source)]


def unknown(name: str, words: Collection[str]) -> str:
    """What to say of a name that is neither a macro nor set by the page."""
    return f"不认识的名字 {name}。页面里能用：{'、'.join(sorted(words))}，和自己 set 的名字"


class _Walk:
    """One walk over a page's tree."""

    def __init__(self, words: Collection[str], attributes: Collection[str], names: Collection[str]) -> None:
        self.words = words
        self.attributes = attributes
        self.names = names
        self.turns = 0

    def slips(self, node: nodes.Node, lists: bool = False, turns: int = 1) -> Iterator[Slip]:
        """What is wrong below `node`. `lists`: may a list stand here? `turns`: how often is this gone through?"""
        match node:
            case nodes.Name():
                yield from self._name(node)
            case nodes.Getattr():
                if node.attr not in self.attributes:
                    what = f"不能用 .{node.attr}；能用的有 {'、'.join(sorted(self.attributes))}"
                    yield Slip(node.lineno, what, fatal=node.attr.startswith("_"))
                yield from self.slips(node.node, turns=turns)
            case nodes.Call():
                yield from self._call(node, turns)
            case nodes.List() | nodes.Tuple():
                if not lists:
                    yield Slip(node.lineno, LISTS)
                for item in node.items:
                    yield from self.slips(item, True, turns)
            case nodes.Compare():
                for part in (node.expr, *node.ops):
                    yield from self.slips(part, True, turns)
            case nodes.Assign():
                yield from self._target(node.target)
                yield from self.slips(node.node, turns=turns)
            case nodes.For():
                yield from self._loop(node, turns)
            case nodes.CallBlock() if isinstance(node.call.node, nodes.ExtensionAttribute):  # made by `claim` and `inferred`
                for part in (node.call, *node.body):
                    yield from self.slips(part, turns=turns)
            case _ if isinstance(node, _PLAIN):
                for part in node.iter_child_nodes():
                    yield from self.slips(part, lists, turns)
            case _ if isinstance(node, _LEAVES):
                pass
            case _:
                yield Slip(node.lineno, _refusal(node))
                for part in node.iter_child_nodes() if isinstance(node, nodes.Expr) else ():
                    yield from self.slips(part, True, turns)

    def _name(self, name: nodes.Name) -> Iterator[Slip]:
        if name.name in self.words:
            yield Slip(name.lineno, f"{name.name} 只能写成 {name.name}(…)，不能当值用")
        elif name.name not in self.names:
            yield Slip(name.lineno, unknown(name.name, self.words), fatal=False)

    def _call(self, call: nodes.Call, turns: int) -> Iterator[Slip]:
        match call.node:
            case nodes.Name(name=name) if name in self.words:
                pass
            case nodes.Name(name=name) if name in self.names:
                yield Slip(call.lineno, f"{name} 不是宏，后面不能写 (…)")
            case nodes.Name() | nodes.Getattr() | nodes.ExtensionAttribute():
                yield from self.slips(call.node, turns=turns)
            case _:
                yield Slip(call.lineno, f"只有宏和 m.series(…) 这样的问法后面能写 (…)；能用的只有 {KNOWN}")
        if call.dyn_args is not None or call.dyn_kwargs is not None:
            yield Slip(call.lineno, "参数要一个个写出来，不能写 * 和 **")
        for part in (*call.args, *call.kwargs):
            yield from self.slips(part, True, turns)

    def _target(self, target: nodes.Node) -> Iterator[Slip]:
        if isinstance(target, nodes.InternalName):
            return  # made by `claim`; no page can say it
        if not isinstance(target, nodes.Name):
            yield Slip(target.lineno, f"set 一次只给一个名字：[% set x = … %]；能用的只有 {KNOWN}")
        elif target.name in self.words:
            yield Slip(target.lineno, f"{target.name} 是宏的名字，不能另作他用")

    def _loop(self, loop: nodes.For, turns: int) -> Iterator[Slip]:
        if loop.recursive or not isinstance(loop.iter, (nodes.List, nodes.Tuple)):
            yield Slip(loop.lineno, FOR)
            return
        several = isinstance(loop.target, nodes.Tuple)
        for name in loop.target.items if isinstance(loop.target, nodes.Tuple) else [loop.target]:
            yield from self._target(name)
        for row in loop.iter.items:
            if several and not isinstance(row, (nodes.List, nodes.Tuple)):
                yield Slip(row.lineno, FOR)
            for item in row.items if several and isinstance(row, (nodes.List, nodes.Tuple)) else [row]:
                yield from self.slips(item, turns=turns)
        inner = turns * max(1, len(loop.iter.items))
        before = self.turns
        self.turns += inner
        if before <= MOST_TURNS < self.turns:
            yield Slip(loop.lineno, f"这一页的循环合起来超过 {MOST_TURNS} 次")
        for part in (*([loop.test] if loop.test else []), *loop.body, *loop.else_):
            yield from self.slips(part, turns=inner)


def _refusal(node: nodes.Node) -> str:
    match node:
        case nodes.Include() | nodes.Import() | nodes.FromImport() | nodes.Extends():
            return READS
        case nodes.Filter():
            what = f"| {node.name}"
        case nodes.Test():
            what = f"is {node.name}"
        case _:
            what = _SIGNS.get(type(node), type(node).__name__)
    return f"页面里不能用 {what}；能用的只有 {KNOWN}"


_INSIDE = r"""(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[^"'])*?"""
"""Of a tag: a text in quotes may hold what would end it."""
_TAG = re.compile(
    r"\[%[-+]?\s*raw\s*[-+]?%\].*?\[%[-+]?\s*endraw\s*[-+]?%\]|\[##(?P<comment>.*?)##\]"
    rf"|\[={_INSIDE}=\]|\[%{_INSIDE}%\]",
    re.DOTALL,
)
_STRAY = re.compile(
    r"=\]|##\]|[\[［]\s+[=%]|［[=%]|[=%]］|\b(?:claim|elif|noise|endclaim|if|else|endif|for|endfor|set|inferred|endinferred)\b[^\[\]\n]*%\]"
)


_CODE = re.compile(
    r"^(?P<in>[ \t]*(?:>[ \t]*)*)(?P<fence>`{3,}|~{3,})[^\n]*\n.*?^(?P=in)(?P=fence)[`~]*[ \t]*$|(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)",
    re.DOTALL | re.MULTILINE,
)


def _blank(match: re.Match[str], by: str = "\x00") -> str:
    """As many lines, none of the text."""
    return re.sub(r"[^\n]", by, match[0])


def _text(source: str) -> Iterator[Slip]:
    """Text that vanishes though it is no comment, and what was meant for the template but would be printed."""
    marked = _TAG.sub(lambda tag: _blank(tag, "\x01" if tag["comment"] is not None else "\x00"), source)
    rest = _CODE.sub(_blank, marked)
    for tag in _TAG.finditer(source):
        comment = tag["comment"]
        if comment is None:
            continue
        line = source.count("\n", 0, tag.start()) + 1
        if "\n" in comment or not re.fullmatch(r"\s(.*\s)?", comment):
            yield Slip(line, "注释写在一行里，[## 之后和 ##] 之前空一格。要照原样印出来，写 [% raw %]…[% endraw %]", fatal=False)
        elif rest[tag.start()] != "\x01":
            yield Slip(line, "代码里的 [## … ##] 会被当成注释删掉。要照原样印出来，写 [% raw %]…[% endraw %]", fatal=False)
    for stray in _STRAY.finditer(rest):
        what = f"「{stray[0]}」不成一对，会照原样印出来。值写成 [= … =]，块写成 [% … %]；就是要印的，放进代码里"
        yield Slip(source.count("\n", 0, stray.start()) + 1, what, fatal=False)
