"""Small books, built by the real MkDocs from records of their own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from html import unescape
from pathlib import Path

from measure import staleness
from measure.experiments.cpu_matmul import EXPERIMENT
from measure.record import Measured
from measure.store import Store
from tests.records import LAB, SLOW_AND_FAST, measured, rounds

ROOT = Path(__file__).parent.parent
INPUTS = staleness.inputs(EXPERIMENT)
CONFIG = f"""
INHERIT: {ROOT / "mkdocs.yml"}
site_name: 小书
site_url: https://example.org/book/
nav:
hooks: [{ROOT / "measure/hooks.py"}]
extra_css: []
extra_javascript: []
theme: {{custom_dir: {ROOT / "theme"}}}
extra: {{generator: false, measure: {{reference: lab, records: records}}}}
plugins:
  - search: {{enabled: !ENV [BOOK_SEARCH, false]}}
  - macros: {{j2_variable_start_string: "[=", j2_variable_end_string: "=]", j2_block_start_string: "[%", j2_block_end_string: "%]"}}
"""
SETS = """[% set m = record("cpu-matmul") %]
[% set slow = m.series("slow", "matmul") %]
[% set fast = m.series("fast", "matmul") %]
"""
GOOD = f"""{SETS}# 慢 [= times(slow.typical, fast.typical) =]

慢的用 [= slow.typical =]，见[别处](b.md#计时方法)。[% claim slow.typical > fast.typical %]它慢。[% elif fast.typical > slow.typical %]它快。[% endclaim %]

## 慢了 [= slow.typical / fast.typical =] 倍

```mermaid
flowchart TB
  a["[= slow.min =]"]
```
"""
OTHER = "# 别处\n\n## 计时方法\n\n[回去](a.md)\n"


def of(record: Measured, label: str = "lab", **changes: object) -> Measured:
    """The record as one of `cpu-matmul` that is not stale."""
    machine = LAB.model_copy(update={"label": label})
    return record.model_copy(update={"experiment": "cpu-matmul", "machine": machine, "inputs": INPUTS, **changes})


REVERSED = measured(*rounds("fast", 0.050, 0.0502, 0.0498), *rounds("slow", 0.010, 0.0101, 0.0099))


def write(book: Path, pages: Mapping[str, str]) -> Path:
    (book / "docs").mkdir(parents=True)
    (book / "mkdocs.yml").write_text(CONFIG, encoding="utf-8")
    change(book, pages)
    store = Store(book / "records")
    store.save(of(SLOW_AND_FAST))
    store.save(of(REVERSED, "box"))
    return book


def change(book: Path, pages: Mapping[str, str]) -> None:
    for name, text in pages.items():
        (book / "docs" / name).parent.mkdir(parents=True, exist_ok=True)
        (book / "docs" / name).write_bytes(text.encode())


def build(book: Path, *flags: str, **env: str) -> subprocess.CompletedProcess[str]:
    return mkdocs(book, environment(book) | env, *flags)


def mkdocs(folder: Path, env: Mapping[str, str], *flags: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mkdocs", "build", *flags]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=120)


def environment(book: Path) -> dict[str, str]:
    unwanted = {"PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "SOURCE_DATE_EPOCH"}
    kept = {name: value for name, value in os.environ.items() if name not in unwanted}
    return kept | {
        "MEASURE": "cached",
        "PYTHONPATH": str(ROOT),
        "NO_MKDOCS_2_WARNING": "1",
        "XDG_CACHE_HOME": str(book.parent / "cache"),
    }


def good(book: Path, *flags: str, **env: str) -> Path:
    done = build(book, *flags, **env)
    assert done.returncode == 0, done.stderr
    return book / "site"


def mistakes(book: Path, *flags: str, **env: str) -> list[str]:
    """What a build refuses: the lines of its list."""
    done = build(book, *flags, **env)
    assert done.returncode != 0
    assert "Traceback" not in done.stderr, done.stderr
    assert not (book / "site").exists()
    return re.findall(r"^  (\S+:\d+：.*)$", done.stderr, re.MULTILINE)


def page(site: Path, where: str) -> str:
    return (site / where / "index.html").read_text(encoding="utf-8")


def words(html: str) -> str:
    return unescape(re.sub(r"<[^>]*>", "", html))


def contents(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def wait_for(url: str, text: str, *, there: bool = True) -> str:
    deadline = time.monotonic() + 30
    html = ""
    while time.monotonic() < deadline:
        with suppress(OSError):
            html = str(urllib.request.urlopen(url, timeout=5).read(), "utf-8")  # noqa: S310 - loopback
            if (text in html) is there:
                return html
        time.sleep(0.3)
    raise AssertionError(html[-2000:])
