"""Everything that a build would refuse, found without a site: the real strict build, into a folder that is thrown away.

A second implementation of what a build looks at would drift from the first, and the one mistake it misses would be published.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from measure.macros import Mistake
from measure.store import Store


@dataclass(frozen=True)
class Checked:
    """What a strict build from the committed records would refuse, and how much was looked at."""

    problems: tuple[Mistake, ...]
    """Sorted, each once."""
    pages: int
    """How many source pages were rendered."""
    renderings: int
    """How many times: a page is rendered once for each machine that has its records."""


class _Log(logging.Handler):
    """What MkDocs and its plugins complain of."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())


def check(settings: Path, store: Store) -> Checked:
    """Build the book of this `mkdocs.yml` from the records of `store`, publish nothing, and say what is wrong with it."""
    from mkdocs.commands import build
    from mkdocs.config import load_config

    root, log, failure = settings.parent, _Log(), ""
    hooks: list[Any] = []
    logger = logging.getLogger("mkdocs")
    with TemporaryDirectory(prefix="measure-check-") as folder, _quietly(root, log, logger):
        try:
            config = load_config(str(settings), strict=True, site_dir=str(Path(folder) / "site"))
            config.extra["measure"] = config.extra.get("measure", {}) | {"records": str(store.root.absolute())}
            hooks = [hook for hook in config["hooks"].values() if hasattr(hook, "Build")]
            config.plugins.on_startup(command="build", dirty=False)
            try:
                build.build(config)
            finally:
                config.plugins.on_shutdown()
        except (Exception, SystemExit) as error:  # whatever stops it: a build would stop there too
            failure = str(error.__context__ or error)
    done = hooks[0].current if hooks else None
    found: set[Mistake] = set(done.mistakes) if done else set()
    said = [message for message in log.said if message != failure]  # MkDocs also logs what it raises
    if failure and not (found or said):
        said = [failure]
    found |= {Mistake(_file(message, settings.name), 1, message.strip().partition("\n")[0]) for message in said}
    rendered = tuple(done.needs) if done else ()
    pages = {done.original.get(name, name) for name in rendered} if done else set()
    return Checked(tuple(sorted(found)), len(pages), len(rendered))


@contextmanager
def _quietly(root: Path, log: logging.Handler, logger: logging.Logger) -> Iterator[None]:
    """In the project's folder, in mode `cached`, with what is printed kept back and the process as it was afterwards."""
    before = {name: os.environ.get(name) for name in ("MEASURE", "NO_MKDOCS_2_WARNING", "SOURCE_DATE_EPOCH")}
    os.environ |= {"MEASURE": "cached", "NO_MKDOCS_2_WARNING": "1"}
    logger.addHandler(log)
    try:
        with chdir(root), redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            yield
    finally:
        logger.removeHandler(log)
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})


def _file(message: str, settings: str) -> str:
    """The file a message of MkDocs is about: a page, where it names one."""
    found = re.search(r"'([^']+\.md)'", message)
    return f"docs/{found[1]}" if found else settings
