"""How long a cached build takes, beside the same book for other tools: interleaved in one run, stated as ratios.

Every build is a process of its own, and each round runs all of them, every second round backwards. A figure is the median over the
rounds; what a page costs is the slope between two sizes of the book, which leaves start-up out.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import books
from rich.console import Console
from rich.table import Table

KEPT = "bench.json"


@dataclass(frozen=True)
class Contender:
    """One way to build the book."""

    name: str
    write: Callable[[Path, int], None]
    others: bool = False
    """Whether it needs the tools that only the bench installs."""
    cold: bool = False
    """Whether everything that an earlier build kept is thrown away first."""


CONTENDERS = (
    Contender("数字手写，没有宏", books.by_hand),
    Contender("本书，缓存已有", books.ours),
    Contender("本书，缓存空着", books.ours, cold=True),
    Contender("mkdocs-macros 查 JSON", books.looked_up),
    Contender("markdown-exec", books.printed_by_code, others=True),
)
BASE, OURS = CONTENDERS[0], CONTENDERS[1]


@dataclass(frozen=True)
class Sample:
    """One build."""

    contender: str
    pages: int
    """Rendered, those of the other machine included."""
    wall_s: float
    cpu_s: float
    peak_mib: float


def build(contender: Contender, folder: Path, python: str, cache: Path, pages: int) -> Sample:
    """Build a written book once. Raises SystemExit, with what the tool said, if it fails."""
    if contender.cold:
        shutil.rmtree(cache / "rust-in-everything", ignore_errors=True)
    environment = os.environ | {"MEASURE": "cached", "NO_MKDOCS_2_WARNING": "1", "XDG_CACHE_HOME": str(cache)}
    with tempfile.TemporaryFile() as said:
        begin = time.perf_counter()
        process = subprocess.Popen([python, "-m", "mkdocs", "build", "-q"], cwd=folder, env=environment, stdout=said, stderr=said)
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begin
        if status != 0:
            said.seek(0)
            sys.exit(f"{contender.name} 没有建成：\n{said.read().decode(errors='replace')}")
    return Sample(contender.name, pages, wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def check_same(folder: Path, others: Path) -> None:
    """Every paragraph, cell and line of the pages written by hand stands in ours, in the same order. Raises SystemExit if one does not."""
    for page in sorted(others.rglob("index.html")):
        mine = folder / page.relative_to(others)
        text, position = "".join(_pieces(mine)), 0
        for piece in _pieces(page):
            position = text.find(piece, position)
            if position < 0:
                sys.exit(f"{mine.relative_to(folder)}：没有「{piece}」，两边的内容不一样，比不了")


def _pieces(page: Path) -> list[str]:
    article = page.read_text(encoding="utf-8").partition("<article")[2].partition("</article>")[0]
    blocks = re.split(r"</?(?:article|p|h\d|t[hdr]|pre|li|div|a)\b[^>]*>|\n", article)
    return [piece for block in blocks if (piece := "".join(books.plain(block).replace("¶", "").split()))]


def main() -> None:
    """Run the rounds and print the table."""
    parser = argparse.ArgumentParser(description="缓存构建有多快：和别的做法并排量")
    parser.add_argument("--quick", action="store_true", help="小书，少几轮")
    parser.add_argument("--others", required=True, help="装了别的工具的 Python")
    asked = parser.parse_args()
    sizes, rounds = ((20, 60), 3) if asked.quick else ((40, 200, 1000), 5)
    samples: list[Sample] = []
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        for size in sizes:
            for contender in CONTENDERS:
                contender.write(root / f"{contender.name}-{size}", size)
        for turn in range(rounds + 1):  # the first fills caches and is not counted
            for size in sizes:
                for contender in CONTENDERS if turn % 2 else reversed(CONTENDERS):
                    folder = root / f"{contender.name}-{size}"
                    python = asked.others if contender.others else sys.executable
                    cache = root / ("cold" if contender.cold else "warm")
                    sample = build(contender, folder, python, cache, 2 * size + 1)
                    samples += [sample] if turn else []
        check_same(root / f"{OURS.name}-{sizes[0]}" / "site", root / f"{BASE.name}-{sizes[0]}" / "site")
    Path(KEPT).write_text(json.dumps([asdict(sample) for sample in samples], ensure_ascii=False, indent=1), encoding="utf-8")
    _print(samples, [2 * size + 1 for size in sizes])


def _print(samples: list[Sample], pages: list[int]) -> None:
    def typical(name: str, count: int, figure: str = "cpu_s") -> float:
        return float(median(getattr(s, figure) for s in samples if (s.contender, s.pages) == (name, count)))

    def a_page(name: str) -> float:
        return (typical(name, pages[-1]) - typical(name, pages[0])) / (pages[-1] - pages[0])

    table = Table("做法", *(f"{count} 页" for count in pages), "每页多用的 CPU", "内存", title="CPU 时间，和手写的一版的比值")
    for contender in CONTENDERS:
        name = contender.name
        ratios = [f"{typical(name, count) / typical(BASE.name, count):.2f}" for count in pages]
        extra = f"{1000 * (a_page(name) - a_page(BASE.name)):+.1f} ms"
        table.add_row(name, *ratios, extra, f"{typical(name, pages[-1], 'peak_mib'):.0f} MiB")
    console = Console()
    console.print(table)
    console.print(f"每一次构建的读数在 {KEPT}。")


if __name__ == "__main__":
    main()
