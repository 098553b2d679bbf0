"""The protocol between programs and the runner. Expected values are written out, not computed by the code under test."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import get_args

import pytest

from measure import protocol, record
from measure.protocol import (
    FactLine,
    Line,
    ProtocolError,
    Report,
    SeriesLine,
    Timing,
    clean,
    doubling,
    format_line,
    ieee_bits,
    parse,
    parse_line,
    time_launch,
    time_then,
)

ROOT = Path(__file__).parent.parent

HEADER = '{"type":"header","protocol":1,"program":"pitb-exec-cpu","quick":false}'
SERIES = (
    '{"type":"series","metric":"matmul","phase":"steady","scope":"ready","unit":"ns","params":{},'
    '"warm_up":1,"cores":0.99,"samples":[21424123,22005000]}'
)
FACT = '{"type":"fact","name":"dtype","value":"f32"}'

BITS = "3fe94c4285929bdd"
"""Of 0.790559063800966; worked out with struct."""


def file(*lines: str, end: int | None = None) -> bytes:
    """A file of these lines with a right `end`, unless another count is given."""
    count = len(lines) if end is None else end
    return "".join(f"{line}\n" for line in (*lines, f'{{"type":"end","lines":{count}}}')).encode()


def refused(text: bytes) -> str:
    with pytest.raises(ProtocolError) as caught:
        parse(text)
    return str(caught.value)


# ---- reading


def test_a_complete_file() -> None:
    out = parse(file(HEADER, SERIES, FACT))
    assert (out.header.program, out.header.quick) == ("pitb-exec-cpu", False)
    assert out.series == (SeriesLine("matmul", "steady", "ready", "s", (0.021424123, 0.022005), {}, 1, 0.99),)
    assert out.facts == (FactLine("dtype", "f32"),)


def test_lines_become_parts_of_a_record() -> None:
    hits = '{"type":"fact","name":"hits","value":3,"of":4,"params":{"beta":"0.30","step":1},"source":"x"}'
    out = parse(file(HEADER, SERIES, hits))
    series = record.Series(**vars(out.series[0]))
    assert series.samples == (0.021424123, 0.022005)
    assert record.Fact(**vars(out.facts[0])) == record.Fact(
        name="hits", value=3, of=4, params={"beta": "0.30", "step": 1}, source="x"
    )


LNZ = '{"type":"fact","name":"lnz","value":0.790559063800966,"bits":"3fe94c4285929bdd","params":{"beta":"0.30"}}'


def test_a_fact_holds_for_parameters_and_keeps_its_bits() -> None:
    other = LNZ.replace("0.30", "0.40")
    facts = parse(file(HEADER, LNZ, other)).facts
    assert [fact.params for fact in facts] == [{"beta": "0.30"}, {"beta": "0.40"}]
    assert {fact.bits for fact in facts} == {BITS}


def test_nanoseconds_keep_nine_decimals() -> None:
    out = parse(file(HEADER, SERIES.replace("[21424123,22005000]", "[1,999999999,123456789012]")))
    assert [repr(s) for s in out.series[0].samples] == ["1e-09", "0.999999999", "123.456789012"]


@pytest.mark.parametrize(
    ("value", "unit"),
    [
        ("0.0123", "s"),
        ("12.3", "ms"),
        ("12300", "\u00b5s"),
        ("12300", "\u03bcs"),
        ("12300", "us"),
        ("12300000", "ns"),
        ("1.23e1", "ms"),
    ],
)
def test_c25_spellings_of_a_unit_give_the_same_bits(value: str, unit: str) -> None:
    out = parse(file(HEADER, SERIES.replace('"ns"', f'"{unit}"').replace("21424123", value)))
    assert out.series[0].unit == "s"
    assert out.series[0].samples[0] == 0.0123


@pytest.mark.parametrize("unit", ['"unit":"m",', '"unit":"",', '"unit":"S",', '"unit":1,', ""])
def test_c25_unknown_or_missing_unit_is_refused(unit: str) -> None:
    message = refused(file(HEADER, SERIES.replace('"unit":"ns",', unit)))
    assert message.startswith("第 2 行：")
    assert "单位" in message or "unit" in message


def test_vocabulary_is_that_of_the_record() -> None:
    assert get_args(record.Phase) == protocol.PHASES
    assert get_args(record.Scope) == protocol.SCOPES
    assert {u for u, (to, _) in protocol.UNITS.items() if to == "s"} == set(record.TIME_UNITS)
    assert {to for to, _ in protocol.UNITS.values()} == set(get_args(record.Unit))


@pytest.mark.parametrize(
    ("text", "line", "wrong"),
    [
        (b"", 1, "空"),
        (b"\n", 1, "JSON"),
        (b"\xef\xbb\xbf" + file(HEADER), 1, "JSON"),
        (file(HEADER, "计时中… " + SERIES[:30]), 2, "JSON"),
        (file(HEADER, SERIES[:60] + "warning: unused", FACT), 2, "JSON"),
        (file(HEADER, "{{ 7*6 }}"), 2, "JSON"),
        (file(HEADER, ""), 2, "JSON"),
        (file(HEADER, "[" * 100_000), 2, "JSON"),
        (file(HEADER, "[1]"), 2, "对象"),
        (file(HEADER, FACT).replace(b"f32", b"\xff"), 2, "UTF-8"),
        (file(HEADER, SERIES, FACT)[:-20], 4, "JSON"),
        ((HEADER + "\n" + SERIES + "\n").encode(), 2, "缺 end"),
        (file(HEADER, SERIES, end=3), 3, "宣布 3 行，收到 2 行"),
        (file(HEADER, SERIES, end=1), 3, "宣布 1 行，收到 2 行"),
        (file(HEADER) + b"{}\n", 3, "end 之后"),
        (file(SERIES), 1, "header"),
        (file(HEADER, HEADER), 2, "header"),
        (file(HEADER.replace('"protocol":1', '"protocol":2')), 1, "协议版本是 2"),
        (file(HEADER.replace('"protocol":1', '"protocol":true')), 1, "整数"),
        (file(HEADER.replace("false", "0")), 1, "真假"),
        (file(HEADER, FACT.replace("fact", "fakt")), 2, "fakt"),
        (file(HEADER, FACT.replace('"value":"f32"', '"value":"f32","note":""')), 2, "note"),
        (file(HEADER, '{"type":"fact","name":"dtype"}'), 2, "value"),
        (file(HEADER, FACT.replace('"f32"', "null")), 2, "null"),
        (file(HEADER, FACT.replace('"f32"', "NaN")), 2, "NaN"),
        (file(HEADER, FACT.replace('"f32"', "-Infinity")), 2, "Infinity"),
        (file(HEADER, FACT.replace('"f32"', "1e999")), 2, "有限"),
        (file(HEADER, FACT.replace("f32", "\\ud800")), 2, "代理"),
        (file(HEADER, FACT.replace("dtype", "D type")), 2, "D type"),
        (file(HEADER, FACT.replace('"name":', '"name":"x","name":')), 2, "两次"),
        (file(HEADER, FACT, FACT), 3, "和第 2 行重复"),
        (file(HEADER, LNZ, LNZ), 3, "和第 2 行重复"),
        (file(HEADER, LNZ.replace('"0.30"', "0.3")), 2, "beta"),
        (file(HEADER, LNZ.replace('{"beta":"0.30"}', "[]")), 2, "对象"),
        (file(HEADER, LNZ.replace(BITS, BITS[:-1] + "0")), 2, "二进制位"),
        (file(HEADER, LNZ.replace(BITS, "0x" + BITS)), 2, "二进制位"),
        (file(HEADER, LNZ.replace(BITS, BITS.upper())), 2, "二进制位"),
        (file(HEADER, LNZ.replace("0.790559063800966", "1")), 2, "二进制位"),
        (file(HEADER, SERIES, FACT, SERIES), 4, "和第 2 行重复"),
        (file(HEADER, SERIES.replace("22005000", "true")), 2, "true"),
        (file(HEADER, SERIES.replace("22005000", "null")), 2, "null"),
        (file(HEADER, SERIES.replace("22005000", "NaN")), 2, "NaN"),
        (file(HEADER, SERIES.replace("22005000", "1" + "0" * 400)), 2, "有限"),
        (file(HEADER, SERIES.replace("22005000", "1" * 5000)), 2, "JSON"),
        (file(HEADER, SERIES.replace("22005000", '"12,5"')), 2, "12,5"),
        (file(HEADER, SERIES.replace("22005000", "0")), 2, "不大于 0"),
        (file(HEADER, SERIES.replace("21424123,22005000", "")), 2, "空"),
        (file(HEADER, SERIES.replace('"warm_up":1', '"warm_up":-1')), 2, "负"),
        (file(HEADER, SERIES.replace('"warm_up":1', '"warm_up":1.5')), 2, "整数"),
        (file(HEADER, SERIES.replace('"params":{}', '"params":{"threads":true}')), 2, "threads"),
        (file(HEADER, SERIES.replace("steady", "warm")), 2, "warm"),
        (file(HEADER, SERIES.replace('"scope":"ready",', "")), 2, "缺 scope"),
    ],
)
def test_c16_c27_c28_anything_less_is_refused_with_its_line(text: bytes, line: int, wrong: str) -> None:
    message = refused(text)
    assert message.startswith(f"第 {line} 行：")
    assert wrong in message


def test_c16_every_cut_is_noticed() -> None:
    whole = file(HEADER, SERIES, FACT)
    for length in range(len(whole) - 1):  # without its last newline the file still says all
        refused(whole[:length])


def test_a_comma_in_the_file_makes_two_numbers_of_none() -> None:
    """C28: `12,5` for a number is not JSON in a field, and cannot pass for 12 or 125 there."""
    assert "第 2 行" in refused(file(HEADER, FACT.replace('"f32"', "12,5")))


# ---- writing


def test_c16_what_is_printed_does_not_touch_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "out.jsonl"
    monkeypatch.setenv("MEASURE_OUT", str(target))
    with Report("demo", label="demo threads 1") as report:
        print('{"type":"fact","name":"intruder","value":1}')
        report.series("matmul", "4x4 matmul", Timing((2_000_000, 1_000_000, 4_500_000), 0.98765), warm_up=1, params={"n": 4})
        report.series("step", "a step", Timing((2_000_499,), 1.0), warm_up=3)
        report.fact("note", "计时 µs", source="here")
    assert capsys.readouterr().out.splitlines()[1:] == [
        "demo threads 1: 4x4 matmul, 3 runs: min 1.000ms median 2.000ms",
        "demo threads 1: a step, 1 runs after 3 warm-up: min 2.000ms median 2.000ms",
    ]
    out = parse(target.read_bytes())
    assert out.series[0] == SeriesLine("matmul", "steady", "ready", "s", (0.002, 0.001, 0.0045), {"n": 4}, 1, 0.9877)
    assert out.facts == (FactLine("note", "计时 µs", source="here"),)
    assert json.loads(target.read_text(encoding="utf-8").splitlines()[-1]) == {"type": "end", "lines": 4}


def test_a_record_is_written_and_not_printed_and_facts_carry_what_they_are_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "out.jsonl"
    monkeypatch.setenv("MEASURE_OUT", str(target))
    with Report("demo") as report:
        report.record("aot", Timing((7_000_000,), 1.0), phase="trace", scope="call", params={"step": 3})
        report.fact("lnz", -0.1, params={"beta": "0.30"}, bits=ieee_bits(-0.1))
        report.fact("hits", 0, of=0)
    assert capsys.readouterr().out == ""
    out = parse(target.read_bytes())
    assert out.series == (SeriesLine("aot", "trace", "call", "s", (0.007,), {"step": 3}, 0, 1.0),)
    assert out.facts == (FactLine("lnz", -0.1, {"beta": "0.30"}, bits="bfb999999999999a"), FactLine("hits", 0, of=0))


def test_without_measure_out_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEASURE_OUT", raising=False)
    monkeypatch.chdir(tmp_path)
    with Report("demo") as report:
        report.fact("dtype", "f32")
    assert list(tmp_path.iterdir()) == []


def test_c16_a_program_that_fails_writes_no_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "out.jsonl"
    monkeypatch.setenv("MEASURE_OUT", str(target))

    def program() -> None:
        with Report("demo") as report:
            report.fact("dtype", "f32")
            raise SystemExit(3)

    with pytest.raises(SystemExit):
        program()
    assert refused(target.read_bytes()) == "第 2 行：之后缺 end 行，文件没有写完"


def test_c27_a_program_cannot_write_nan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEASURE_OUT", str(tmp_path / "out.jsonl"))
    with pytest.raises(ValueError, match="JSON compliant"), Report("demo") as report:
        report.fact("error", float("nan"))


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEASURE_OUT", str(tmp_path / "no" / "such" / "out.jsonl"))
    with pytest.raises(SystemExit, match="MEASURE_OUT"):
        Report("demo")


def test_c28_c40_same_bytes_under_every_locale(tmp_path: Path) -> None:
    program = (
        "import locale\n"
        "try: locale.setlocale(locale.LC_ALL, '')\n"
        "except locale.Error: pass\n"
        "from measure.protocol import Report, Timing\n"
        "with Report('demo', label='计时 µs') as report:\n"
        "    report.series('matmul', 'matmul', Timing((12_500_000,), 0.5))\n"
        "    report.fact('name', '加法 µ')\n"
    )
    script = tmp_path / "program.py"  # not -c: the locale would decode that
    script.write_text(program, encoding="utf-8")
    seen = set()
    for name in ("C.UTF-8", "C", "de_DE.UTF-8"):
        target = tmp_path / name
        env = {"MEASURE_OUT": str(target), "LC_ALL": name, "PYTHONPATH": str(ROOT), "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
        done = subprocess.run([sys.executable, str(script)], env={**os.environ, **env}, capture_output=True, check=True)
        seen.add((done.stdout, target.read_bytes()))
    ((stdout, written),) = seen
    assert stdout.decode() == "计时 µs: matmul, 1 runs: min 12.500ms median 12.500ms" + os.linesep
    assert parse(written).facts == (FactLine("name", "加法 µ"),)


def test_needs_nothing_but_the_standard_library() -> None:
    program = "import sys; sys.path.insert(0, sys.argv[1]); import measure.protocol; print('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", program, str(ROOT)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


# ---- timing


def test_timing_covers_the_call_and_not_what_comes_after() -> None:
    timing = time_then(3, lambda: time.sleep(0.002), lambda _: time.sleep(0.02))
    assert len(timing.samples) == 3
    assert min(timing.samples) >= 2_000_000
    assert min(timing.samples) < 20_000_000
    assert timing.cores < 0.5


def test_a_result_lives_until_the_clock_has_stopped_and_not_longer() -> None:
    alive: list[int] = []

    class Result:
        def __init__(self) -> None:
            alive.append(1)

        def __del__(self) -> None:
            alive.pop()

    seen = []
    time_then(3, Result, lambda _: seen.append(len(alive)))
    assert seen == [1, 1, 1]
    assert alive == []


def test_a_launch_is_stamped_when_it_returns_and_when_it_is_ready() -> None:
    waited: list[int] = []

    def launch() -> int:
        time.sleep(0.002)
        return 7

    def wait(result: int) -> None:
        time.sleep(0.02)
        waited.append(result)

    returned, ready = time_launch(3, launch, wait)
    assert waited == [7, 7, 7]
    assert all(2_000_000 <= ns < 20_000_000 for ns in returned.samples)
    assert all(ns >= 22_000_000 for ns in ready.samples)
    assert returned.cores == ready.cores < 0.5


def test_the_collector_rests_during_a_launch_and_a_result_goes_before_the_next() -> None:
    alive: list[bool] = []

    class Result:
        def __init__(self) -> None:
            assert not alive
            alive.append(gc.isenabled())

        def __del__(self) -> None:
            alive.pop()

    seen = []
    time_launch(2, Result, lambda _: seen.append(list(alive)))
    assert seen == [[False], [False]]
    assert gc.isenabled()


def test_the_collector_rests_and_is_put_back() -> None:
    states = []
    assert gc.isenabled()
    time_then(1, lambda: states.append(gc.isenabled()))
    with pytest.raises(ZeroDivisionError):
        time_then(1, lambda: 1 / 0)
    assert states == [False]
    assert gc.isenabled()


def test_c17_work_that_waits_for_its_result_passes() -> None:
    assert 1.8 <= doubling(3, lambda: time.sleep(0.01), lambda _: None) <= 2.2


def test_c17_work_that_is_only_launched_is_refused() -> None:
    with pytest.raises(SystemExit, match="自检失败"):
        doubling(3, lambda: time.sleep(0.0001), lambda _: time.sleep(0.02), tries=2)


# ---- printed lines

PUBLISHED = [
    (
        "pitb-exec-cpu: 1024x1024 matmul, 20 runs: min 21.424ms median 22.005ms",
        Line("pitb-exec-cpu", "1024x1024 matmul", 20, None, "21.424", "22.005"),
    ),
    (
        "torch threads 1: MLP 784-512-10 batch 256 train step, 20 runs after 3 warm-up: min 0.574ms median 0.770ms",
        Line("torch threads 1", "MLP 784-512-10 batch 256 train step", 20, 3, "0.574", "0.770"),
    ),
]


@pytest.mark.parametrize(("text", "line"), PUBLISHED)
def test_printed_lines_round_trip(text: str, line: Line) -> None:
    assert parse_line(text) == line
    assert format_line(line) == text


@pytest.mark.parametrize("text", ["", "...", "## round 1", "### RAYON_NUM_THREADS=1", "pitb-exec-cpu: burn-flex v0.22.1 [std]"])
def test_other_lines_are_no_measurements(text: str) -> None:
    assert parse_line(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "x: y, 20 runs: min 12,500ms median 12.500ms",
        "x: y, 20 runs: min 12.5ms median 12.500ms",
        "x: y, 20 runs: min NaNms median 12.500ms",
        "x: y, 20 runs: min 12.500ms",
        "x: y, 20 runs: min 12.500ms median 12.500ms\n",
        "x: y, 20 runs: min ١٢.500ms median 12.500ms",
    ],
)
def test_c28_a_line_that_departs_from_the_form_is_refused(text: str) -> None:
    with pytest.raises(ProtocolError):
        parse_line(text)


@pytest.mark.parametrize("label", ["a: b", "a\nb", ""])
def test_a_line_that_could_not_be_read_back_is_not_printed(label: str) -> None:
    with pytest.raises(ValueError, match="读不回来"):
        format_line(Line(label, "x", 1, None, "1.000", "1.000"))


# ---- captured output


def test_c13_odd_bytes_colours_and_control_characters() -> None:
    captured = b"ok \xff\xfe \xe7\xbb\x93\xe6\x9d\x9f\n\x1b[31mwarn\x1b[0m <b>x</b>\x00\x08"
    assert clean(captured) == "ok \ufffd\ufffd 结束\nwarn <b>x</b>"


@pytest.mark.parametrize(
    ("captured", "shown"),
    [
        (b"", ""),
        (b"a\r\nb\r\n", "a\nb\n"),
        (b" 10%\r 50%\r100%\n", "100%\n"),
        (b" 10%\r", " 10%"),
        (b"12345\rab\n", "ab345\n"),
        (b"compiling\r\x1b[Kdone\n", "done\n"),
        (b"compiling\x1b[2K\rdone\n", "done\n"),
        (b"\x1b]0;title\x07text", "text"),
        (b"\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\", "link"),
        (b"\x1b[1;38;5;208mx\x1b[m\ty", "x\ty"),
        (b"\x1b(Bx\x1b", "x"),
        ("\u009b31mx\u0085".encode(), "x"),
        (b"{{{v2} 65d0} {% if %}", "{{{v2} 65d0} {% if %}"),
    ],
)
def test_c13_output_as_a_terminal_leaves_it(captured: bytes, shown: str) -> None:
    assert clean(captured) == shown
