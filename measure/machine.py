"""The machine a run happens on: what it is, how busy it is, and the lock that keeps measurements from overlapping.

Nothing here reads a host name, a user name or a path into a result.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import psutil
from pydantic import ValidationError

from measure.record import Conditions, Machine

QUIET = 0.1
"""Up to this share of all cores in use by others a machine counts as quiet."""

WINDOW = 0.2
"""Seconds over which the busy share is taken."""

KERNEL_FLAGS = frozenset({
    "sse4_2", "avx", "avx2", "fma", "f16c", "avx_vnni",
    "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx512_vnni", "avx512_bf16", "avx512_fp16",
    "amx_tile", "amx_bf16", "amx_int8",
    "asimd", "asimdhp", "asimddp", "fphp", "sve", "sve2", "bf16", "i8mm", "sme", "sme2",
    "feat_fp16", "feat_dotprod", "feat_bf16", "feat_i8mm", "feat_sme", "feat_sme2",
})  # fmt: skip
"""Instruction sets numerical libraries choose their kernels by. The rest of a CPU's flags would only make fingerprints fragile."""

FAMILIES = ("epyc", "threadripper", "ryzen", "xeon", "core", "celeron", "pentium", "atom", "neoverse", "graviton")


class MachineError(Exception):
    """This machine cannot be named or described. The message says how to cure it."""


def cache_dir() -> Path:
    """The user's cache folder of this project: builds and locks, outside any checkout."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rust-in-everything"


def this_machine(known: Callable[[str], dict[str, object] | None] = lambda _: None) -> Machine:
    """The machine at hand. Its label comes from MEASURE_MACHINE, else from system, CPU family and number of cores.

    Two machines can share those. Where `known` (a label to the machine whose records lie under it) says that another one was
    there first, a few digits of the fingerprint set this one apart. A label that was given is never changed.
    """
    cpu, flags, efficiency, virtual = _darwin() if sys.platform == "darwin" else _linux()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    system = {"Darwin": "macOS"}.get(platform.system(), platform.system())
    given = os.environ.get("MEASURE_MACHINE")
    label = given or f"{system.lower()}-{family(cpu)}-{cores}c"
    try:
        here = Machine(
            label=label,
            cpu=cpu,
            flags=tuple(sorted(flags & KERNEL_FLAGS)),
            cores=cores,
            efficiency_cores=efficiency,
            memory_gib=round(psutil.virtual_memory().total / 2**30),
            system=f"{system} {platform.machine()}",  # without a version: an update of the system is not another machine
            virtual=virtual,
        )
    except ValidationError:
        raise MachineError(f"机器名 {label!r} 不能用：只能有小写字母、数字和连字符，例如 MEASURE_MACHINE=linux-epyc-2c") from None
    if given or known(label) in (None, here.model_dump()):
        return here
    fingerprint = hashlib.sha256(here.model_dump_json().encode()).hexdigest()
    return here.model_copy(update={"label": f"{label}-{fingerprint[:4]}"})


def family(cpu: str) -> str:
    """The word of a CPU's name that tells families apart: `epyc`, `xeon`, `m2-max`."""
    words = re.findall(r"[a-z0-9]+", re.sub(r"\((r|tm)\)", " ", cpu.lower()))
    if words[:1] == ["apple"]:
        return "-".join(words[1:]) or "apple"
    return next((name for name in FAMILIES if name in words), words[0] if words else "cpu")


def _linux() -> tuple[str, set[str], int, bool | None]:
    """Name, flags, efficiency cores and virtual, from what the kernel says of the first CPU."""
    try:
        first = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").split("\n\n")[0]
    except OSError:
        first = ""
    info = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in first.splitlines())}
    flags = set((info.get("flags") or info.get("Features") or "").split())
    cpu = info.get("model name") or info.get("Model") or platform.processor() or platform.machine()
    virtual = "hypervisor" in flags if "flags" in info else None  # other architectures have no such flag
    try:
        efficiency = _count(Path("/sys/devices/cpu_atom/cpus").read_text(encoding="ascii"))
    except OSError:
        efficiency = 0
    return cpu, flags, efficiency, virtual


def _count(ranges: str) -> int:
    """How many CPUs a list of the kernel's form `0-3,8` names."""
    spans = [part.split("-") for part in ranges.strip().split(",") if part]
    return sum(int(span[-1]) - int(span[0]) + 1 for span in spans)


def _darwin() -> tuple[str, set[str], int, bool | None]:
    """The same as `_linux`, from sysctl."""
    cpu = _sysctl("machdep.cpu.brand_string") or platform.processor()
    words = f"{_sysctl('machdep.cpu.features')} {_sysctl('machdep.cpu.leaf7_features')}".lower()
    flags = {word.replace("avx1.0", "avx").replace(".", "_") for word in words.split()}
    for name in (flag for flag in KERNEL_FLAGS if flag.startswith("feat_")):
        if _sysctl(f"hw.optional.arm.{name.upper().replace('DOTPROD', 'DotProd')}") == "1":
            flags.add(name)
    efficiency = int(_sysctl("hw.perflevel1.logicalcpu") or 0)
    return cpu, flags, efficiency, {"1": True, "0": False}.get(_sysctl("kern.hv_vmm_present"))


def _sysctl(name: str) -> str:
    """One value of the kernel, empty where it has none of this name."""
    done = subprocess.run(["/usr/sbin/sysctl", "-n", name], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def now() -> str:
    """UTC to the second, ISO 8601."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def conditions() -> Conditions:
    """How busy the machine is right now. Takes `WINDOW` seconds."""
    at = now()
    busy = psutil.cpu_percent(interval=WINDOW) / 100
    load = round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None
    return Conditions(at=at, load=load, busy=round(min(busy, 1.0), 3))


def wait_until_quiet(limit_s: float) -> Conditions:
    """Wait until others leave the cores alone, `limit_s` seconds at most; the conditions then found, quiet or not."""
    deadline = time.monotonic() + limit_s
    while True:
        found = conditions()
        if found.busy <= QUIET or time.monotonic() >= deadline:
            return found
        time.sleep(1.0)


@contextmanager
def exclusive(on_wait: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Be the only measurement of this user on this machine; `on_wait` is called once if another has to end first."""
    with locked(cache_dir() / "measure.lock", on_wait):
        yield


@contextmanager
def locked(file: Path, on_wait: Callable[[], None]) -> Iterator[None]:
    """Hold the lock of this name; `on_wait` is called once if somebody else holds it.

    The operating system holds it, so a crash sets it free.
    """
    from filelock import FileLock, Timeout

    file.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(file)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        on_wait()
        lock.acquire(poll_interval=0.5)  # seldom: what the other one measures is not to be disturbed
    try:
        yield
    finally:
        lock.release()
