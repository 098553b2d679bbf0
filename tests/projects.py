"""Small projects: a copy of the code that measures and builds, with one experiment whose program takes an instant, and a book of its own."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from measure.record import Measured
from measure.store import load_file

ROOT = Path(__file__).parent.parent
RUNS = 6
"""Processes of one measurement: two cases, three rounds."""

EXPERIMENT = """
from measure.experiment import Case, Experiment, PythonProgram

CASES = tuple(Case(name, PythonProgram("fake", packages=())) for name in ("a", "b"))
EXPERIMENT = Experiment("fake", "?", lambda machine: CASES, rounds=3, timeout=60, estimate=1)
"""
PROGRAM = """
import json
import os
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
ME = os.urandom(8).hex()


def log(what):
    with (ROOT / "log").open("a") as file:
        file.write(f"{ME} {what}\\n")


log("begin")
until = time.monotonic() + (30 if (ROOT / "hang").exists() else 0.05)
while time.monotonic() < until:
    log("goes on")
    time.sleep(0.005)
if (ROOT / "fill").exists():
    try:
        with open((ROOT / "fill").read_text(), "wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
    except OSError:
        pass
series = {"type": "series", "metric": "work", "phase": "steady", "scope": "ready", "unit": "ns", "samples": [10**6 + i for i in range(500)]}
lines = [{"type": "header", "protocol": 1, "program": "fake", "quick": False}, series, {"type": "end", "lines": 2}]
Path(os.environ["MEASURE_OUT"]).write_text("".join(json.dumps(line) + "\\n" for line in lines))
log("end")
"""
PAGE = """[% set m = record("fake") %]
# 书

第 VERSION 版：[= m.series("a", "work").typical =]。
"""
CONFIG = f"""
INHERIT: {ROOT / "mkdocs.yml"}
site_name: 小书
nav:
hooks: [measure/hooks.py]
extra_css: []
extra_javascript: []
theme: {{custom_dir: {ROOT / "theme"}}}
extra: {{generator: false, measure: {{reference: lab}}}}
plugins:
  - macros: {{j2_variable_start_string: "[=", j2_variable_end_string: "=]", j2_block_start_string: "[%", j2_block_end_string: "%]"}}
"""


class Project:
    """A copy of the code that measures and builds, with an experiment and a book of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def found(self) -> None:
        """Make it, up to a first record and a first site."""
        unwanted = shutil.ignore_patterns("records", "experiments", "programs", "__pycache__")
        shutil.copytree(ROOT / "measure", self.root / "measure", ignore=unwanted)
        for module, was, now in (
            ("machine", "WINDOW = 0.2", "WINDOW = 0.01"),
            ("runner", "QUIET_LIMIT = 20.0", "QUIET_LIMIT = 0.0"),
        ):
            file = self.root / "measure" / f"{module}.py"
            text = file.read_text(encoding="utf-8")
            assert was in text
            file.write_text(text.replace(was, now), encoding="utf-8")
        files = {
            "measure/experiments/__init__.py": "",
            "measure/experiments/fake.py": EXPERIMENT,
            "measure/programs/__init__.py": "",
            "measure/programs/fake.py": PROGRAM,
            "requirements/live.txt": "",
            "mkdocs.yml": CONFIG,
            "docs/about/other.md": "# 别的\n",
            "log": "",
            "tmp/.keep": "",
        }
        for name, content in files.items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(content, encoding="utf-8")
        self.version(1)
        self.well("mkdocs", "build", mode="auto")

    @property
    def record(self) -> Path:
        return self.root / "measure/records/measured/lab/fake.json"

    @property
    def site(self) -> Path:
        return self.root / "site"

    def version(self, number: int) -> None:
        """Another book."""
        (self.root / "docs/index.md").write_text(PAGE.replace("VERSION", str(number)), encoding="utf-8")

    def edit_program(self) -> None:
        """Another program: the record is stale from now on."""
        with (self.root / "measure/programs/fake.py").open("a", encoding="utf-8") as file:
            file.write(f"# {os.urandom(4).hex()}\n")

    def start(self, *command: str, mode: str = "cached", limit: Callable[[], None] | None = None) -> subprocess.Popen[str]:
        """`measure run …` or `mkdocs build …`."""
        env = {
            "PATH": os.environ["PATH"], "HOME": str(self.root), "PYTHONPATH": str(self.root), "TMPDIR": str(self.root / "tmp"),
            "XDG_CACHE_HOME": str(self.root / "cache"), "MEASURE_MACHINE": "lab", "MEASURE": mode, "NO_MKDOCS_2_WARNING": "1",
        }  # fmt: skip
        module = {"measure": "measure.cli", "mkdocs": "mkdocs"}[command[0]]
        return subprocess.Popen(
            [sys.executable, "-m", module, *command[1:]], cwd=self.root, env=env, text=True, encoding="utf-8",
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=limit,
        )  # fmt: skip

    def well(self, *command: str, mode: str = "cached") -> float:
        """Run it to its end, which has to be a good one; the seconds it took."""
        begin = time.monotonic()
        good(self.start(*command, mode=mode))
        return time.monotonic() - begin

    def whole_record(self) -> Measured:
        """The record, of which nothing is missing."""
        record = load_file(self.record)
        assert isinstance(record, Measured)
        assert [len(run.series[0].samples) for run in record.runs] == [500] * RUNS
        return record

    def whole_site(self) -> None:
        """The site, of which nothing is missing, and whose numbers are those of the record beside them."""
        pages = [file for file in self.site.rglob("*") if file.suffix in (".html", ".xml")]
        for name in ("index.html", "about/other/index.html", "records/lab/fake/index.html", "404.html"):
            assert self.site / name in pages
        assert all(file.read_text(encoding="utf-8").rstrip().endswith(("</html>", "</urlset>")) for file in pages)
        record = load_file(Path(shutil.copy(self.site / "records/lab/fake.json", ensure(self.root / "lab") / "fake.json")))
        assert isinstance(record, Measured)
        typical = statistics.median(statistics.median(run.series[0].samples) for run in record.runs if run.case == "a")
        html = (self.site / "index.html").read_text(encoding="utf-8")
        assert re.findall(r'<data class="measured" value="([^"]*)"', html) == [repr(typical)]
        assert record.finished in (self.site / "records/lab/fake/index.html").read_text(encoding="utf-8")

    def nothing_left_over(self) -> None:
        """After a good end there is no trace of those that came to a bad one."""
        assert [path.name for path in self.record.parent.iterdir()] == ["fake.json"]
        assert [path.name for path in (self.root / "tmp").iterdir()] == [".keep"]
        assert not (self.root / "cache/rust-in-everything/running").is_symlink()
        assert {path.name for path in self.root.iterdir() if path.name.startswith(".site")} <= {".site.lock"}

    def never_two_at_once(self) -> int:
        """Whether each process has the log to itself from its first line to its last; how many there were."""
        lines = (self.root / "log").read_text(encoding="utf-8").splitlines()
        blocks = [who for who, _ in itertools.groupby(line.split()[0] for line in lines)]
        assert len(blocks) == len(set(blocks)), "measurements overlap"
        return len(blocks)


def ensure(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    return folder


def good(process: subprocess.Popen[str]) -> None:
    said, _ = process.communicate(timeout=300)
    assert process.returncode == 0, said


def refused(process: subprocess.Popen[str]) -> str:
    """What a command says that ends with 1: something for people."""
    said, _ = process.communicate(timeout=300)
    assert process.returncode == 1, said
    assert "Traceback" not in said, said
    return said
