"""Lines that programs print for people. One form both writes a line and reads it back.

The forms of each volume lie with its programs, so that a new one makes no other volume's records stale.

Rust programs print the same lines by `println!`, so numbers look as Rust prints them. Nothing but the standard library is
used: programs import this module beside jax and numpy.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal
from string import Formatter

_FORMAT = re.compile(r"(?P<align>[<>]?)(?P<sign>\+?)(?P<width>\d*)(?:\.(?P<digits>\d+))?(?P<kind>[defst]?)")
_ELIDED = re.compile(r"(?:(?P<head>.*?) )?\.\.\.(?: (?P<tail>.*))?")
_NANOSECONDS = {"s": 10**9, "ms": 10**6, "µs": 10**3, "ns": 1}


def duration(nanoseconds: float) -> str:
    """A time as Rust's `{:.3?}` prints it: `28.166µs`, `3.600s`."""
    whole = Decimal(round(nanoseconds))
    unit, size = next(((unit, size) for unit, size in _NANOSECONDS.items() if whole >= size), ("ns", 1))
    return f"{(whole / size).quantize(Decimal('0.001'), ROUND_HALF_EVEN)}{unit}"


@dataclass(frozen=True)
class Field:
    """A place in a line, and how a value looks there."""

    name: str
    kind: str
    """`d`, `e` or `f` as in Python; `t` for nanoseconds, shown by `duration`; `s` for a word, nothing for a text."""
    sign: str
    digits: int
    width: int
    left: bool

    @classmethod
    def read(cls, name: str, spec: str) -> Field:
        """From the part of a template after the colon."""
        found = _FORMAT.fullmatch(spec)
        if found is None or (found["digits"] is not None) != (found["kind"] in ("e", "f")):
            raise ValueError(f"a field cannot be printed as {spec!r}")
        left = found["align"] == "<" or not (found["align"] or found["kind"] not in ("", "s"))
        return cls(name, found["kind"], found["sign"], int(found["digits"] or 0), int(found["width"] or 0), left)

    @property
    def pattern(self) -> str:
        """What matches a text of this field, without its padding."""
        sign = "[+-]" if self.sign else "-?"
        digits = rf"\.[0-9]{{{self.digits}}}" if self.digits else ""
        return {
            "d": rf"{sign}[0-9]+",
            "f": rf"{sign}[0-9]+{digits}",
            "e": rf"{sign}[0-9]{digits}e-?(?:0|[1-9][0-9]*)",
            "t": rf"[0-9]+\.[0-9]{{3}}(?:{'|'.join(_NANOSECONDS)})",
            "s": r"\S+",
            "": r"\S(?:.*?\S)?",
        }[self.kind]

    def text(self, value: object) -> str:
        """The value as it stands in a line, without its padding."""
        if self.kind in ("", "s"):
            return str(value)
        if self.kind == "t":
            if not isinstance(value, int | float):
                raise TypeError(f"{self.name} is a number of nanoseconds, not {value!r}")
            return duration(value)
        text = format(value, f"{self.sign}{f'.{self.digits}' if self.kind != 'd' else ''}{self.kind}")
        return re.sub(r"e([+-])0*(?=\d)", lambda e: "e" + e[1].strip("+"), text)  # Rust: e-9 and e9, Python: e-09 and e+09

    def pad(self, text: str) -> str:
        """A text of this field in its width."""
        return text.ljust(self.width) if self.left else text.rjust(self.width)


class Form:
    """A kind of line, made from a template as for `str.format`.

    A field has a name and, if need be, alignment, sign, width, digits and kind (`:<15`, `:7.1f`, `:+.3e`, `:d`, `:t`). A name
    that stands in two places has the same text in both.
    """

    def __init__(self, template: str) -> None:
        """Raises ValueError for a template that could not be printed by both languages."""
        self._template = template
        self._parts = [
            (literal, None if name is None else Field.read(name, spec or ""))
            for literal, name, spec, _ in Formatter().parse(template)
        ]
        seen: set[str] = set()
        pattern = ""
        for literal, field in self._parts:
            pattern += re.escape(literal)
            if field is None:
                continue
            group = f"(?P={field.name})" if field.name in seen else f"(?P<{field.name}>{field.pattern})"
            seen.add(field.name)
            pattern += group if not field.width else f"{group} *" if field.left else f" *{group}"
        self._pattern = re.compile(pattern)

    def format(self, **values: object) -> str:
        """The line with these values. Raises ValueError for a line that could not be read back, TypeError for a wrong name."""
        fields = {field.name: field for _, field in self._parts if field is not None}
        if fields.keys() != values.keys():
            raise TypeError(f"the line needs {sorted(fields)}, not {sorted(values)}")
        texts = {name: field.text(values[name]) for name, field in fields.items()}
        line = self._line(texts)
        if self.parse(line) != texts:
            raise ValueError(f"打印出来的行读不回来：{line!r}")
        return line

    def parse(self, text: str) -> dict[str, str] | None:
        """The fields as they are printed, or None for another kind of line.

        A published line may have `...` for words in its middle or at an end; then the fields that are left are given. Something
        of the template itself has to be left, for a field alone could belong to any line.
        """
        whole = self._match(text)
        if whole is not None:
            return whole
        elided = _ELIDED.fullmatch(text)
        if elided is None:
            return None
        cuts = [i for i, character in enumerate(self._template) if character == " "]
        heads = [(0, "")] if elided["head"] is None else [(cut, self._template[:cut]) for cut in cuts]
        tails = [(len(self._template), "")] if elided["tail"] is None else [(cut, self._template[cut + 1 :]) for cut in cuts]
        before = [(cut, part, found) for cut, part in heads if (found := Form(part)._match(elided["head"] or "")) is not None]
        after = [(cut, part, found) for cut, part in tails if (found := Form(part)._match(elided["tail"] or "")) is not None]
        kept = (
            first | last
            for start, head, first in before
            for end, tail, last in after
            if start < end and any(literal.strip() for literal, _, _, _ in Formatter().parse(head + tail))
        )
        return next(kept, None)

    def _match(self, text: str) -> dict[str, str] | None:
        found = self._pattern.fullmatch(text)
        return found.groupdict() if found is not None and self._line(found.groupdict()) == text else None

    def _line(self, texts: dict[str, str]) -> str:
        return "".join(literal + (field.pad(texts[field.name]) if field else "") for literal, field in self._parts)
