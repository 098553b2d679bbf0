"""Imports point one way along the flow (DESIGN §2), and a build from committed records loads nothing heavy."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import measure

PACKAGE = Path(measure.__file__).parent
FLOW = ("experiment", "runner", "record", "store", "view", "macros")
PAGE_SIDE = (
    "view",
    "quantity",
    "claims",
    "evidence",
    "distribution",
    "comparison",
    "stats",
    "blocks",
    "late",
    "macros",
    "plots",
    "record_pages",
    "links",
    "publish",
    "handtyped",
    "words",
    "history",
    "reading",
    "diff",
)


def imports(name: str) -> set[str]:
    """The modules of `measure` that a module imports, at its top or inside a function."""
    found: set[str] = set()
    for node in ast.walk(ast.parse((PACKAGE / f"{name}.py").read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "measure":
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("measure."):
            found.add((node.module or "").split(".")[1])
        elif isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("measure.")}
    return found


def reached(name: str) -> set[str]:
    """All modules of `measure` that come with a module."""
    todo, seen = [name], set[str]()
    while todo:
        for other in imports(todo.pop()) - seen:
            seen.add(other)
            todo.append(other)
    return seen


def test_record_knows_nothing_of_the_rest() -> None:
    assert imports("record") == set()


@pytest.mark.parametrize(
    ("name", "forbidden"), [(name, FLOW[i + 1 :]) for i, name in enumerate(FLOW) if name in ("record", "store", "view")]
)
def test_what_is_left_does_not_know_what_is_right(name: str, forbidden: tuple[str, ...]) -> None:
    assert reached(name).isdisjoint(forbidden)


@pytest.mark.parametrize("name", ["experiment", "runner", "cargo", "machine", "staleness", "store"])
def test_the_measuring_side_knows_nothing_of_pages(name: str) -> None:
    assert reached(name).isdisjoint({*PAGE_SIDE, "hooks"} - {"stats"})


@pytest.mark.parametrize("name", PAGE_SIDE)
def test_nothing_right_of_the_store_can_start_a_run(name: str) -> None:
    assert reached(name).isdisjoint({"runner", "cargo", "cli", "experiment", "staleness", "hooks"})


@pytest.mark.parametrize("name", [path.stem for path in PACKAGE.glob("*.py")])
def test_no_circle(name: str) -> None:
    # hooks and cli share the progress display, inside functions; nothing else may reach itself
    assert name not in reached(name) or name in ("hooks", "cli")


def test_a_cached_build_loads_nothing_heavy() -> None:
    """Everything a page needs, and reading the committed record, without what is only there to measure or to draw."""
    script = (
        "import sys; from measure import hooks, macros, record_pages; from measure.store import Store; from measure.view import RecordView\n"
        "views = [RecordView(Store().load('cpu-matmul', m)) for m in Store().machines('cpu-matmul')]\n"
        "assert views and all(v.all_series() for v in views)\n"
        "print(*sorted({'torch', 'jax', 'numpy', 'scipy', 'vl_convert', 'measure.runner', 'measure.cli'} & sys.modules.keys()))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=PACKAGE.parent, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.returncode) == ("", 0), done.stderr
