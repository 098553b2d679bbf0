"""What a record must not tell: whose machine it was, what it is called there, and where things lie on it."""

from __future__ import annotations

import os
import platform
import re
import sys
import tempfile
from pathlib import Path

from measure import cargo

SCRATCH = "measure-"
"""How the name of a run's own folder begins, in the system's folder for such."""

NOBODY = frozenset({"admin", "debian", "localhost", "nvidia", "root", "runner", "ubuntu", "user"})
"""Accounts and hosts that come with a system. They name nobody, and programs print these words."""


def scrub(text: str, root: Path = cargo.ROOT) -> str:
    """`text` without folders, host and user of this machine; what stood there can still be told.

    A name of fewer than three characters, or of digits alone, is left: it says little, and may well be a measured value.
    """
    here = "|".join(map(re.escape, _both(Path(tempfile.gettempdir()))))
    text = re.sub(rf"(?:{here})/{SCRATCH}[a-z0-9_]{{8}}", "<scratch>", text)
    folders = _folders(root)
    longest_first = "|".join(map(re.escape, sorted(folders, key=len, reverse=True)))
    # not inside another path or name: with the home /root, `usr/root` and `/rooted` stay
    text = re.sub(rf"(?<![\w.~-])(?:{longest_first})(?![\w-])", lambda found: folders[found[0]], text, flags=re.ASCII)
    for name in _hosts():
        text = re.sub(_word(name), "<host>", text, flags=re.IGNORECASE)
    for name in _users():
        text = re.sub(_word(name), "<user>", text)
    return text


def _folders(root: Path) -> dict[str, str]:
    """Folders of this machine, and what is shown instead."""
    _, home = _account()
    named = ((Path(home), "~"), (Path.home(), "~"), (root, "."), (cargo.target_dir(), "<target>"), (Path(sys.prefix), "<python>"))
    return {text: shown for folder, shown in named if len(folder.parts) > 1 for text in _both(folder)}


def _both(folder: Path) -> set[str]:
    """A folder as it is named, and as it is without the links on the way."""
    return {str(folder), str(folder.resolve())}


def _account() -> tuple[str, str]:
    """Name and home of who runs this, as the system has them; empty where it has none."""
    try:
        import pwd

        entry = pwd.getpwuid(os.getuid())
    except (ImportError, KeyError):
        return "", ""
    return entry.pw_name, entry.pw_dir


def _hosts() -> list[str]:
    """The host with its domain, and without."""
    whole = platform.node()
    return [name for name in (whole, whole.partition(".")[0]) if _tells(name)]


def _users() -> list[str]:
    """Who runs this, by the system and by the environment; the longest first, as one may be part of another."""
    names = {_account()[0], *(os.environ.get(name, "") for name in ("LOGNAME", "USER", "USERNAME", "SUDO_USER"))}
    return sorted(filter(_tells, names), key=len, reverse=True)


def _tells(name: str) -> bool:
    return len(name) > 2 and not name.isdecimal() and name.lower() not in NOBODY


def _word(name: str) -> str:
    """A pattern for the name where it is no part of a longer word of Latin letters; Chinese text may touch it."""
    return rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])"
