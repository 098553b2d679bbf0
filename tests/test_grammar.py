"""What is not in the language of pages is refused before anything is computed, with its line and its name; nothing keeps a build busy."""

from __future__ import annotations

import tracemalloc

import pytest

from measure.macros import read
from tests.test_macros import SETS, render

ESCAPES = [
    # along attributes to the interpreter
    "[= ''.__class__.__mro__[1].__subclasses__() =]",
    "[= slow.__class__.__init__.__globals__ =]",
    "[= m.series.__func__.__globals__['__builtins__'] =]",
    "[= record.__globals__.os.popen('id') =]",
    "[= table.__closure__ =]",
    "[= best.__code__.co_consts =]",
    "[= (1).__class__.__base__ =]",
    "[= [].__class__ =]",
    "[= {}.__class__ =]",
    "[= slow.min.basis.__dict__ =]",
    "[= m.data.runs =]",
    "[= m._record =]",
    "[= slow['__class__'] =]",
    "[= m['data'] =]",
    "[= slow|attr('__class__') =]",
    "[= [slow]|map(attribute='__class__')|list =]",
    "[= [slow]|selectattr('__class__')|list =]",
    "[= [slow]|groupby('__class__') =]",
    "[= m.series('slow', 'matmul', **{'__class__': 1}) =]",
    # strings that format
    "[= '{0.__class__}'.format(slow) =]",
    "[= '%s' % slow =]",
    "[= '{0.__init__.__globals__}'.format_map({'0': slow}) =]",
    "[= 'a' ~ slow =]",
    "[= '<b>'|safe =]",
    "[= {'onclick': 'x'}|xmlattr =]",
    "[= 'http://x'|urlize =]",
    "[= m|tojson =]",
    "[= '<b>'|escape|e|forceescape =]",
    "[= m|pprint =]",
    "[= 'x'|filesizeformat =]",
    # what Jinja or the plugin would bring along
    "[= cycler('a', 'b').__init__.__globals__ =]",
    "[= joiner.__init__ =]",
    "[% set ns = namespace(x=1) %]",
    "[% set m.x = 1 %]",
    "[= lipsum.__globals__ =]",
    "[= range(3) =]",
    "[= dict(a=1) =]",
    "[= self =]",
    "[= self._TemplateReference__context =]",
    "[= caller() =]",
    "[= varargs =]",
    "[= loop.__class__ =]",
    "[= super() =]",
    "[= config.site_name =]",
    "[= page.file.abs_src_path =]",
    "[= files =]",
    "[= git.author_email =]",
    "[= environment.vars =]",
    "[= macros_info() =]",
    "[= context() =]",
    "[= fix_url('x') =]",
    "[= now() =]",
    "[= extra =]",
    "[= plugin =]",
    "[= navigation =]",
    # blocks
    "[% macro f() %]x[% endmacro %]",
    "[% call table(['a']) %]x[% endcall %]",
    "[% include 'mkdocs.yml' %]",
    "[% include ['a', 'b'] ignore missing %]",
    "[% import 'x' as y %]",
    "[% from 'x' import y with context %]",
    "[% extends 'base.html' %]",
    "[% block title %]x[% endblock %]",
    "[% filter upper %]x[% endfilter %]",
    "[% with a = 1 %]x[% endwith %]",
    "[% autoescape false %]x[% endautoescape %]",
    "[% set x %]<b>[% endset %]",
    "[% do m.x() %]",
    "[% trans %]x[% endtrans %]",
    "[% debug %]",
    "[% break %]",
    # a macro under another name
    "[% set r = record %]",
    "[= best(record) =]",
    "[% for r in [record] %][% endfor %]",
    "[% for r, s in [[record, 1]] %][% endfor %]",
    "[= (record if true else best)('x') =]",
    "[= [record][0]('x') =]",
    "[% set record = best %]",
    "[% for table in [1] %][% endfor %]",
    "[% set q, r = 1, 2 %]",
    "[= record('x' ~ 'y') =]",
    "[= record(*['x']) =]",
    "[= record(name='x') =]",
    "[= slow is callable =]",
    "[= slow is defined =]",
    "[= table(['a'], *[[slow.min]]) =]",
]


@pytest.mark.parametrize(
    "branch",
    ["{}", "[% if false %]{}[% endif %]", "[% inferred %]{}[% endinferred %]"],
    ids=["seen", "not come to", "in a block"],
)
@pytest.mark.parametrize("source", ESCAPES)
def test_an_escape_is_refused_where_it_stands(source: str, branch: str) -> None:
    """Also where no reader would come to it; and no text comes of it."""
    text, mistakes = render(f"\n\n{branch.format(source)}")
    assert {str(m).split("：")[0] for m in mistakes} == {"docs/p.md:5"}, mistakes
    assert text.strip() == ""


def test_all_of_a_page_is_told_at_once() -> None:
    _, mistakes = render("\n".join(source for source in ESCAPES if source.startswith("[=")))
    lines = {m.line - 3 for m in mistakes}
    assert lines == set(range(sum(source.startswith("[=") for source in ESCAPES)))


BOMBS = {
    "a long range": "[% for i in range(10**9) %]x[% endfor %]",
    "a long text": "[= 'a' * 10**9 =]",
    "a long list": "[= [0] * 10**9 =]",
    "a power": "[= 9 ** 9 ** 9 =]",
    "squares": "[% set a0 = 9999999999 %]" + "".join(f"[% set a{k + 1} = a{k} * a{k} %]" for k in range(60)),
    "squares of floats": "[% set a0 = 1e300 %]" + "".join(f"[% set a{k + 1} = a{k} * a{k} %]" for k in range(60)) + "[= a60 * slow.min =]",
    "squares of a ratio": "[% set a0 = slow.typical / slow.typical %]" + "".join(f"[% set a{k + 1} = a{k} * a{k} %]" for k in range(60)) + "[= a60 =]",
    "sums of sums": "[% set a0 = slow.typical %]" + "".join(f"[% set a{k + 1} = total(a{k}, a{k}) %]" for k in range(60)) + "[= a60 =]",
    "a list of lists": "[% set a0 = [1, 1] %]" + "".join(f"[% set a{k + 1} = [a{k}, a{k}] %]" for k in range(60)) + "[= table(a60) =]",
    "lists through loops": "".join(f"[% for a{k + 1} in [[a{k}, a{k}]] %]" for k in range(60)).replace("[a0, a0]", "[1, 1]") + "[% endfor %]" * 60,
    "tables of tables": "[% set a0 = table(['a', 'b'], [slow.min, slow.min]) %]"
    + "".join(f"[% set a{k + 1} = table(['a', 'b'], [a{k}, a{k}]) %]" for k in range(60)) + "[= a60 =]",
    "loops in loops": "[% for i in [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] %]" * 15 + "x" + "[% endfor %]" * 15,
    "loops of conditions": "[% for i in [1, 2] %][% if i == 1 %]" * 60 + "x" + "[% endif %][% endfor %]" * 60,
    "a call to itself": "[% macro f() %][= f() =][% endmacro %][= f() =]",
    "nesting": "[= " + "(" * 20_000 + "1" + ")" * 20_000 + " =]",
    "a long sum": "[= slow.n" + " + slow.n" * 20_000 + " =]",
    "nested ifs": "[% if slow.n %]" * 2000 + "[% endif %]" * 2000,
    "a huge number": "[= 1" + "0" * 100_000 + " =]",
    "a huge constant": '[% claim slow.min < q("1e999999999 s") %]x[% endclaim %]',
    "a tiny constant": '[% claim slow.min < q("1e-999999999 s") %]x[% endclaim %]',
    "digits": "[= slow.min.digits(10000000000) =]",
    "a round": "[= slow.round(10000000000).min =]",
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_a_page_cannot_keep_a_build_busy(name: str) -> None:
    """An error, and no more memory than the page is long."""
    source = BOMBS[name]
    tracemalloc.start()
    text, mistakes = render(f"\n{source}")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert mistakes
    assert all(len(m.message) < 6000 for m in mistakes)
    assert text.strip("\nx") == ""
    assert peak < 200_000_000


@pytest.mark.parametrize(
    "source",
    [
        "[% for name, s in [['慢', slow], ('快', fast)] %][= s.min =][% else %]没有[% endfor %]",
        "[% for s in [slow, fast] if s.n > 1 %][= s.min =][% endfor %]",
        "[% set a = best(slow, fast) if m.has('slow') else slow %][= a.min =]",
        "[= table(['谁', '时间'], ['慢', slow.min], ['快', fast.min] if m.has('fast') else none) =]",
        "[% raw %][## 照原样 ##] [= x =] [% if %][% endraw %]",
        "值 [= slow.min =] [## 手写数字：规则 ##]",
        "```\n[%- if true -%]\n[= slow.min =]\n[%- endif %]\n```",
        "数组 `[^=]`、`[0-9%]`，[链接](x.md)，脚注[^1]",
        '[= not_tested("参数 x") =]',
        """[= not_tested("写成 [= x =] 或 '%] 都行") =][% set a = '[= "' %]""",
        "[% if -1 < 2 and not false or m.rounds + 1 >= 2 * 3 / 4 - 5 %]是[% endif %]",
    ],
)
def test_what_the_language_has(source: str) -> None:
    assert render(source)[1] == []


@pytest.mark.parametrize(
    ("source", "line", "says"),
    [
        ("```\n[##########] 100%\n```", 2, "注释写在一行里"),
        ("```\n[####    ] 50%\n```\n\n文\n\n```\n[########] 100%\n```", 2, "注释写在一行里"),
        ("段一 `[## a`\n\n段二\n\n段三 `b ##]`", 1, "注释写在一行里"),
        ("`[## a ##]`", 1, "代码里的 [## … ##] 会被当成注释删掉"),
        ("```\nx [## a ##]\n```", 2, "代码里的 [## … ##] 会被当成注释删掉"),
        ("> ```\n> x [## a ##]\n> ```", 2, "代码里的 [## … ##] 会被当成注释删掉"),
        ("甲\n值 [ = slow.min =]", 2, "「[ =」不成一对"),
        ("值 slow.min =]", 1, "「=]」不成一对"),
        ("值 ［= slow.min =］", 1, "「［=」不成一对"),
        ("[ % claim slow.typical > fast.typical %]慢", 1, "「[ %」不成一对"),
        ("慢 endclaim %]", 1, "不成一对"),
        ("文 ##]", 1, "「##]」不成一对"),
    ],
)
def test_text_that_would_vanish_or_be_printed_by_accident(source: str, line: int, says: str) -> None:
    """C03: nothing is lost in silence, and no half of a tag is shown to readers."""
    _, mistakes = render(f"\n{source}")
    assert (mistakes[0].line, says in mistakes[0].message) == (line + 3, True), mistakes


@pytest.mark.parametrize(
    "source",
    ["```\n    Building [=====>   ] 12/30\n```", '`print("[%s]" % x)`', "`[==[ lua ]==]`", "`[= x`", "`[% if`", "`[## x`"],
)
def test_c01_our_own_signs_in_code_are_told_if_they_are_read(source: str) -> None:
    assert read(source).slips


def test_what_is_wrong_is_kept_with_the_template() -> None:
    """Asked for once a text, however many machines it is rendered for."""
    found = read(SETS + "[= nope =]")
    assert found.code is not None
    assert [line for line, _ in found.slips] == [1]
    assert read(SETS + "[= slow|e =]").code is None
