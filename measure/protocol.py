"""What a timed program and the runner say to each other.

A program prints for people on stdout and, only when MEASURE_OUT names a file, writes JSON lines there: a header, series, facts,
and an end that counts the lines before it. Libraries that print cannot break it, and a file that was cut off is noticed.
Nothing but the standard library is used: programs import this module beside torch or jax, and a run by hand needs no site.
"""

from __future__ import annotations

import gc
import io
import json
import math
import os
import re
import struct
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from statistics import median
from time import perf_counter_ns, process_time_ns
from typing import Any, NoReturn, Self

PROTOCOL_VERSION = 1

PHASES = ("init", "trace", "compile", "prepare", "first", "steady")
SCOPES = ("call", "ready", "device", "readback", "wall")
UNITS: dict[str, tuple[str, int]] = {
    "s": ("s", 1),
    "ms": ("s", 10**3),
    "us": ("s", 10**6),
    "µs": ("s", 10**6),  # U+00B5, MICRO SIGN
    "μs": ("s", 10**6),  # U+03BC, GREEK SMALL LETTER MU
    "ns": ("s", 10**9),
    "1": ("1", 1),
    "byte": ("byte", 1),
}
"""Every spelling of a unit that is read: the unit it becomes, and how many of it make one of that."""

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


class ProtocolError(ValueError):
    """Output of a program that cannot be taken for a result. The message is for people and names the line."""


# ---- timing


@dataclass(frozen=True)
class Timing:
    """Durations of single calls in nanoseconds, in order, and the cores in use while they were taken."""

    samples: tuple[int, ...]
    cores: float


def drop(result: object) -> None:
    """The default of `after`: nothing is done with a result but to let go of it."""


def time_then[T](reps: int, work: Callable[[], T], after: Callable[[T], object] = drop) -> Timing:
    """Time `reps` calls of `work`, each of which returns when its result is usable; `after` gets the result off the clock."""
    with _collector_at_rest():
        # --8<-- [start:time]
        samples = []
        wall_began, cpu_began = perf_counter_ns(), process_time_ns()
        for _ in range(reps):
            start = perf_counter_ns()
            result = work()
            samples.append(perf_counter_ns() - start)
            after(result)
            del result  # freeing it is not part of the next call
        cpu = process_time_ns() - cpu_began
        cores = cpu / (perf_counter_ns() - wall_began)
        # --8<-- [end:time]
    return Timing(tuple(samples), cores)


def time_launch[T](reps: int, launch: Callable[[], T], wait: Callable[[T], object]) -> tuple[Timing, Timing]:
    """Time `reps` calls of `launch` twice over: until the call returned, and until `wait` said that its result is usable."""
    with _collector_at_rest():
        # --8<-- [start:launch]
        returned, ready = [], []
        wall_began, cpu_began = perf_counter_ns(), process_time_ns()
        for _ in range(reps):
            start = perf_counter_ns()
            result = launch()
            returned.append(perf_counter_ns() - start)
            wait(result)
            ready.append(perf_counter_ns() - start)
            del result
        cpu = process_time_ns() - cpu_began
        cores = cpu / (perf_counter_ns() - wall_began)
        # --8<-- [end:launch]
    return Timing(tuple(returned), cores), Timing(tuple(ready), cores)


@contextmanager
def _collector_at_rest() -> Iterator[None]:
    """The garbage collector rests, so that no sample pays for the litter of another."""
    collecting = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def doubling[T](reps: int, work: Callable[[], T], force: Callable[[T], object], tries: int = 10) -> float:
    """How much longer 2n calls with a read-back at their end take than n timed calls: 2, if each call waited for its result.

    Work that is only launched, or never done because nobody looks, gives something else, and the program ends here. A busy
    machine can spoil one try, hence several.
    """
    for _ in range(tries):
        single = sum(time_then(reps, work).samples)
        start = perf_counter_ns()
        for _ in range(2 * reps):
            result = work()
        force(result)
        ratio = (perf_counter_ns() - start) / max(single, 1)
        if 1.8 <= ratio <= 2.2:
            return ratio
    raise SystemExit(
        f"计时自检失败：{2 * reps} 次调用（末尾读回结果）的用时是 {reps} 次的 {ratio:.2f} 倍，应为 1.8 到 2.2；"
        "计时区间没有等到结果，或者机器太忙"
    )


# ---- the line for people


@dataclass(frozen=True)
class Line:
    """A measurement as it is printed. `min` and `median` are milliseconds in the digits that were printed."""

    label: str
    what: str
    runs: int
    warm_up: int | None
    min: str
    median: str


_LINE = re.compile(
    r"(?P<label>[^:\n]+): (?P<what>[^:\n]+), (?P<runs>\d+) runs(?: after (?P<warm_up>\d+) warm-up)?"
    r": min (?P<min>\d+\.\d{3})ms median (?P<median>\d+\.\d{3})ms",
    re.ASCII,
)
_LINE_LIKE = re.compile(r"\bruns\b.*\bmin\b")


def format_line(line: Line) -> str:
    """The line as pages quote it. Raises ValueError if `parse_line` could not read it back."""
    after = "" if line.warm_up is None else f" after {line.warm_up} warm-up"
    text = f"{line.label}: {line.what}, {line.runs} runs{after}: min {line.min}ms median {line.median}ms"
    if (match := _LINE.fullmatch(text)) is None or _line(match) != line:
        raise ValueError(f"测量行读不回来，名字里不能有冒号和换行：{text!r}")
    return text


def parse_line(text: str) -> Line | None:
    """What a printed line says; None for a line that is no measurement.

    Raises ProtocolError for one that looks like a measurement and departs from the form, such as a decimal comma.
    """
    if match := _LINE.fullmatch(text):
        return _line(match)
    if _LINE_LIKE.search(text):
        raise ProtocolError(f"像一行测量结果，写法却不对（小数点是「.」，毫秒留三位小数）：{text!r}")
    return None


def _line(match: re.Match[str]) -> Line:
    warm_up = match["warm_up"]
    return Line(
        match["label"],
        match["what"],
        int(match["runs"]),
        None if warm_up is None else int(warm_up),
        match["min"],
        match["median"],
    )


# ---- writing


class Report:
    """What a program says: printed lines always, the protocol where MEASURE_OUT is set. Only a clean exit writes the end."""

    def __init__(self, program: str, *, label: str | None = None, quick: bool = False) -> None:
        """`label` opens the printed lines; it says what was observed (`torch threads 2`) and is the program's name otherwise."""
        self.label = label or program
        self._lines = 0
        self._file: io.TextIOWrapper | None = None
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):  # the same bytes whatever the locale
                stream.reconfigure(encoding="utf-8", errors="backslashreplace")
        if path := os.environ.get("MEASURE_OUT"):
            try:
                self._file = Path(path).open("w", encoding="utf-8", newline="\n")  # noqa: SIM115 (closed by __exit__)
            except OSError as error:
                raise SystemExit(f"MEASURE_OUT 指的文件写不了：{path}（{error.strerror}）；换个路径，或不设这个变量") from None
        self._write(type="header", protocol=PROTOCOL_VERSION, program=program, quick=quick)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if kind is None:
            self._write(type="end", lines=self._lines)
        if self._file:
            self._file.close()

    def series(
        self,
        metric: str,
        what: str,
        timing: Timing,
        *,
        warm_up: int = 0,
        phase: str = "steady",
        scope: str = "ready",
        params: Mapping[str, int | str] | None = None,
    ) -> None:
        """Print the line for `what` and `record` the samples. A single warm-up call goes without saying in print."""
        low, middle = (f"{ns / 10**6:.3f}" for ns in (min(timing.samples), median(timing.samples)))
        line = Line(self.label, what, len(timing.samples), warm_up if warm_up > 1 else None, low, middle)
        print(format_line(line), flush=True)
        self.record(metric, timing, warm_up=warm_up, phase=phase, scope=scope, params=params)

    def record(
        self,
        metric: str,
        timing: Timing,
        *,
        warm_up: int = 0,
        phase: str = "steady",
        scope: str = "ready",
        params: Mapping[str, int | str] | None = None,
    ) -> None:
        """Write the samples and print nothing: several series may share one line, of a form of `measure.lines`."""
        self._write(
            type="series",
            metric=metric,
            phase=phase,
            scope=scope,
            unit="ns",
            params=dict(params or {}),
            warm_up=warm_up,
            cores=round(timing.cores, 4),
            samples=timing.samples,
        )

    def fact(
        self,
        name: str,
        value: bool | float | str,
        *,
        params: Mapping[str, int | str] | None = None,
        of: int | None = None,
        bits: str | None = None,
        source: str | None = None,
    ) -> None:
        """A value that is not a time. `of` is the n of a count; `bits` are those of a float, as `ieee_bits` writes them."""
        extra = {"params": params and dict(params), "of": of, "bits": bits, "source": source}
        self._write(type="fact", name=name, value=value, **{key: one for key, one in extra.items() if one is not None})

    def _write(self, **line: object) -> None:
        if self._file:
            self._file.write(json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n")
            self._file.flush()
            self._lines += 1


def ieee_bits(value: float) -> str:
    """The 64 bits of a float, where equality means equality of bits."""
    return struct.pack(">d", value).hex()


# ---- reading


@dataclass(frozen=True)
class Header:
    """Who wrote the file, and whether with few repetitions."""

    program: str
    quick: bool


@dataclass(frozen=True)
class SeriesLine:
    """Fields of `measure.record.Series`: `Series(**vars(line))` is that. Times are in seconds."""

    metric: str
    phase: str
    scope: str
    unit: str
    samples: tuple[float, ...]
    params: dict[str, int | str] = field(default_factory=dict)
    warm_up: int = 0
    cores: float | None = None


@dataclass(frozen=True)
class FactLine:
    """Fields of `measure.record.Fact`: `Fact(**vars(line))` is that."""

    name: str
    value: bool | float | str
    params: dict[str, int | str] = field(default_factory=dict)
    of: int | None = None
    bits: str | None = None
    source: str = ""


@dataclass(frozen=True)
class Output:
    """A complete file."""

    header: Header
    series: tuple[SeriesLine, ...]
    facts: tuple[FactLine, ...]


def parse(text: bytes) -> Output:
    """Read what a program wrote. Anything short of a complete, well-formed file is a ProtocolError that names the line."""
    rows = text.split(b"\n")
    if rows[-1] == b"":
        rows.pop()
    if not rows:
        raise ProtocolError("第 1 行：文件是空的，程序没有写结果")
    header: Header | None = None
    series: list[SeriesLine] = []
    facts: list[FactLine] = []
    seen: dict[str, int] = {}
    for number, row in enumerate(rows, 1):
        line = _Row(number, row)
        kind = line.take("type", str)
        key = ""
        if header is None:
            if kind != "header":
                line.fail(f"第一行应是 header，这里是 {kind!r}")
            header = line.header()
        elif kind == "series":
            series.append(one := line.series())
            key = f"{one.metric}（{one.phase}，{one.scope}，{sorted(one.params.items())}）"
        elif kind == "fact":
            facts.append(fact := line.fact())
            key = f"事实 {fact.name}（{sorted(fact.params.items())}）"
        elif kind == "end":
            announced = line.take("lines", int)
            line.done()
            if announced != number - 1:
                line.fail(f"宣布 {announced} 行，收到 {number - 1} 行")
            if number != len(rows):
                raise ProtocolError(f"第 {number + 1} 行：end 之后还有内容")
            return Output(header, tuple(series), tuple(facts))
        else:
            line.fail(f"不认识的 type {kind!r}，应是 series、fact 或 end")
        if key and seen.setdefault(key, number) != number:
            line.fail(f"和第 {seen[key]} 行重复：{key}")
    raise ProtocolError(f"第 {len(rows)} 行：之后缺 end 行，文件没有写完")


class _Row:
    """One line of the file while its fields are taken out, each checked."""

    def __init__(self, number: int, row: bytes) -> None:
        self.number = number
        try:
            value = json.loads(row.decode(), object_pairs_hook=self._once, parse_constant=self._constant)
        except UnicodeDecodeError:
            self.fail(f"不是 UTF-8：{_raw(row)}")
        except ProtocolError:
            raise
        except (ValueError, RecursionError):
            self.fail(f"不是一行完整的 JSON：{_raw(row)}")
        if not isinstance(value, dict):
            self.fail(f"应是一个 JSON 对象，这里是 {_raw(row)}")
        self.fields: dict[str, Any] = value

    def fail(self, wrong: str) -> NoReturn:
        raise ProtocolError(f"第 {self.number} 行：{wrong}")

    def _once(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        fields = dict(pairs)
        if len(fields) != len(pairs):
            keys = [key for key, _ in pairs]
            self.fail(f"键 {next(k for k in keys if keys.count(k) > 1)!r} 出现两次")
        return fields

    def _constant(self, text: str) -> NoReturn:
        self.fail(f"{text} 不是有限的数")

    def take[T](self, key: str, kind: type[T], default: T | None = None) -> T:
        """Remove a field of exactly this type: a bool is no int here."""
        if key not in self.fields and default is not None:
            return default
        if key not in self.fields:
            self.fail(f"缺 {key}")
        return self._typed(key, self.fields.pop(key), kind)

    def _typed[T](self, key: str, value: object, kind: type[T]) -> T:
        if type(value) is not kind:
            self.fail(f"{key} 应是{_KINDS[kind]}，这里是 {_json(value)}")
        if isinstance(value, str) and re.search(r"[\ud800-\udfff]", value):
            self.fail(f"{key} 含有半个代理对，不是合法的文字")
        return value

    def name(self, key: str) -> str:
        value = self.take(key, str)
        if len(value) > 64 or not _NAME.fullmatch(value):
            self.fail(f"{key} {value!r} 不合规则：小写字母、数字，中间用连字符，最多 64 个字")
        return value

    def choice(self, key: str, choices: tuple[str, ...]) -> str:
        value = self.take(key, str)
        if value not in choices:
            self.fail(f"{key} {value!r} 不认识，应是 {'、'.join(choices)} 之一")
        return value

    def number_of(self, key: str, value: object, scale: int = 1) -> float:
        """A finite number divided by `scale`. Decimals, so that 12.3 ms and 0.0123 s become the same float."""
        if type(value) is not int and type(value) is not float:
            self.fail(f"{key} 应是数，这里是 {_json(value)}")
        result = float(Decimal(str(value)) / scale)
        if not math.isfinite(result):
            self.fail(f"{key} 不是有限的数")
        return result

    def done(self) -> None:
        """Whatever is left was not understood, and nothing is skipped in silence."""
        if self.fields:
            self.fail(f"不认识的键 {'、'.join(map(repr, self.fields))}")

    def params(self) -> dict[str, int | str]:
        params: dict[str, int | str] = self.take("params", dict, {})
        for key, value in params.items():
            self._typed("params 的名字", key, str)
            self._typed(f"params 的 {key}", value, int if type(value) is int else str)
        return params

    def header(self) -> Header:
        if (version := self.take("protocol", int)) != PROTOCOL_VERSION:
            self.fail(f"协议版本是 {version}，这里只读 {PROTOCOL_VERSION}；重新构建程序")
        header = Header(self.name("program"), self.take("quick", bool))
        self.done()
        return header

    def series(self) -> SeriesLine:
        spelling = self.take("unit", str)
        if spelling not in UNITS:
            self.fail(f"单位 {spelling!r} 不认识，应是 {'、'.join(UNITS)} 之一")
        unit, scale = UNITS[spelling]
        samples = tuple(self.number_of("samples", value, scale) for value in self.take("samples", list))
        if not samples:
            self.fail("samples 是空的")
        if unit == "s" and min(samples) <= 0:
            self.fail("samples 里有不大于 0 的时间")
        params = self.params()
        warm_up = self.take("warm_up", int, 0)
        cores = self.number_of("cores", self.fields.pop("cores")) if "cores" in self.fields else None
        if warm_up < 0 or (cores is not None and cores < 0):
            self.fail("warm_up 和 cores 不能是负数")
        metric, phase, scope = self.name("metric"), self.choice("phase", PHASES), self.choice("scope", SCOPES)
        line = SeriesLine(metric, phase, scope, unit, samples, params, warm_up, cores)
        self.done()
        return line

    def fact(self) -> FactLine:
        name = self.name("name")
        kind = type(self.fields.get("value"))
        if kind not in (bool, int, float, str):
            self.fail(f"事实 {name} 的 value 应是数、真假或文字，这里是 {_json(self.fields.get('value', '没有'))}")
        value: bool | float | str = self.take("value", kind)
        if isinstance(value, float):
            value = self.number_of("value", value)
        of = self.take("of", int) if "of" in self.fields else None
        bits = self.take("bits", str) if "bits" in self.fields else None
        if bits is not None and not (isinstance(value, float) and bits == ieee_bits(value)):
            self.fail(f"bits {bits!r} 不是 value {_json(value)} 的二进制位（16 位十六进制，小写，不带 0x）")
        line = FactLine(name, value, self.params(), of, bits, self.take("source", str, ""))
        self.done()
        return line


_KINDS: dict[type, str] = {int: "整数", str: "文字", bool: "真假", list: "数组", dict: "对象", float: "数"}


def _raw(row: bytes) -> str:
    return _short(repr(row.decode(errors="replace")))


def _json(value: object) -> str:
    return _short(json.dumps(value))


def _short(text: str) -> str:
    return text if len(text) <= 80 else text[:79] + "…"


# ---- captured output

_ERASE = re.compile(r"((?:\x1b\[|\x9b)[02]?K)")
_ESCAPE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?"  # OSC and its like: titles, links
    r"|\x1b[ -/]*[0-~]"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def clean(text: bytes) -> str:
    """Captured output as a terminal would leave it, in plain text: bad bytes become U+FFFD, colours and control characters go."""
    lines = text.decode("utf-8", errors="replace").replace("\r\n", "\n").split("\n")
    return "\n".join(_final_state(line) for line in lines)


def _final_state(line: str) -> str:
    """What is left of a line whose carriage returns go back to its start: new text covers old, erase sequences remove it."""
    shown = ""
    for part in line.split("\r"):
        written = ""
        for piece in _ERASE.split(part):
            if not _ERASE.fullmatch(piece):
                written += _CONTROL.sub("", _ESCAPE.sub("", piece))
            elif "2" in piece:
                shown = written = ""
            else:
                shown = shown[: len(written)]
        shown = written + shown[len(written) :]
    return shown
