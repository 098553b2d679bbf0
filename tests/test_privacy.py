"""Records tell what a machine is, and not whose it is, what it is called, or where things lie on it."""

from __future__ import annotations

import json
import platform
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from measure import privacy
from measure.experiment import load_all
from measure.privacy import scrub
from measure.staleness import NOMINAL
from measure.store import Store

ROOT = Path(__file__).parent.parent
HOME = "/home/ann"


@pytest.fixture
def ann(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine of a person, with names that are easily told from others."""
    monkeypatch.setattr(platform, "node", lambda: "Anns-Laptop.lab.example")
    monkeypatch.setattr(privacy, "_account", lambda: ("ann", HOME))
    for name in ("LOGNAME", "USERNAME", "SUDO_USER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("USER", "ann.lee")
    monkeypatch.setenv("HOME", HOME)
    monkeypatch.setenv("CARGO_TARGET_DIR", f"{HOME}/.cache/rust-in-everything/target")
    monkeypatch.setattr(sys, "prefix", f"{HOME}/book/.venv")


@pytest.mark.usefixtures("ann")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"cache: {HOME}/.cargo", "cache: ~/.cargo"),
        (f"在{HOME}下", "在~下"),
        (f"PATH={HOME}/bin:/usr/bin:{HOME}/.cargo/bin", "PATH=~/bin:/usr/bin:~/.cargo/bin"),
        (f"{HOME}/.cache/rust-in-everything/target/release/app", "<target>/release/app"),
        (f"{HOME}/book/.venv/bin/python", "<python>/bin/python"),
        (f"{HOME}/book/measure/x.py:3", "./measure/x.py:3"),
        (f"file://{HOME}/x", "file://~/x"),
        (f"'{HOME}', see {HOME}.", "'~', see ~."),
        (f"{tempfile.gettempdir()}/measure-ab_1x2y3/home", "<scratch>/home"),
        ("ann@Anns-Laptop.lab.example:", "<user>@<host>:"),
        ("host anns-laptop, 主机 ANNS-LAPTOP", "host <host>, 主机 <host>"),
        ("Anns-Laptop.local", "<host>.local"),
        ("ann.lee ann_1.log /var/mail/ann 用户ann的", "<user> <user>_1.log /var/mail/<user> 用户<user>的"),
        # what only looks like it
        ("annealing 3 ms, planned, Ann Arbor", "annealing 3 ms, planned, Ann Arbor"),
        ("s3/home/ann-b/x", "s3/home/<user>-b/x"),
        (f"{HOME}-old/x", "/home/<user>-old/x"),
        ("1024x1024 matmul, 20 runs: min 21.424ms median 22.005ms", "1024x1024 matmul, 20 runs: min 21.424ms median 22.005ms"),
        ("", ""),
    ],
)
def test_names_and_folders_go_and_the_rest_stays(text: str, shown: str) -> None:
    assert scrub(text, Path(HOME, "book")) == shown
    assert scrub(shown, Path(HOME, "book")) == shown


@pytest.mark.parametrize("name", ["root", "runner", "vm", "12345", ""])
def test_names_that_name_nobody_change_no_output(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A container's account, and a host called 12345, which would take measured numbers away."""
    monkeypatch.setattr(platform, "node", lambda: name)
    monkeypatch.setattr(privacy, "_account", lambda: (name, "/root"))
    monkeypatch.setenv("HOME", "/root")
    for variable in ("LOGNAME", "USER", "USERNAME", "SUDO_USER"):
        monkeypatch.setenv(variable, name)
    text = "root mean square 12345 ns, vm runner, /usr/root/x /rooted ./root"
    assert scrub(text, Path("/work")) == text
    assert scrub("/root/x", Path("/work")) == "~/x"


def test_the_account_may_be_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container that runs under a number."""
    import pwd

    def unknown(number: int) -> pwd.struct_passwd:
        raise KeyError(number)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    monkeypatch.setenv("HOME", HOME)
    assert privacy._account() == ("", "")
    assert scrub(f"{HOME}/x", Path("/work")) == "~/x"


def strings(value: Any, where: str = "") -> Iterator[tuple[str, str]]:
    """(place, text) of every text of a JSON document, keys too; source code of others, and our own repository's names, left out."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if where.endswith(".excerpts[]") and key == "text":
                continue
            yield where, key
            yield from strings(inner, f"{where}.{key}")
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner, f"{where}[]")
    elif isinstance(value, str):
        yield where, value


PRIVATE = re.compile(
    r"(?<![\w.~>*/-])/(?!/)[\w.-]+/"  # an absolute path
    r"|[A-Za-z]:\\|\\\\\w+\\|file:/"
    r"|\b\w+@[\w-]+(\.[\w-]+)*:"  # user@host:
    r"|\b(10|127|172\.(1[6-9]|2\d|3[01])|192\.168)(\.\d{1,3}){2,3}\b"  # an address in a private net; others look like versions
    r"|\b([0-9a-f]{2}:){5}[0-9a-f]{2}\b",
    re.IGNORECASE,
)
ENVIRONMENT = {
    "LANG": r"C\.UTF-8",
    "LC_ALL": r"C\.UTF-8",
    "PYTHONUTF8": "1",
    "RAYON_NUM_THREADS": r"\d+",
    "OPENBLAS_NUM_THREADS": r"\d+",
    "XLA_FLAGS": r"--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "XDG_RUNTIME_DIR": "/tmp",  # noqa: S108 - nothing is put there
}
"""All that a record may tell of an environment. A new experiment that sets more says so here."""


@pytest.mark.parametrize("path", list(Store().files()), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_committed_records_tell_of_nobody(path: Path) -> None:
    record = json.loads(path.read_text(encoding="utf-8"))
    found = [(where, text) for where, text in strings(record) if PRIVATE.search(text)]
    assert not found
    told = {(name, value) for run in record.get("runs", ()) for name, value in run["env"].items()}
    assert not {(name, value) for name, value in told if not re.fullmatch(ENVIRONMENT.get(name, r"(?!)"), value)}
    ours = "".join(
        (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "pyproject.toml", "rust_examples/Cargo.toml")
    )
    names = [name for name in (*privacy._hosts(), *privacy._users()) if name not in ours]
    assert not [text for _, text in strings(record) for name in names if re.search(privacy._word(name), text)]


@pytest.mark.parametrize(
    "text",
    [
        "see /home/ann/x",
        "cwd=/Users/ann/book",
        '"/tmp/measure-abc/x"',
        r"C:\Users\ann",
        r"\\server\share",
        "file:///x",
        "ann@laptop:~$",
        "http://192.168.1.7:8000",
        "aa:bb:cc:dd:ee:ff",
    ],
)
def test_what_is_looked_for_would_be_found(text: str) -> None:
    assert PRIVATE.search(text)


@pytest.mark.parametrize("name", list(load_all()))
def test_experiments_set_nothing_that_tells_of_a_machine(name: str) -> None:
    apple = NOMINAL.model_copy(update={"cpu": "Apple M2 Max", "virtual": False, "system": "macOS arm64"})
    for machine in (NOMINAL, apple):
        for case in load_all()[name].cases(machine):
            assert not [text for text in (*case.args, *case.env.values()) if PRIVATE.search(text)]
            assert not {(k, v) for k, v in case.env.items() if not re.fullmatch(ENVIRONMENT.get(k, r"(?!)"), v)}
