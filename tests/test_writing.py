"""The Chinese texts keep one space between Chinese and Latin letters or digits, and full-width punctuation."""

from pathlib import Path

import autocorrect_py
import pytest

ROOT = Path(__file__).parent.parent
TEXTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "mkdocs.yml", ".github/pull_request_template.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / ".github").rglob("*.yml")),
]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_autocorrect_has_nothing_to_say(path: Path) -> None:
    found = autocorrect_py.lint_for(path.read_text(encoding="utf-8"), {".md": "markdown", ".yml": "yaml"}[path.suffix])
    name = path.relative_to(ROOT).as_posix()
    assert not [f"{name}:{line.line}：应写成 {line.new}" for line in found.lines]
