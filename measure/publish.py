"""The site is built aside and swapped in at the end: readers see the old site or the new one, whole."""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
from pathlib import Path

AT_FDCWD = -100
EXCHANGE = 2  # RENAME_EXCHANGE of Linux and RENAME_SWAP of macOS have the same value


def aside(site: Path) -> Path:
    """Where the next site is built: beside the old one, so that a rename is enough."""
    return site.with_name(f".{site.name}.next")


def retired(site: Path) -> Path:
    """Where the old site lies for the moment between two renames."""
    return site.with_name(f".{site.name}.old")


def lock(site: Path) -> Path:
    """The file that is locked while a build has the folder aside to itself."""
    return site.with_name(f".{site.name}.lock")


def recover(site: Path) -> None:
    """Put right what an interrupted build left: bring a retired site back if none is in place, and remove leftovers."""
    if retired(site).exists() and not site.exists():
        retired(site).rename(site)
    for leftover in (retired(site), aside(site)):
        if leftover.exists():
            shutil.rmtree(leftover)


def swap_in(site: Path) -> None:
    """Make the folder aside the site, in one step where the system can exchange two folders; else the old one is back if that fails."""
    new = aside(site)
    try:
        if not site.exists():
            new.rename(site)
        elif not exchange(new, site):
            site.rename(retired(site))
            new.rename(site)
    finally:
        recover(site)


def exchange(a: Path, b: Path) -> bool:
    """Let two folders change places in one step. False where the system or the file system cannot; then nothing has changed."""
    names = os.fsencode(a), os.fsencode(b)
    try:
        libc = ctypes.CDLL(None)
        if sys.platform == "darwin":
            return bool(libc.renamex_np(names[0], names[1], EXCHANGE) == 0)
        return bool(libc.renameat2(AT_FDCWD, names[0], AT_FDCWD, names[1], EXCHANGE) == 0)
    except (AttributeError, OSError, TypeError):
        return False
