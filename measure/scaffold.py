"""A new page with its experiment, its programs in Python and Rust, and a test: files that pass every check as they are.

They time a small sum, so that the whole way from the run to the page is there to be tried; the author puts the real work in its place.
What is to be written is planned first and refused as a whole; nothing is left half made.
"""

from __future__ import annotations

import keyword
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

from measure import cargo

CONFIG = "mkdocs.yml"
VOLUMES = ("burn", "tenferro")
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
LONGEST = 40
"""Longer names would break lines of the templates elsewhere."""
RESERVED = (
    "abstract alloc become box core crate const do dyn enum extern final fn impl let loop macro match mod move mut override "
    "priv proc-macro pub ref self static std struct super test trait type typeof unsafe unsized use virtual where"
)
"""Names that Cargo refuses beside those that Python does."""


class ScaffoldError(Exception):
    """Why nothing was made: one sentence for each reason."""

    def __init__(self, *problems: str) -> None:
        super().__init__("；".join(problems))
        self.problems = problems


def new(root: Path, name: str, volume: str) -> tuple[str, ...]:
    """Make the files and the entries that lead to them; their paths from the root. Raises `ScaffoldError`, and then nothing changed."""
    planned = plan(root, name, volume)
    before = {path: (root / path).read_bytes() if (root / path).exists() else None for path in planned}
    try:
        for path, text in planned.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        _restore(root, before)
        raise ScaffoldError(f"{error.filename}：{error.strerror}") from None
    return tuple(planned)


def _restore(root: Path, before: Mapping[str, bytes | None]) -> None:
    for path, content in before.items():
        if content is not None:
            (root / path).write_bytes(content)
            continue
        if (root / path).is_file():
            (root / path).unlink()
        for folder in (root / path).parents:
            if folder == root or not folder.is_dir() or any(folder.iterdir()):
                break
            folder.rmdir()


def plan(root: Path, name: str, volume: str) -> dict[str, str]:
    """What to write where, existing files with one entry more. Raises `ScaffoldError`."""
    if not NAME.fullmatch(name) or len(name) > LONGEST:
        raise ScaffoldError(
            f"名字 {name} 不行：小写字母开头，只用小写字母、数字和中间的 -，最多 {LONGEST} 个字符，例如 sum-of-squares"
        )
    if volume not in VOLUMES:
        raise ScaffoldError(f"没有叫 {volume} 的卷；有 {'、'.join(VOLUMES)}")
    module = name.replace("-", "_")
    if keyword.iskeyword(module) or keyword.issoftkeyword(module) or name in RESERVED.split():
        raise ScaffoldError(f"名字 {name} 是 Python 或 Rust 的保留字，不能当模块和 crate 的名字；换一个")
    crate = f"{cargo.WORKSPACE}/{name}"
    words = {"name": name, "module": module, "volume": volume}
    files = {
        f"docs/{volume}/{name}.md": PAGE,
        f"measure/experiments/{module}.py": EXPERIMENT,
        f"measure/programs/{module}.py": PYTHON,
        f"{crate}/Cargo.toml": CRATE,
        f"{crate}/src/main.rs": RUST,
        f"tests/test_{module}.py": TEST,
    }
    there = [path for path in (*files, crate) if (root / path).exists()]
    try:
        shared = {path: (root / path).read_text(encoding="utf-8") for path in (CONFIG, MANIFEST, LOCK)}
    except OSError as error:
        raise ScaffoldError(f"{error.filename}：{error.strerror}。在书的根目录里运行") from None
    problems = [f"{path} 已经有了" for path in there]
    if any(package["name"] == name for package in tomllib.loads(shared[LOCK])["package"]):
        problems.append(f"{LOCK} 里已经有叫 {name} 的 crate")
    if problems:
        raise ScaffoldError(*problems, "换一个名字")
    return {
        **{path: _filled(text, words) for path, text in files.items()},
        CONFIG: _with_page(shared[CONFIG], volume, name),
        MANIFEST: _with_member(shared[MANIFEST], name),
        LOCK: _with_package(shared[LOCK], name),
    }


MANIFEST = f"{cargo.WORKSPACE}/Cargo.toml"
LOCK = f"{cargo.WORKSPACE}/Cargo.lock"


def _filled(text: str, words: Mapping[str, str]) -> str:
    """Braces belong to the languages of the templates, so names stand in ⟨ ⟩."""
    return re.sub(r"⟨(\w+)⟩", lambda m: words[m[1]], text.removeprefix("\n"))


def _with_page(config: str, volume: str, name: str) -> str:
    """The page last in its volume's part of the navigation."""
    entries = list(re.finditer(rf"^( +- ){volume}/\S+\.md\n", config, re.MULTILINE))
    if not entries:
        raise ScaffoldError(f"{CONFIG} 的 nav 里没有 {volume}/ 的页面，不知道加在哪里")
    end = entries[-1].end()
    return f"{config[:end]}{entries[-1][1]}{volume}/{name}.md\n{config[end:]}"


def _with_member(manifest: str, name: str) -> str:
    found = re.search(r"^members = \[\n(?:.*\n)*?(?=\]\n)", manifest, re.MULTILINE)
    if found is None:
        raise ScaffoldError(f"{MANIFEST} 里没有一行一个的 members")
    return f'{manifest[: found.end()]}    "{name}",\n{manifest[found.end() :]}'


def _with_package(lock: str, name: str) -> str:
    """The entry that cargo itself would write, in its order: entries are sorted by name."""
    head, *entries = lock.split("\n[[package]]\n")
    entry = f'name = "{name}"\nversion = "0.1.0"\ndependencies = [\n "measure",\n]\n'
    place = sum(tomllib.loads(other)["name"] < name for other in entries)
    return "\n[[package]]\n".join([head, *entries[:place], entry, *entries[place:]])


PAGE = """
# 待写的标题（⟨name⟩）

!!! abstract "⟨volume⟩ 卷"
    主线位置：待写。

待写：这一页问什么，读者为什么要知道。

## 两边的代码

<div class="pair" markdown>
<div markdown>

```python title="measure/programs/⟨module⟩.py"
--8<-- "measure/programs/⟨module⟩.py:work"
```

</div>
<div markdown>

```rust title="rust_examples/⟨name⟩/src/main.rs"
--8<-- "rust_examples/⟨name⟩/src/main.rs:work"
```

</div>
</div>

## 结果

[= not_tested("还没有记录。运行 measure run ⟨name⟩，然后删掉这一行，去掉下面每行的注释记号") =]

[## [% set m = record("⟨name⟩") %] ##]
[## [% set python, rust = m.series("python", "sum"), m.series("rust", "sum") %] ##]
[## [= conditions(m) =] ##]

[## [= table(["谁", "最小值", "典型值"], ["Python", python.min, python.typical], ["Rust", rust.min, rust.typical]) =] ##]

[## [% claim python.typical > rust.typical %]Rust 用的时间短。[% elif python.typical < rust.typical %]Python 用的时间短。[% noise %]分不出快慢。[% endclaim %] ##]

## 小结

- 待写。
"""

EXPERIMENT = '''
"""How long does the same sum take in Python and in Rust? (Say here what the experiment is about.)"""

from __future__ import annotations

from measure.experiment import Case, Experiment, PythonProgram, RustProgram
from measure.record import Machine


def cases(machine: Machine) -> tuple[Case, ...]:
    """The same work in both languages."""
    return (
        Case("python", PythonProgram("⟨module⟩", packages=())),
        Case("rust", RustProgram("⟨name⟩", dependency="measure", features_of=())),
    )


EXPERIMENT = Experiment(
    id="⟨name⟩",
    question="待写：这个实验问什么？",
    cases=cases,
    rounds=5,
    timeout=60.0,
    estimate=5.0,
)
'''

PYTHON = '''
"""The sum of 1/k² for k from 1 to N, one term after the other. (Put the real work in its place.)

    python measure/programs/⟨module⟩.py

The result is checked before it is timed.
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path

if not __package__:  # started by its path: the package `measure` lies two folders up
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from measure.programs import process
from measure.protocol import Report, doubling, time_then

N = 100_000
REPS = 20
TOLERANCE = 1e-9


# --8<-- [start:work]
def work(n: int) -> float:
    """The sum of 1/k² for k from 1 to n."""
    total = 0.0
    for k in range(1, n + 1):
        total += 1.0 / (k * k)
    return total


# --8<-- [end:work]


def main() -> None:
    """Check, measure and report."""
    parser = argparse.ArgumentParser(description="1/k² 之和")
    process.add_options(parser)
    args = parser.parse_args()
    process.settle(args)
    reps = 3 if args.quick else REPS
    with Report("⟨name⟩-python", quick=args.quick) as report:
        total = work(N)
        error = abs(total - (math.pi**2 / 6 - 1 / N + 1 / (2 * N**2)))
        process.require(error < TOLERANCE, "1/k² 之和", error)
        timing = time_then(reps, lambda: work(N))
        report.series("sum", f"sum of {N} terms", timing, warm_up=1)
        report.fact("sum-doubling", doubling(reps, lambda: work(N), lambda last: last))
        report.fact("sum", total)
        report.fact("max-error", error)
        process.observed(report, timing.cores, (), dtype="float64")


if __name__ == "__main__":
    main()
'''

CRATE = """
[package]
name = "⟨name⟩"
version.workspace = true
edition.workspace = true
license.workspace = true
rust-version.workspace = true
publish.workspace = true

[dependencies]
measure.workspace = true

[lints]
workspace = true
"""

RUST = """
//! The sum of 1/k² for k from 1 to N, one term after the other. (Put the real work in its place.)
//!
//! The result is checked before it is timed.

use std::f64::consts::PI;
use std::hint::black_box;
use std::process::ExitCode;

use measure::{Report, Series, doubling, program, time};

const N: u32 = 100_000;
const REPS: usize = 20;
const TOLERANCE: f64 = 1e-9;

fn main() -> ExitCode {
    program(env!("CARGO_PKG_NAME"), &[], run)
}

// --8<-- [start:work]
/// The sum of 1/k² for k from 1 to n.
fn work(n: u32) -> f64 {
    (1..=n).map(|k| 1.0 / (f64::from(k) * f64::from(k))).sum()
}
// --8<-- [end:work]

fn run(report: &mut Report) -> Result<(), String> {
    let n = f64::from(N);
    let total = work(N);
    let error = (total - (PI * PI / 6.0 - 1.0 / n + 1.0 / (2.0 * n * n))).abs();
    if error.total_cmp(&TOLERANCE).is_gt() {
        return Err(format!("1/k² 之和差 {error:.3e}；不报时间"));
    }
    let timing = time(report.reps(REPS), || work(black_box(N)));
    report.series(Series::steady("sum", &format!("sum of {N} terms"), 1), &timing);
    report.fact("sum-doubling", doubling(report.reps(REPS), || work(black_box(N)), drop)?);
    report.fact("sum", total);
    report.fact("max-error", error);
    report.fact("cores-observed", timing.cores);
    report.fact("dtype", "f64");
    report.fact("device", "cpu");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::work;

    #[test]
    fn three_terms() {
        assert!((work(3) - 49.0 / 36.0).abs() < 1e-15);
    }
}
"""

TEST = '''
"""The experiment ⟨name⟩: its cases, and what its Python program computes."""

from __future__ import annotations

import pytest

from measure.experiments.⟨module⟩ import EXPERIMENT
from measure.programs.⟨module⟩ import work
from tests.records import LAB


def test_the_same_work_in_both_languages() -> None:
    assert [case.name for case in EXPERIMENT.cases(LAB)] == ["python", "rust"]


def test_three_terms() -> None:
    assert work(3) == pytest.approx(49 / 36, rel=1e-15)
'''
