"""Lines of other people's source that pages quote: of a crate as it was compiled, of a Python package as it is installed."""

from __future__ import annotations

import hashlib
import re
from importlib import metadata
from pathlib import Path
from textwrap import dedent

from measure import cargo
from measure.experiment import SourceLines
from measure.record import Excerpt


class ExcerptError(Exception):
    """Lines that are not there. The message names the excerpt and where it was looked for."""


def excerpt(wanted: SourceLines, root: Path = cargo.ROOT) -> Excerpt:
    """The lines, without the indentation they share.

    Where `wanted.path` is a folder the text says, as `grep -c` does, how many lines of each file contain `wanted.start`.
    """
    try:
        version, licence, folder = (
            _installed(wanted.source) if wanted.package is None else cargo.crate(wanted.package, wanted.source, root)
        )
    except (cargo.CargoError, metadata.PackageNotFoundError) as error:
        raise ExcerptError(f"摘录 {wanted.name}：{error}") from None
    if (folder / wanted.path).is_dir():
        first, text, whole = 1, _counts(folder, wanted), b""
    else:
        try:
            whole = (folder / wanted.path).read_bytes()
        except OSError:
            raise ExcerptError(f"摘录 {wanted.name}：{wanted.source} {version} 里没有 {wanted.path}") from None
        first, text = _cut(whole.decode("utf-8", "replace").splitlines(), wanted)
    if not text:
        raise ExcerptError(f"摘录 {wanted.name}：{wanted.source} {version} 的 {wanted.path} 里没有 {wanted.start!r} 那几行")
    return Excerpt(
        name=wanted.name,
        source=wanted.source,
        version=version,
        path=wanted.path,
        first_line=first,
        text=text,
        sha256=hashlib.sha256(whole or text.encode()).hexdigest(),
        licence=licence,
    )


def _installed(package: str) -> tuple[str, str, Path]:
    """Version, licence and folder of an installed Python package."""
    found = metadata.distribution(package)
    licence = found.metadata.get("License-Expression") or found.metadata.get("License") or ""
    return found.version, licence, Path(str(found.locate_file(package)))


def _cut(lines: list[str], wanted: SourceLines) -> tuple[int, str]:
    """Number of the first line kept, and the lines; an empty text if they are not there."""
    hits = [n for n, line in enumerate(lines) if wanted.start in line]
    if not hits:
        return 1, ""
    if wanted.end is None:
        return hits[0] + 1, "\n".join(lines[n] for n in hits)
    last = next((n for n in range(hits[0] + 1, len(lines)) if re.search(wanted.end, lines[n])), None)
    return hits[0] + 1, "" if last is None else dedent("\n".join(lines[hits[0] : last + 1]))


def _counts(folder: Path, wanted: SourceLines) -> str:
    """`path:count` for each file below the folder with a line that contains `wanted.start`, sorted."""
    counted: list[str] = []
    for file in sorted((folder / wanted.path).rglob("*")):
        if file.is_file():
            hits = sum(wanted.start in line for line in file.read_text(encoding="utf-8", errors="replace").splitlines())
            if hits:
                counted.append(f"{file.relative_to(folder).as_posix()}:{hits}")
    return "\n".join(counted)
