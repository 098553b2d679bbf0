"""Another day and another country for a child process, to show that what it makes depends on neither."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *now) {
    int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(clock, now);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += 1000L * 86400;
    return failed;
}
int gettimeofday(struct timeval *now, void *zone) {
    struct timespec t;
    int failed = clock_gettime(CLOCK_REALTIME, &t);
    now->tv_sec = t.tv_sec, now->tv_usec = t.tv_nsec / 1000;
    return failed;
}
time_t time(time_t *now) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return now ? *now = t.tv_sec : t.tv_sec;
}
"""
"""Python's own functions could be replaced in Python, but not those that a library calls from C or Rust."""


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="elsewhere-")


@functools.cache
def in_a_thousand_days() -> dict[str, str]:
    """Environment variables under which a process takes the clock to be that far ahead, and lives in Tokyo."""
    if not sys.platform.startswith("linux"):
        pytest.skip("别的系统上不能这样换掉进程的时钟")
    library = Path(_folder().name, "clock.so")
    command = ["cc", "-shared", "-fPIC", "-o", str(library), "-x", "c", "-", "-ldl"]
    subprocess.run(command, input=CLOCK, check=True, capture_output=True, text=True)
    env = {"LD_PRELOAD": str(library), "TZ": "Asia/Tokyo"}
    assert (
        float(_said("import time; print(time.time())", env)) - float(_said("import time; print(time.time())", {})) > 999 * 86400
    )
    return env


@functools.cache
def with_decimal_commas() -> dict[str, str]:
    """Environment variables of a locale in which 1/2 is 0,5. Made from the system's own source, as few systems have it ready."""
    folder = _folder().name
    made = subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", f"{folder}/de_DE.UTF-8"], capture_output=True, check=False)
    if made.returncode != 0:
        pytest.skip("做不出用小数逗号的 locale。Debian 上：apt-get install locales")
    env = {"LOCPATH": folder, "LC_ALL": "de_DE.UTF-8"}
    assert _said("import locale; locale.setlocale(locale.LC_ALL, ''); print(locale.format_string('%.1f', 0.5))", env) == "0,5"
    return env


ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
"""Environment variables under which Python takes text to be ASCII where nobody says otherwise."""


def _said(script: str, env: dict[str, str]) -> str:
    done = subprocess.run([sys.executable, "-c", script], env=os.environ | env, check=True, capture_output=True, text=True)
    return done.stdout.strip()
