"""Every case of the log is named by a test of its kind."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

KINDS = {
    "jinja_vs_code": "C01 C02 C03",
    "failure_handling": "C05 C08 C09 C11 C12 C13 C16",
    "cache_staleness": "C14 C23 C44 C45 C46",
    "timing_method": "C17 C18 C19 C21 C22 C24",
    "units_formatting": "C25 C27",
    "locale": "C28",
    "macros_rendering": "C30 C32",
    "security": "C33",
    "mermaid": "C34 C36",
    "cjk": "C37",
    "navigation": "C39",
    "windows_paths": "C40",
    "live_reload": "C41 C42",
    "determinism": "C43",
}
"""The cases of the log by kind, which is the name of the file."""


def test_there_are_35_cases() -> None:
    assert len({case for cases in KINDS.values() for case in cases.split()}) == 35


@pytest.mark.parametrize(("kind", "case"), [(kind, case) for kind, cases in KINDS.items() for case in cases.split()])
def test_a_test_names_the_case(kind: str, case: str) -> None:
    source = (Path(__file__).parent / f"test_{kind}.py").read_text(encoding="utf-8")
    names = [node.name for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    assert [name for name in names if name.startswith("test_") and case.lower() in name.split("_")]
