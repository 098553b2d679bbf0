"""Building the Rust programs, and what can be said of a build: features, compiler, size, source of the crates in it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from measure.experiment import RustProgram
from measure.machine import cache_dir
from measure.record import Build

ROOT = Path(__file__).parent.parent
WORKSPACE = "rust_examples"
Table = dict[str, Any]
"""A table of a TOML or JSON document."""


class CargoError(Exception):
    """A build, or a question to cargo, that failed. The message names the package and the cure."""


def missing() -> str | None:
    """Why nothing can be built here, or None."""
    if shutil.which("cargo") is None:
        return "没有 cargo。安装 Rust（https://rustup.rs）后再运行"
    return None


def target_dir() -> Path:
    """Where builds go: CARGO_TARGET_DIR, else the user's cache, so that a fresh clone reuses what is built."""
    return Path(os.environ.get("CARGO_TARGET_DIR") or cache_dir() / "target").absolute()


def environment() -> dict[str, str]:
    """The caller's environment without what changes the code cargo makes: flags, profiles, wrappers.

    An empty CARGO_ENCODED_RUSTFLAGS also puts flags in the user's own cargo configuration out of force.
    """
    changing = re.compile(r"RUSTFLAGS$|^RUSTC|^CARGO_(BUILD|PROFILE|UNSTABLE|TARGET)_")
    kept = {name: value for name, value in os.environ.items() if not changing.search(name)}
    return kept | {"CARGO_ENCODED_RUSTFLAGS": "", "CARGO_TERM_COLOR": "never", "CARGO_TARGET_DIR": str(target_dir())}


def _ask(command: list[str], root: Path) -> str:
    """Stdout of a command of the Rust toolchain, run in the workspace. Raises `CargoError`."""
    try:
        done = subprocess.run(
            command,
            cwd=root / WORKSPACE,
            env=environment(),
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise CargoError(f"{command[0]} 启动不了（{error.strerror}）。{missing() or '检查 Rust 的安装'}") from None
    if done.returncode != 0:
        raise CargoError(f"{' '.join(command[:2])} 失败（退出码 {done.returncode}）：\n{_tail(done.stderr)}")
    return done.stdout


def _tail(text: str, lines: int = 20) -> str:
    return "\n".join(text.strip().splitlines()[-lines:])


@cache
def _metadata(root: Path) -> Table:
    return dict(json.loads(_ask(["cargo", "metadata", "--locked", "--format-version", "1"], root)))


def compiler(root: Path = ROOT) -> dict[str, str]:
    """What `rustc -vV` says, by key, with the whole first line under `rustc`."""
    first, *rest = _ask(["rustc", "-vV"], root).splitlines()
    return {"rustc": first} | dict(line.split(": ", 1) for line in rest if ": " in line)


def target(root: Path = ROOT) -> str:
    """Target triple and CPU of a build without flags, such as `x86_64-unknown-linux-gnu x86-64`."""
    listing = _ask(["rustc", "--print", "target-cpus"], root)
    found = re.search(r"^\s*(\S+)\s+- This is the default target CPU", listing, re.MULTILINE)
    return f"{compiler(root)['host']} {found[1] if found else 'generic'}"


def _too_old(closure: list[Table], root: Path) -> bool:
    """Whether a crate declares a newer rustc than this one. Cargo would refuse; the declaration is often only a policy."""
    wanted = {(p["name"], p["version"]): p.get("rust_version") for p in _metadata(root)["packages"]}
    have = version(compiler(root)["release"])
    return any(version(wanted.get((p["name"], p["version"])) or "0") > have for p in closure)


def version(text: str) -> tuple[int, ...]:
    """The numbers of a version, to be compared: `1.95.0-nightly` is (1, 95, 0)."""
    return tuple(int(number) for number in re.findall(r"\d+", text.split("-")[0]))


def _chosen(features: tuple[str, ...] | None) -> list[str]:
    """The arguments by which cargo is told the features of a package."""
    return [] if features is None else ["--no-default-features", "--features", ",".join(features)]


def build(
    package: str, on_crate: Callable[[str], None] = lambda _: None, root: Path = ROOT, features: tuple[str, ...] | None = None
) -> Path:
    """Build one package of the workspace in release mode; its binary. `on_crate` hears of each crate compiled.

    One package a call: several in one would unify their features, and the programs differ in nothing else.
    """
    command = ["cargo", "build", "--release", "--locked", "-p", package, "--message-format", "json-render-diagnostics"]
    command += _chosen(features)
    if _too_old(closure(package, root), root):
        command.append("--ignore-rust-version")
        on_crate(f"有的 crate 声明要更新的 rustc，这里是 {compiler(root)['release']}：加上 --ignore-rust-version 照样编译")
    said: list[str] = []
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as messages,
        subprocess.Popen(
            command, cwd=root / WORKSPACE, env=environment(), stdin=subprocess.DEVNULL, stdout=messages, stderr=subprocess.PIPE,
            text=True, encoding="utf-8", errors="replace", start_new_session=True,
        ) as process,
    ):  # fmt: skip
        assert process.stderr is not None
        try:
            for line in process.stderr:
                said.append(line)
                if line.lstrip().startswith(("Compiling ", "Downloaded ", "Blocking ")):
                    on_crate(re.sub(r" \(.*\)$", "", line.strip()))  # a path dependency names its folder
            code = process.wait()
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)  # also the compilers it started
        if code != 0:
            raise CargoError(f"编译 {package} 失败（退出码 {code}）：\n{_tail(''.join(said))}")
        messages.seek(0)
        artifacts = [json.loads(line) for line in messages if line.startswith("{")]
    for artifact in reversed(artifacts):
        if artifact.get("reason") == "compiler-artifact" and artifact.get("executable"):
            return Path(artifact["executable"])
    raise CargoError(f"{WORKSPACE}/{package}：编译后没有可执行文件。它的 Cargo.toml 要有 [[bin]] 或 src/main.rs")


def describe(program: RustProgram, binary: Path, root: Path = ROOT) -> Build:
    """What the record keeps of a build."""
    command = ["cargo", "tree", "--locked", "-p", program.package, "-e", "normal", "--prefix", "none", "-f", "{p} [{f}]"]
    command += _chosen(program.features)
    lines = {re.sub(r" \((\*|/[^)]*)\)", "", line) for line in _ask(command, root).splitlines()}
    resolved = tuple(sorted(line for line in lines if line.split(" ", 1)[0] in program.features_of))
    absent = set(program.features_of) - {line.split(" ", 1)[0] for line in resolved}
    if absent:
        raise CargoError(f"{WORKSPACE}/{program.package}：依赖里没有 {'、'.join(sorted(absent))}，实验要看它的 feature")
    return Build(
        package=program.package,
        profile="release",
        declared=declared(program, root),
        resolved=resolved,
        compiler=compiler(root)["rustc"],
        target=target(root),
        binary_bytes=binary.stat().st_size,
    )


def declared(program: RustProgram, root: Path = ROOT) -> str:
    """The dependency as it stands in the package's Cargo.toml: one line, or several where an array is broken."""
    file = root / WORKSPACE / program.package / "Cargo.toml"
    lines = file.read_text(encoding="utf-8").splitlines()
    for start, line in enumerate(lines):
        if not re.match(rf"{re.escape(program.dependency)}(\.workspace)?\s*=", line):
            continue
        for end in range(start + 1, len(lines) + 1):
            text = "\n".join(lines[start:end])
            try:
                tomllib.loads(text)
            except tomllib.TOMLDecodeError:
                continue
            return text
    raise CargoError(f"{WORKSPACE}/{program.package}/Cargo.toml：没有以 `{program.dependency} =` 开头的依赖行")


def closure(package: str, root: Path = ROOT) -> list[Table]:
    """The entries of Cargo.lock that `package` can reach, itself included, sorted. Needs no cargo."""
    file = root / WORKSPACE / "Cargo.lock"
    try:
        entries = _lock(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CargoError(f"{WORKSPACE}/Cargo.lock：没有这个文件。恢复它：git checkout {WORKSPACE}/Cargo.lock") from None
    except (tomllib.TOMLDecodeError, KeyError, UnicodeDecodeError) as error:
        raise CargoError(f"{WORKSPACE}/Cargo.lock：读不懂（{error}）") from None
    waiting = [entry for entry in entries.get(package, ()) if "source" not in entry]
    if not waiting:
        raise CargoError(f"{WORKSPACE}/Cargo.lock：没有 {package}。运行 cargo metadata 补上并提交")
    found: dict[tuple[str, str, str], Table] = {}
    while waiting:
        entry = waiting.pop()
        key = (entry["name"], entry["version"], entry.get("source", ""))
        if key in found:
            continue
        found[key] = entry
        for dependency in entry.get("dependencies", ()):
            name, *version = dependency.split(" ")
            waiting += [e for e in entries[name] if not version or e["version"] == version[0]]
    return [found[key] for key in sorted(found)]


@cache
def _lock(text: str) -> dict[str, list[Table]]:
    """The entries of a Cargo.lock by name. Parsing is slow and several packages share one file."""
    entries: dict[str, list[Table]] = {}
    for entry in tomllib.loads(text)["package"]:
        entries.setdefault(entry["name"], []).append(entry)
    return entries


def crate(package: str, name: str, root: Path = ROOT) -> tuple[str, str, Path]:
    """Version, licence and folder of a crate as it is compiled into `package`."""
    versions = {entry["version"] for entry in closure(package, root) if entry["name"] == name}
    crates = [p for p in _metadata(root)["packages"] if p["name"] == name and p["version"] in versions]
    if len(crates) != 1:
        raise CargoError(f"{package} 的依赖里有 {len(crates)} 个 {name}，要恰好一个")
    return crates[0]["version"], crates[0]["license"] or "", Path(crates[0]["manifest_path"]).parent
