"""Excerpts of a small crate, and of a Python package that is always here."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest

from measure.excerpt import ExcerptError, excerpt
from measure.experiment import SourceLines

needs_cargo = pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not here")


@needs_cargo
def test_of_a_crate(rust_project: Path) -> None:
    function = excerpt(SourceLines("run", "app", "dep", "src/lib.rs", "pub fn run", r"^\}"), rust_project)
    assert (function.first_line, function.text) == (3, 'pub fn run() {\n    println!("fast");\n}')
    assert function.sha256 == hashlib.sha256((rust_project / "rust_examples/dep/src/lib.rs").read_bytes()).hexdigest()
    assert (function.source, function.version, function.licence, function.path) == ("dep", "0.2.0", "MIT", "src/lib.rs")
    uses = excerpt(SourceLines("uses", "app", "dep", "src", 'feature = "fast"'), rust_project)
    assert uses.text == "src/lib.rs:2\nsrc/more.rs:1"
    lines = excerpt(SourceLines("lines", "app", "dep", "src/lib.rs", "cfg("), rust_project)
    assert lines.text == '#[cfg(feature = "fast")]\n#[cfg(feature = "fast")]'
    for wanted in (
        SourceLines("gone", "app", "dep", "src/lib.rs", "fn gone", r"^\}"),
        SourceLines("gone", "app", "dep", "src/gone.rs", "fn"),
        SourceLines("gone", "app", "nobody", "src/lib.rs", "fn"),
    ):
        with pytest.raises(ExcerptError, match="摘录 gone"):
            excerpt(wanted, rust_project)


def test_of_an_installed_package_without_shared_indentation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    information = tmp_path / "toy-3.1.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.4\nName: toy\nVersion: 3.1\nLicense: BSD\n", encoding="utf-8")
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "clock.py").write_text(
        'class Clock:\n    """\n    tick:\n      every second\n    """\n', encoding="utf-8"
    )
    monkeypatch.syspath_prepend(tmp_path)
    found = excerpt(SourceLines("tick", None, "toy", "clock.py", "tick:", "second"))
    assert (found.first_line, found.text) == (3, "tick:\n  every second")
    assert (found.source, found.version, found.licence) == ("toy", "3.1", "BSD")


def test_of_a_package_that_is_not_installed() -> None:
    with pytest.raises(ExcerptError, match=r"摘录 gone.*nobody-knows-it"):
        excerpt(SourceLines("gone", None, "nobody-knows-it", "a.py", "x"))
