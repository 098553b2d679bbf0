"""What a pull request might try with a page: to read other files, to run a program, to reach somebody."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from measure.store import Store
from tests.books import OTHER, SETS, build, change, contents, good, mistakes, of, page, write
from tests.records import measured, run
from tests.test_grammar import BOMBS, ESCAPES


def test_every_escape_is_refused_by_a_build_with_file_and_line(tmp_path: Path) -> None:
    """All in one list; so are pages that would keep the build busy."""
    sources = [*ESCAPES, *BOMBS.values()]
    book = write(tmp_path / "book", {f"p{k}.md": f"---\ntags: [x]\n---\n{SETS}# 坏\n\n{s}\n" for k, s in enumerate(sources)})
    found = {m.split("：")[0] for m in mistakes(book)}
    assert found >= {f"docs/p{k}.md:9" for k in range(len(ESCAPES))}
    assert {place.split(":")[0] for place in found} == {f"docs/p{k}.md" for k in range(len(sources))}


@pytest.fixture
def secrets(book: Path) -> Path:
    """A book beside which, and in which, lie files that are nobody's business."""
    outside = book.parent / "secret.txt"
    outside.write_text("SECRET outside\n", encoding="utf-8")
    files = {
        ".git/config": "SECRET git\n",
        ".env": "SECRET env\n",
        "docs/.hidden": "SECRET hidden\n",
        "rust_examples/target/x.rs": "SECRET build\n",
        "rust_examples/ok.rs": "fn shown() {}\n",
        "rust_examples/nested.rs": '--8<-- "mkdocs.yml"\n',
        "rust_examples/far.rs": '    --8<-- "../secret.txt"\n',
        "rust_examples/block.rs": "--8<--\nmkdocs.yml\n--8<--\n",
    }
    for name, text in files.items():
        (book / name).parent.mkdir(parents=True, exist_ok=True)
        (book / name).write_text(text, encoding="utf-8")
    (book / "rust_examples/link.rs").symlink_to(outside)
    (book / "rust_examples/folder").symlink_to(book.parent)
    (book / "docs/link.txt").symlink_to("/etc/hostname")
    return book


PATHS = [
    "../secret.txt", "rust_examples/../../secret.txt", "rust_examples/link.rs", "rust_examples/folder/secret.txt", "docs/link.txt", "/etc/passwd",
    "/etc/passwd:1:2", "file:///etc/passwd", "https://example.org/x", "http://127.0.0.1/x", "mkdocs.yml", ".git/config", ".env", "docs/.hidden",
    "rust_examples/target/x.rs", "rust_examples/nested.rs", "rust_examples/far.rs", "rust_examples/block.rs", "docs/../mkdocs.yml", "docs", "", "~/.bashrc",
    "measure/../.env", "./.env",
]  # fmt: skip


def test_snippets_stay_in_their_folders(secrets: Path) -> None:
    pages = {f"p{k}.md": f'# 页\n\n```\n--8<-- "{path}"\n```\n' for k, path in enumerate(PATHS)}
    made = [
        '[% if true %]--8<-- "mkdocs.yml"[% endif %]',
        '--8[% if true %]<-- "mkdocs.yml"[% endif %]',
        '--8<-- [%- if true %] "mkdocs.yml"[% endif %]',
        '[% raw %]--8<-- "mkdocs.yml"[% endraw %]',
    ]
    change(secrets, pages | {f"q{k}.md": f"# 页\n\n{source}\n" for k, source in enumerate(made)})
    found = mistakes(secrets)
    empty = PATHS.index("")
    assert {m.split("：")[0] for m in found} >= {f"docs/p{k}.md:4" for k in range(len(PATHS)) if k != empty}
    assert {m.split(":")[0] for m in found} >= {f"docs/q{k}.md" for k in range(len(made))}
    change(
        secrets,
        {f"p{k}.md": "# 页\n" for k in range(len(PATHS)) if k != empty} | {f"q{k}.md": "# 页\n" for k in range(len(made))},
    )
    change(secrets, {"ok.md": '# 页\n\n```\n--8<-- "rust_examples/ok.rs"\n```\n'})
    site = good(secrets)
    assert "shown" in page(site, "ok")
    assert not [name for name, content in contents(site).items() if b"SECRET" in content and name != ".hidden"]


def test_a_snippet_line_in_output_is_text(secrets: Path) -> None:
    line = '--8<-- "mkdocs.yml"'
    Store(secrets / "records").save(of(measured(run("slow", 1, (0.04,), stdout=f"{line}\n"), run("fast", 1, (0.01,)))))
    change(secrets, {"b.md": f'{SETS}# 乙\n\n[= output(m, "slow") =]\n\n## 计时方法\n'})
    (secrets / "records/measured/box/cpu-matmul.json").unlink()
    assert "--8&lt;-- &quot;mkdocs.yml&quot;" in page(good(secrets), "b")


GUARD = """
import os, socket, subprocess, sys

def guard(event, args):
    if event in ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty", "pty.spawn", "ctypes.dlopen.x"):
        told(event, args)
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "urllib.Request", "http.client.connect", "ftplib.connect"):
        told(event, args)

def told(event, args):
    with open(os.environ["GUARD"], "a") as log:
        log.write(f"{event} {args}\\n")
    os._exit(99)

sys.addaudithook(guard)
"""


def test_a_cached_build_runs_no_program_and_reaches_nobody(tmp_path: Path) -> None:
    """Whatever it shows: plots, output, excerpts, snippets, search; the interpreter itself ends the build where one is tried."""
    guard = tmp_path / "guard/sitecustomize.py"
    guard.parent.mkdir()
    guard.write_text(GUARD, encoding="utf-8")
    said = "[% claim slow.typical > fast.typical %]慢。[% elif fast.typical > slow.typical %]快。[% endclaim %]"
    body = f'[= bars("图", ["慢", slow.min]) =]\n\n[= output(m, "slow") =]\n\n[= versions(m) =]\n\n{said}\n'
    book = write(tmp_path / "book", {"a.md": f"{SETS}# 甲\n\n{body}", "b.md": OTHER})
    log = tmp_path / "log"
    root = Path(__file__).parents[2]
    path = os.pathsep.join([str(guard.parent), str(root)])
    done = build(book, "--strict", PYTHONPATH=path, GUARD=str(log), BOOK_SEARCH="true")
    assert not log.exists(), log.read_text(encoding="utf-8")
    assert done.returncode == 0, done.stderr
    assert "<svg" in page(book / "site", "a")
