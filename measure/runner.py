"""From an experiment to a record: compile, then one process for every case and round, one at a time, in an environment made for it.

A run counts only whole. Any failure keeps the attempt beside the good record and leaves the good record alone.
"""

from __future__ import annotations

import ctypes
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NoReturn, Protocol

import psutil
from pydantic import ValidationError

from measure import cargo, machine, protocol, staleness
from measure.excerpt import ExcerptError, excerpt
from measure.experiment import Case, Experiment, RustProgram, load_all
from measure.privacy import SCRATCH, scrub
from measure.record import Absent, Build, Excerpt, Fact, Failure, Machine, Measured, Run, Series
from measure.staleness import InputError, State
from measure.store import NotWrittenError, Store, StoreError, clash, write

FIXED = {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "PYTHONUTF8": "1"}
"""What every child's environment has, beside PATH and folders of its own. Nothing else is inherited."""

QUIET_LIMIT = 20.0
"""Seconds a run waits at most for others to leave the machine alone."""

RUNNING = "running"
"""Name in the cache folder of the link that leads to the folder of the child that runs now."""

OUT = "measure.jsonl"
"""The file in a child's folder that MEASURE_OUT names."""

SET_CHILD_SUBREAPER = 36
"""Of `prctl`, in Linux' own headers."""

MOST_OUTPUT = 1 << 20
"""Bytes of stdout beyond which a program is taken to have lost its way."""


class Progress(Protocol):
    """What a display has to understand."""

    def note(self, text: str) -> None:
        """One sentence worth keeping."""

    def step(self, what: str, done: int, total: int, left: float | None, detail: str = "") -> None:
        """`what` begins, or goes on with a new `detail`; `done` of `total` steps are over, about `left` seconds to go."""


class Silent:
    """A progress display that shows nothing."""

    def note(self, text: str) -> None:
        """Say nothing."""

    def step(self, what: str, done: int, total: int, left: float | None, detail: str = "") -> None:
        """Say nothing."""


class NotRunnableError(Exception):
    """This machine lacks the software for the experiment, or its records belong to another machine. Nothing was run."""


class RunFailedError(Exception):
    """At least one run gave no result. The message lists all failures."""

    def __init__(self, attempt: Measured) -> None:
        self.attempt = attempt
        lines = []
        for failure in attempt.failures:
            where = f"，第 {failure.round} 轮" if failure.round else ""
            lines.append(f"{attempt.experiment}：{describe(failure.case, failure.params)}{where}：{failure.reason}")
            lines += [f"    {line}" for line in failure.stderr.splitlines()]
        super().__init__("\n".join(lines) + "\n原来的记录没有动")


@dataclass(frozen=True)
class Outcome:
    """What one child left behind."""

    stdout: str
    stderr: str
    written: bytes | None
    """What it wrote to MEASURE_OUT; None if it wrote nothing."""
    wall: float
    cpu: float
    problem: str | None
    """Why it does not count, or None."""


@dataclass
class _Session:
    """What has been gathered so far."""

    runs: list[Run] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    """By metric."""
    said: set[str] = field(default_factory=set)


def describe(case: str, params: Mapping[str, int | str]) -> str:
    """A case with its setting, for people: `burn-simd threads=1`."""
    return " ".join([case, *(f"{name}={value}" for name, value in params.items())])


def run(
    experiment: Experiment, store: Store, *, quick: bool = False, progress: Progress | None = None, root: Path = cargo.ROOT
) -> Measured:
    """Measure `experiment` on this machine and replace its record in `store`.

    `quick` runs one round of few repetitions and marks the record; give it a scratch store. Raises `NotRunnableError` or `StoreError`
    before anything is started, `RunFailedError` when the attempt was kept instead, `NotWrittenError` when the disk refused the record,
    and lets `KeyboardInterrupt` through once no child is left.
    """
    progress = progress or Silent()
    with _alone(experiment, store, progress, root) as here:
        return _measure(experiment, store, here, quick, progress, root)


def run_if_due(
    experiment: Experiment, store: Store, *, progress: Progress | None = None, root: Path = cargo.ROOT
) -> Measured | None:
    """As `run`; None if the record is fresh, perhaps because another measurement that had to end first has just made it."""
    progress = progress or Silent()
    with _alone(experiment, store, progress, root) as here:
        if staleness.status(experiment, store, here.label, here, root).state is State.FRESH:
            return None
        return _measure(experiment, store, here, False, progress, root)


@contextmanager
def _alone(experiment: Experiment, store: Store, progress: Progress, root: Path) -> Iterator[Machine]:
    """This machine, where the experiment can run and nothing else is measured meanwhile."""
    here = machine.this_machine(store.fingerprint)
    _check_can_run(experiment, store, here, root)
    with _ended_by_sigterm(), machine.exclusive(lambda: progress.note("另一个测量正在进行，等它结束")):
        _end_orphans(progress)
        yield here


def _end_orphans(progress: Progress) -> None:
    """End what a runner that was killed left running, before anything is timed beside it."""
    link = machine.cache_dir() / RUNNING
    try:
        scratch = link.readlink()
    except OSError:
        return
    progress.note("上一次测量没有正常结束，先结束它留下的程序")
    end_all(None, str(scratch / OUT))
    if scratch.name.startswith(SCRATCH):
        shutil.rmtree(scratch, ignore_errors=True)
    link.unlink()


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """SIGTERM ends a measurement as Ctrl-C does: the compilers and programs it started die with it."""

    def end(number: int, _frame: object) -> NoReturn:
        raise SystemExit(128 + number)

    if threading.current_thread() is not threading.main_thread():  # others cannot set handlers
        yield
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _check_can_run(experiment: Experiment, store: Store, here: Machine, root: Path) -> None:
    reason = staleness.missing_software(experiment, here, root)
    if reason is not None:
        raise NotRunnableError(f"{experiment.id}：这里测不了。{reason}")
    known = store.fingerprint(here.label)
    if known is not None and known != here.model_dump():
        raise NotRunnableError(f"{experiment.id}：{clash(here.label)}")
    store.try_out(here.label, experiment.id)


def _measure(experiment: Experiment, store: Store, here: Machine, quick: bool, progress: Progress, root: Path) -> Measured:
    started = machine.now()
    inputs = staleness.inputs(experiment, root)  # before the build: an edit during the run makes the record stale, not wrong
    reasons = [(case, case.missing(here)) for case in experiment.cases(here)]
    present = [case for case, reason in reasons if reason is None]
    absent = tuple(
        Absent(case=case.name, params=dict(case.params), reason=reason) for case, reason in reasons if reason is not None
    )
    rounds = 1 if quick else experiment.rounds
    session = _Session(versions={"python": platform.python_version(), "os": _system()})
    binaries: dict[str, Path] = {}
    builds: tuple[Build, ...] = ()
    excerpts: tuple[Excerpt, ...] = ()
    try:
        binaries, builds = _build(present, progress, root)
        excerpts = tuple(excerpt(wanted, root) for wanted in experiment.excerpts)
        if builds:
            session.versions["rustc"] = cargo.compiler(root)["release"]
    except (cargo.CargoError, ExcerptError) as error:
        session.failures.append(Failure(case="build", round=0, reason=scrub(str(error), root)))
    if not session.failures:
        _rounds(experiment, present, binaries, rounds, quick, session, progress, root)
    record = Measured(
        schema_version=1,
        origin="measured",
        experiment=experiment.id,
        machine=here,
        quick=quick,
        protocol=protocol.PROTOCOL_VERSION,
        started=started,
        finished=machine.now(),
        rounds=rounds,
        inputs=inputs,
        versions=dict(sorted(session.versions.items())),
        runs=tuple(session.runs),
        builds=builds,
        excerpts=excerpts,
        absent=absent,
        failures=tuple(session.failures),
    )
    if record.failures:
        try:
            store.save_attempt(record)
        except NotWrittenError as error:
            progress.note(str(error))
        raise RunFailedError(record)
    try:
        store.save(record)
    except NotWrittenError as error:
        raise NotWrittenError(f"{error}。{_rescue(record, store)}") from None
    return record


def _rescue(record: Measured, store: Store) -> str:
    """Keep a record that its own place refuses, for it may have taken hours; where it is, or that it is lost."""
    kept = Store(machine.cache_dir() / "unsaved").path("measured", record.machine.label, record.experiment)
    try:
        write(kept, record)
    except NotWrittenError:
        return "这次测的也没有别处可存，要重新测"
    return f"这次测的存在 {kept}，改好之后把它复制到 {store.path('measured', record.machine.label, record.experiment)}"


def _system() -> str:
    version = platform.mac_ver()[0]
    return f"macOS {version}" if version else f"{platform.system()} {platform.release()}"


def _build(cases: Iterable[Case], progress: Progress, root: Path) -> tuple[dict[str, Path], tuple[Build, ...]]:
    """Build every package once; the binaries by package, and what the record keeps."""
    programs = list(dict.fromkeys(case.program for case in cases if isinstance(case.program, RustProgram)))
    binaries: dict[str, Path] = {}
    builds: list[Build] = []
    for done, program in enumerate(programs):
        what = f"编译 {program.package}"

        def on_crate(line: str, what: str = what, done: int = done) -> None:
            progress.step(what, done, len(programs), None, line)

        progress.step(what, done, len(programs), None)
        binaries[program.package] = cargo.build(program.package, on_crate, root, program.features)
        builds.append(cargo.describe(program, binaries[program.package], root))
    return binaries, tuple(builds)


def _rounds(
    experiment: Experiment, cases: list[Case], binaries: dict[str, Path], rounds: int, quick: bool, session: _Session, progress: Progress, root: Path
) -> None:  # fmt: skip
    """All rounds; after a failure the round is finished, so that every case that fails is listed, and no other begins."""
    total = sum(min(rounds, case.rounds or rounds) for case in cases)
    begin = time.monotonic()
    done = 0
    for number in range(1, rounds + 1):
        for case in cases if number % 2 else reversed(cases):
            if case.rounds is not None and number > case.rounds:
                continue
            spent = time.monotonic() - begin
            left = spent / done * (total - done) if done >= len(cases) else max(0.0, experiment.estimate * rounds - spent)
            progress.step(
                f"测 {describe(case.name, case.params)}（第 {number}/{rounds} 轮）", done, total, None if quick else left
            )
            _one(experiment, case, number, binaries, quick, session, progress, root)
            done += 1
        if session.failures:
            return


def _one(
    experiment: Experiment, case: Case, number: int, binaries: dict[str, Path], quick: bool, session: _Session, progress: Progress, root: Path
) -> None:  # fmt: skip
    """One run: a record of it, or a failure."""
    args = (*case.args, *(("--quick",) if quick else ()))
    shown: tuple[str, ...]
    if isinstance(case.program, RustProgram):
        command, shown = [str(binaries[case.program.package]), *args], (case.program.package, *args)
    else:
        module = f"measure.programs.{case.program.module}"
        command, shown = [sys.executable, "-m", module, *args], ("python", "-m", module, *args)
    before = machine.conditions() if quick else machine.wait_until_quiet(QUIET_LIMIT)
    if before.busy > machine.QUIET and not quick:
        _once(session, progress, f"机器不安静（别的程序占着 {before.busy:.0%}），照样测；每次运行的负载记在记录里")
    outcome = execute(command, case.env, experiment.timeout, root)
    after = machine.conditions()

    def fail(reason: str) -> None:
        params = dict(case.params)
        session.failures.append(
            Failure(case=case.name, params=params, round=number, reason=scrub(reason, root), stderr=_last(outcome.stderr))
        )

    if outcome.problem is not None:
        fail(outcome.problem)
        return
    if outcome.written is None:
        fail("没有写出结果（MEASURE_OUT 是空的）")
        return
    try:
        series, facts = _results(outcome.written, case, quick)
    except ValueError as error:
        fail(str(error))
        return
    facts = tuple(_scrubbed(fact, root) for fact in facts)
    for one in series:
        if session.units.setdefault(one.metric, one.unit) != one.unit:
            fail(f"单位不一致：{one.metric} 在这里是 {one.unit}，别处是 {session.units[one.metric]}")
            return
    earlier = next((r for r in session.runs if r.case == case.name and r.params == dict(case.params)), None)
    if earlier is not None and (differ := _names(earlier.series) ^ _names(series)):
        fail(f"测量序列和第 {earlier.round} 轮不一样：{'、'.join(sorted(differ))} 只有一轮有")
        return
    for fact in facts:
        if fact.name.startswith("version-"):
            name, value = fact.name.removeprefix("version-"), str(fact.value)
            if session.versions.setdefault(name, value) != value:
                fail(f"版本不一致：{name} 在这里是 {value}，别处是 {session.versions[name]}")
                return
        if fact.name in ("dtype", "device"):
            seen = {f.value for r in session.runs for f in r.facts if f.name == fact.name}
            if seen - {fact.value}:
                _once(
                    session,
                    progress,
                    f"{case.name} 的 {fact.name} 是 {fact.value}，别的 case 是 {'、'.join(map(str, seen))}：不能直接相比",
                )
    session.runs.append(
        Run(
            case=case.name,
            params=dict(case.params),
            round=number,
            command=tuple(scrub(word, root) for word in shown),
            env=FIXED | {name: scrub(value, root) for name, value in case.env.items()},
            before=before,
            after=after,
            wall=outcome.wall,
            cpu=outcome.cpu,
            stdout=outcome.stdout,
            series=series,
            facts=facts,
        )
    )


def _names(series: Iterable[Series]) -> set[str]:
    return {describe(f"{s.metric}/{s.phase}/{s.scope}", s.params) for s in series}


def _scrubbed(fact: Fact, root: Path) -> Fact:
    value = scrub(fact.value, root) if isinstance(fact.value, str) else fact.value
    return fact.model_copy(update={"value": value, "source": scrub(fact.source, root)})


def _results(written: bytes, case: Case, quick: bool) -> tuple[tuple[Series, ...], tuple[Fact, ...]]:
    """What the program wrote, held against what the case says of it. Raises ValueError, of which `ProtocolError` is one."""
    output = protocol.parse(written)
    if output.header.quick is not quick:
        raise ValueError(f"要{'' if quick else '不'}带 --quick 运行，程序说的相反")
    if not output.series:
        raise ValueError("没有一个测量序列")
    if case.threads is not None:
        observed = [fact.value for fact in output.facts if fact.name == "threads"]
        if observed != [case.threads]:
            raise ValueError(f"线程数不符：要 {case.threads}，程序读回 {'、'.join(map(str, observed)) or '没有报告'}")
    try:
        return tuple(Series.model_validate(vars(line)) for line in output.series), tuple(
            Fact.model_validate(vars(line)) for line in output.facts
        )
    except ValidationError as error:
        raise ValueError(f"结果不可信：{error.errors()[0]['msg']}") from None


def _once(session: _Session, progress: Progress, text: str) -> None:
    if text not in session.said:
        session.said.add(text)
        progress.note(text)


def _last(text: str, lines: int = 10) -> str:
    return "\n".join(text.strip().splitlines()[-lines:])


def execute(command: list[str], env: Mapping[str, str], timeout: float, root: Path = cargo.ROOT) -> Outcome:
    """Run one child in a session and an empty folder of its own; when this returns or raises, nothing it started is alive."""
    _adopt_orphans()
    others = frozenset(child.pid for child in psutil.Process().children(recursive=True))
    with _scratch() as scratch:
        for name in ("work", "home", "tmp"):
            (scratch / name).mkdir()
        out = scratch / OUT
        private = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(scratch / "home"),
            "TMPDIR": str(scratch / "tmp"),
            "PYTHONPATH": str(root),
            "MEASURE_OUT": str(out),
        }
        problem = None
        begin = time.monotonic()
        cpu = 0.0
        with (scratch / "stdout").open("wb") as stdout, (scratch / "stderr").open("wb") as stderr:
            try:
                process = subprocess.Popen(
                    command, cwd=scratch / "work", env=private | FIXED | dict(env), stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr,
                    start_new_session=True,
                )  # fmt: skip
            except OSError as error:
                return Outcome("", "", None, 0.0, 0.0, f"{Path(command[0]).name} 启动不了（{error.strerror}）")
            try:
                waiter = _Waiter(process)
                waiter.join(timeout)  # the thread blocks in the kernel: nothing polls beside the measurement
                wall = time.monotonic() - begin
                if waiter.is_alive():
                    problem = f"超时（超过 {timeout:g} 秒），已结束它和它启动的全部进程"
            finally:
                end_all(process.pid, str(out), others)
            waiter.join()
        if problem is None:
            cpu = waiter.cpu
            problem = _exit(waiter.code)
        raw = _head(scratch / "stdout", MOST_OUTPUT + 1)
        if problem is None and len(raw) > MOST_OUTPUT:
            problem = "输出超过 1 MiB"
        return Outcome(
            stdout=scrub(protocol.clean(raw[:MOST_OUTPUT]), root),
            stderr=scrub(protocol.clean((scratch / "stderr").read_bytes()[-65536:]), root),
            written=out.read_bytes() if out.is_file() and out.stat().st_size else None,
            wall=wall,
            cpu=cpu,
            problem=problem,
        )


@contextmanager
def _scratch() -> Iterator[Path]:
    """A folder for one child. As long as it is there a link says where, for whoever has to clean up if this process is killed."""
    link = machine.cache_dir() / RUNNING
    try:
        with tempfile.TemporaryDirectory(prefix=SCRATCH, ignore_cleanup_errors=True) as folder:
            link.parent.mkdir(parents=True, exist_ok=True)
            link.unlink(missing_ok=True)
            link.symlink_to(Path(folder).resolve())
            yield link.readlink()
    finally:
        link.unlink(missing_ok=True)


def _adopt_orphans() -> None:
    """On Linux a descendant whose parent died becomes our child, so that it is found whatever session and environment it fled to."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)


class _Waiter(threading.Thread):
    """Waits for a child and keeps its exit code and the CPU time of it and the children it waited for."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        super().__init__(daemon=True)
        self.process = process
        self.code = 0
        self.cpu = 0.0
        self.start()

    def run(self) -> None:
        try:
            _, status, usage = os.wait4(self.process.pid, 0)
        except ChildProcessError:  # it was ended and waited for by `end_all`
            return
        self.code = self.process.returncode = os.waitstatus_to_exitcode(status)
        self.cpu = usage.ru_utime + usage.ru_stime


def _exit(code: int) -> str | None:
    """What an exit code means, for people; None for success."""
    if code == 0:
        return None
    if code < 0:
        try:
            return f"被信号 {signal.Signals(-code).name} 终止"
        except ValueError:
            return f"被信号 {-code} 终止"
    return f"退出码 {code}"


def _head(file: Path, size: int) -> bytes:
    with file.open("rb") as stream:
        return stream.read(size)


def end_all(group: int | None, out: str, others: frozenset[int] | None = None) -> None:
    """Kill a child's process group, if it is known, and every descendant, also one that left it: they carry its MEASURE_OUT.

    Where `others` are the processes of ours that were there before the child, all that came since are its descendants, whatever
    they carry. Repeated until none is found, since a process may have forked in between.
    """
    for _ in range(20):
        if group is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signal.SIGKILL)
        left = {process for process in psutil.process_iter() if _belongs(process, group, out)}
        if others is not None:
            left |= {
                child for child in psutil.Process().children(recursive=True) if child.pid not in others and child.pid != group
            }
        if not left:
            return
        for process in left:
            with suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(left, timeout=0.5)


def _belongs(process: psutil.Process, group: int | None, out: str) -> bool:
    """Whether a process is alive and descends from the child of this group."""
    try:
        if process.status() == psutil.STATUS_ZOMBIE or process.pid == os.getpid():
            return False
        return os.getpgid(process.pid) == group or process.environ().get("MEASURE_OUT") == out
    except (psutil.Error, OSError):
        return False


def bring_up_to_date(
    experiments: Iterable[str],
    store: Store,
    mode: Literal["auto", "fresh"],
    progress: Progress | None = None,
    root: Path = cargo.ROOT,
) -> list[str]:
    """Make the records of these experiments that this machine lacks or that are stale, `fresh`: all; the errors.

    What cannot run here is passed over with a note. A damaged record is an error and is left for its owner.
    """
    progress = progress or Silent()
    known = load_all()
    errors: list[str] = []
    try:
        here = machine.this_machine(store.fingerprint)
    except machine.MachineError as error:
        return [str(error)]
    for name in dict.fromkeys(experiments):
        experiment = known.get(name)
        if experiment is None:
            if not store.machines(name):  # what was only published has no experiment
                errors.append(f"没有实验 {name}。有：{'、'.join(known)}")
            continue
        try:
            found = staleness.status(experiment, store, here.label, here, root)
            if found.state is State.BROKEN or (found.state is State.FOREIGN and found.note):
                errors.append(found.note)
            elif found.state is State.FRESH and mode == "auto":
                progress.note(f"{name}：记录是新的（{found.finished}），不用测")
            elif found.not_here:
                progress.note(f"{name}：这里测不了，用现有的记录。{found.not_here}")
            else:
                progress.note(f"{name}：{reason_to_run(found, mode)}，开始测")
                if mode == "fresh":
                    run(experiment, store, progress=progress, root=root)
                elif run_if_due(experiment, store, progress=progress, root=root) is None:
                    progress.note(f"{name}：刚由另一个测量测好，不用再测")
        except (InputError, NotRunnableError, RunFailedError, StoreError, machine.MachineError) as error:
            errors.append(str(error))
    return errors


def reason_to_run(found: staleness.Status, mode: Literal["auto", "fresh"] = "auto") -> str:
    """Why a run is due, in Chinese."""
    if mode == "fresh" or found.state is State.FRESH:
        return "按要求重新测"
    return f"记录过期（变了：{'、'.join(found.changed)}）" if found.changed else "这台机器还没有记录"
