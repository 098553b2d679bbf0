"""The command `measure`: what records there are, what they are worth here, and making them.

Every command exits with 0 only when all is well, and prints what is wrong, and the cure, on stderr.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from measure import bundle, cargo, disk, machine, scaffold, staleness
from measure.experiment import Experiment, load_all
from measure.record import Machine, Measured, Published
from measure.staleness import State, Status
from measure.store import Store, StoreError, dumps

if TYPE_CHECKING:
    from measure.runner import Progress

WORDS = {
    State.FRESH: "新",
    State.STALE: "过期",
    State.MISSING: "没有",
    State.FOREIGN: "别的机器",
    State.PUBLISHED: "发表",
    State.BROKEN: "损坏",
}
"""States as people read them; `--json` has the English words."""

Context = click.Context
HELP = {"help_option_names": ["-h", "--help"]}


class PlainProgress:
    """One line for each new thing, for logs and pipes."""

    def __init__(self) -> None:
        self.begin = time.monotonic()
        self.last = ""

    def note(self, text: str) -> None:
        """Print it."""
        click.echo(text, err=True)

    def step(self, what: str, done: int, total: int, left: float | None, detail: str = "") -> None:
        """Print `what` once, without its details."""
        if what != self.last:
            self.last = what
            click.echo(f"[{done + 1}/{total}] {what}，{times(time.monotonic() - self.begin, left)}", err=True)


class RichProgress:
    """A bar at the bottom of the terminal, with notes scrolling above it."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
        from rich.progress import Progress as Bar

        text = TextColumn("{task.fields[times]}\n{task.description}", markup=False)
        self.bar = Bar(BarColumn(bar_width=24), MofNCompleteColumn(), text, console=Console(stderr=True), transient=True)
        self.task = self.bar.add_task("", times="", total=None)
        self.begin = time.monotonic()

    def note(self, text: str) -> None:
        """Print it above the bar."""
        self.bar.console.print(text, markup=False, highlight=False)

    def step(self, what: str, done: int, total: int, left: float | None, detail: str = "") -> None:
        """Move the bar."""
        shown = times(time.monotonic() - self.begin, left)
        self.bar.update(self.task, description=f"{what}  {detail}", completed=done, total=total, times=shown)


def times(spent: float, left: float | None) -> str:
    """Time so far and time to go: `已用 1:05，约剩 0:40`."""

    def clock(seconds: float) -> str:
        return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"

    return f"已用 {clock(spent)}" + ("" if left is None else f"，约剩 {clock(left)}")


@contextmanager
def console_progress() -> Iterator[Progress]:
    """The progress display for this stderr: a bar on a terminal, lines elsewhere."""
    if not sys.stderr.isatty():
        yield PlainProgress()
        return
    display = RichProgress()
    with display.bar:
        yield display


def fail(*errors: str) -> NoReturn:
    """Say what is wrong and exit with 1."""
    for error in errors:
        click.echo(f"错误：{error}", err=True)
    sys.exit(1)


class Commands(click.Group):
    """The commands, in which an error of the file system is told like any other."""

    def invoke(self, ctx: Context) -> Any:
        """Run one."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise  # nobody reads any more: click ends quietly
        except OSError as error:
            fail(disk.refusal(error))


@click.group(cls=Commands, context_settings=HELP, help="测量书里的实验，查看它们的记录。")
@click.option("--records", "folder", type=click.Path(path_type=Path), help="记录所在的文件夹（默认：measure/records）")
@click.pass_context
def main(context: Context, folder: Path | None) -> None:
    """Hold the store for the commands."""
    context.obj = Store(folder) if folder else Store()


def _here(store: Store) -> Machine:
    try:
        return machine.this_machine(store.fingerprint)
    except machine.MachineError as error:
        fail(str(error))


def _experiments(names: tuple[str, ...]) -> list[Experiment]:
    """The experiments of these names, all where there are none."""
    known = load_all()
    unknown = [name for name in names if name not in known]
    if unknown:
        fail(*(f"没有实验 {name}。有：{'、'.join(known)}" for name in unknown))
    return [known[name] for name in names or known]


def _statuses(experiments: list[Experiment], store: Store) -> list[Status]:
    """The state of each experiment here and on every machine that has a record."""
    here = _here(store)
    try:
        return [
            staleness.status(experiment, store, label, here)
            for experiment in experiments
            for label in sorted({here.label, *store.machines(experiment.id)}, key=lambda label: (label != here.label, label))
        ]
    except staleness.InputError as error:
        fail(str(error))


def _well(found: Status) -> bool:
    """Whether nothing has to be done: a record that is neither old nor damaged, or none."""
    return found.state is not State.BROKEN and not found.changed and not (found.state is State.FOREIGN and found.note)


def _print_json(value: Any) -> None:
    click.echo(json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True))


def _print_table(columns: list[str], rows: list[list[str]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Column, Table
    from rich.text import Text

    table = Table(*(Column(name, overflow="fold") for name in columns), box=box.SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console(width=None if sys.stdout.isatty() else 160).print(table)


json_option = click.option("--json", "as_json", is_flag=True, help="输出 JSON")


@main.command("list", help="列出每个实验在每台机器上的状态。有过期或损坏的记录时退出码为 1。")
@json_option
@click.pass_obj
def list_command(store: Store, as_json: bool) -> None:
    """Print the state of every record there is, and of those this machine lacks."""
    found = _statuses(_experiments(()), store)
    if as_json:
        _print_json([asdict(status) for status in found])
    else:
        rows = [[s.experiment, s.machine, WORDS[s.state], s.finished, _remark(s)] for s in found]
        _print_table(["实验", "机器", "状态", "测于", "说明"], rows)
    sys.exit(0 if all(map(_well, found)) else 1)


def _remark(found: Status) -> str:
    changed = f"变了：{'、'.join(found.changed)}" if found.changed else ""
    not_here = f"这里测不了：{found.not_here}" if found.not_here else ""
    return "；".join(part for part in (found.note, changed, not_here) if part)


INPUTS = {
    "parameters": "实验要的实现、参数、轮数、环境变量和摘录",
    "protocol": "计时和输出的约定",
    f"{staleness.PYTHON_LOCK}: ": "这个包和它的依赖锁定的版本",
    f"{cargo.WORKSPACE}/Cargo.lock: ": "编译进这个程序的 crate 锁定的版本",
}
"""What stands behind inputs that are no file or folder, by how their names begin."""
DIFFERENCES = {"changed": "变了", "added": "多了", "removed": "少了"}


@main.command(help="说明记录为什么是新的或过期的：哪些输入变了，工具链有什么不同。有过期或损坏的记录时退出码为 1。")
@click.argument("names", nargs=-1, metavar="[实验]...")
@json_option
@click.pass_obj
def why(store: Store, names: tuple[str, ...], as_json: bool) -> None:
    """Print what each state comes from, and what to do about it."""
    experiments = {experiment.id: experiment for experiment in _experiments(names)}
    found = [(s, staleness.reasons(s, experiments[s.experiment], store)) for s in _statuses(list(experiments.values()), store)]
    if as_json:
        _print_json([asdict(s) | asdict(reasons) for s, reasons in found])
    else:
        for s, reasons in found:
            click.echo(f"{s.experiment}，{s.machine}：{WORDS[s.state]}" + (f"（测于 {s.finished}）" if s.finished else ""))
            for line in _why(s, reasons):
                click.echo(f"  {line}")
    sys.exit(0 if all(_well(s) for s, _ in found) else 1)


def _why(found: Status, reasons: staleness.Reasons) -> Iterator[str]:
    for name, difference in reasons.inputs.items():
        meant = next((f"（{text}）" for begin, text in INPUTS.items() if name.startswith(begin)), "")
        yield f"{DIFFERENCES[difference]}：{name}{meant}"
    if found.note:
        yield found.note
    for failure in reasons.failures:
        yield f"上一次没有测成：{failure}"
    if found.not_here:
        yield f"这里测不了：{found.not_here}"
    elif found.state is State.MISSING:
        yield f"测一次：measure run {found.experiment}"
    elif reasons.inputs:
        where = "" if found.state is State.STALE else f"在 {found.machine} 上"
        yield f"{where}重新测：measure run {found.experiment}"
    for line in reasons.drift:
        yield f"版本不同，不算过期：{line}"


@main.command(help="测量实验，替换这台机器的记录。记录是新的就不测。")
@click.argument("names", nargs=-1, metavar="[实验]...")
@click.option("--all", "everything", is_flag=True, help="所有实验")
@click.option("--quick", is_flag=True, help="只试跑一轮，少量重复，打印结果，不存记录")
@click.option("--force", is_flag=True, help="记录是新的也重新测")
@json_option
@click.pass_obj
def run(store: Store, names: tuple[str, ...], everything: bool, quick: bool, force: bool, as_json: bool) -> None:
    """Run what is due, or say that nothing is."""
    from measure import runner

    if bool(names) == everything:
        fail("写出实验的名字，或者用 --all 测全部。measure list 列出有哪些")
    experiments = _experiments(names)
    done: list[dict[str, object]] = []
    errors: list[str] = []
    here = _here(store)
    with (
        console_progress() as progress,
        tempfile.TemporaryDirectory(prefix="measure-") if quick else nullcontext(store.root) as place,
    ):
        target = Store(Path(place))
        for experiment in experiments:
            try:
                found = staleness.status(experiment, target, here.label, here)
                if found.state is State.BROKEN and not quick:
                    raise StoreError(found.note)
                if found.state is State.FRESH and not force:
                    progress.note(f"{experiment.id}：没有要做的，记录是新的（{found.finished}）。--force 重新测")
                    done.append({"experiment": experiment.id, "state": "fresh", "ran": False})
                    continue
                progress.note(f"{experiment.id}：{'试跑' if quick else runner.reason_to_run(found)}")
                record = (
                    runner.run(experiment, target, quick=quick, progress=progress)
                    if quick or force
                    else runner.run_if_due(experiment, target, progress=progress)
                )
            except (
                staleness.InputError,
                runner.NotRunnableError,
                runner.RunFailedError,
                StoreError,
                machine.MachineError,
            ) as error:
                errors.append(str(error))
                continue
            except KeyboardInterrupt:
                fail("中断了，启动的进程都已结束，原来的记录没有动")
            if record is None:
                progress.note(f"{experiment.id}：刚由另一个测量测好，不用再测")
                done.append({"experiment": experiment.id, "state": "fresh", "ran": False})
                continue
            done.append({"experiment": experiment.id, "state": "fresh", "ran": True, "quick": quick, "runs": len(record.runs)})
            if quick and not as_json:
                click.echo("".join(one.stdout for one in record.runs), nl=False)
            progress.note(f"{experiment.id}：测完，{len(record.runs)} 次运行" + ("，试跑不存记录" if quick else ""))
    if as_json:
        _print_json({"done": done, "errors": errors})
    if errors:
        fail(*errors)


@main.command(help="显示一份记录。")
@click.argument("name", metavar="实验")
@click.option("--machine", "label", help="哪台机器的记录（默认：这台）")
@json_option
@click.pass_obj
def show(store: Store, name: str, label: str | None, as_json: bool) -> None:
    """Print one record."""
    label = label or _here(store).label
    try:
        record = store.load(name, label)
    except StoreError as error:
        fail(str(error))
    if record is None:
        others = "、".join(store.machines(name))
        fail(
            f"{label} 没有 {name} 的记录。"
            + (f"有记录的机器：{others}（--machine）" if others else f"测一次：measure run {name}")
        )
    if as_json:
        click.echo(dumps(record), nl=False)
        return
    click.echo(
        f"{record.experiment}，{record.machine.label}：{record.machine.cpu}，{record.machine.cores} 核，{record.machine.system}"
    )
    click.echo("版本：" + "，".join(f"{key} {value}" for key, value in record.versions.items()))
    if isinstance(record, Published):
        click.echo(f"发表的数字：{record.source}。{record.conditions}")
        columns, rows = ["case", "参数", "指标", "轮", "数字"], _published(record)
    else:
        click.echo(f"测于 {record.finished}，{record.rounds} 轮，{len(record.runs)} 次运行")
        columns, rows = ["case", "参数", "指标", "阶段", "范围", "次数", "最小", "中位"], _measured(record)
    _print_table(columns, rows)
    for missing in record.absent:
        click.echo(f"没有 {missing.case} {_params(missing.params)}：{missing.reason}")


@main.command(help="检查构建会拒绝的一切，不生成网站：模板、名字、手写的数字、没有一句成立的 claim、过期的记录、链接、片段。")
@json_option
@click.pass_obj
def check(store: Store, as_json: bool) -> None:
    """Say all that a strict build would refuse."""
    from measure.check import check

    done = check(staleness.ROOT / "mkdocs.yml", store)
    if as_json:
        _print_json(asdict(done))
    else:
        for problem in done.problems:
            click.echo(problem, err=True)
        verdict = f"有 {len(done.problems)} 处要改" if done.problems else "没有要改的"
        click.echo(f"{done.pages} 页，按机器共渲染 {done.renderings} 次：{verdict}", err=bool(done.problems))
    sys.exit(1 if done.problems else 0)


@main.command(
    help="比较记录：哪些数字变得超出噪声，哪些结论和句子因此改变。两边可以是两个提交、一个提交（和工作区比）、"
    "两份记录（文件，或 实验@机器）；不写就比 HEAD 和工作区。页面都用工作区里的。有读不了的记录，或者新的记录会让构建失败，退出码为 1。"
)
@click.argument("sides", nargs=-1, metavar="[旧] [新]")
@json_option
@click.pass_obj
def diff(store: Store, sides: tuple[str, ...], as_json: bool) -> None:
    """Print what differs between two sets of records."""
    from measure import history, reading
    from measure.diff import diff, tables

    try:
        old, new = history.sides(sides, store)
    except history.HistoryError as error:
        fail(str(error))
    found = diff(old, new, reading.pages(staleness.ROOT / "docs"))
    if as_json:
        _print_json(asdict(found))
    else:
        click.echo(f"从 {found.old} 到 {found.new}" + ("" if found.records else "：没有不同"))
        for title, columns, rows in tables(found):
            click.echo(title)
            if rows:
                _print_table(columns, rows)
    if found.problems:
        fail(*found.problems)


def _params(params: dict[str, int | str]) -> str:
    return " ".join(f"{key}={value}" for key, value in params.items())


def _measured(record: Measured) -> list[list[str]]:
    """A row for each series, its rounds pooled."""
    pooled: dict[tuple[str, ...], list[float]] = {}
    for one in record.runs:
        for series in one.series:
            key = (one.case, _params(one.params | series.params), series.metric, series.phase, series.scope, series.unit)
            pooled.setdefault(key, []).extend(series.samples)
    rows = []
    for (*names, unit), samples in pooled.items():
        values = [f"{x * 1e3:.3f} ms" if unit == "s" else f"{x:g}" for x in (min(samples), statistics.median(samples))]
        rows.append([*names, str(len(samples)), *values])
    return rows


def _published(record: Published) -> list[list[str]]:
    return [
        [
            series.case,
            _params(series.params),
            series.metric,
            "" if series.round is None else str(series.round),
            "，".join(f"{name} {printed.text} {printed.unit}" for name, printed in series.printed.items()),
        ]
        for series in record.series
    ]


@main.command(help="说明这台机器能测什么，其余的要装什么。硬件允许的都能测时退出码为 0。")
@json_option
@click.pass_obj
def doctor(store: Store, as_json: bool) -> None:
    """Print what this machine can measure."""
    from measure.doctor import State as Found
    from measure.doctor import examine

    try:
        report = examine(load_all().values(), store)
    except (machine.MachineError, staleness.InputError) as error:
        fail(str(error))
    if as_json:
        _print_json(asdict(report) | {"machine": report.machine.model_dump(), "well": report.well})
    else:
        words = {Found.OK: "好", Found.NOTE: "注意", Found.MISSING: "缺"}
        _print_table(["", "", ""], [[check.name, words[check.state], check.found] for check in report.checks])
        rows = [
            [p.experiment, "测不了" if p.not_here or not p.cases else "能测", str(p.cases), f"{p.minutes:g} 分钟", p.not_here]
            for p in report.experiments
        ]
        _print_table(["实验", "", "几种设置", "测量约需", "原因"], rows)
        _print_table(
            ["实验", "记录里会没有", "原因"], [[p.experiment, a.case, a.reason] for p in report.experiments for a in p.absent]
        )
    sys.exit(0 if report.well else 1)


@main.command("export", help="把一台机器测得的记录装进一个文件，带到别的机器上。不写实验就是全部。")
@click.argument("names", nargs=-1, metavar="[实验]...")
@click.option("--machine", "label", help="哪台机器的记录（默认：这台）")
@click.option("-o", "--output", "target", type=click.Path(path_type=Path), help="写到哪个文件（默认：<机器>.bundle.json）")
@json_option
@click.pass_obj
def export_command(store: Store, names: tuple[str, ...], label: str | None, target: Path | None, as_json: bool) -> None:
    """Write a bundle."""
    label = label or _here(store).label
    wanted = [experiment.id for experiment in _experiments(names)]
    try:
        made = bundle.collect(wanted, store, label, all_of_them=bool(names))
        target = target or Path(f"{label}.bundle.json")
        bundle.save(made, target)
    except bundle.BundleError as error:
        fail(*error.problems)
    except StoreError as error:
        fail(str(error))
    if as_json:
        _print_json({"file": str(target), "machine": label, "contents": [entry.model_dump() for entry in made.contents]})
        return
    _print_table(["实验", "测于", "SHA-256"], [[e.experiment, e.finished, e.sha256] for e in made.contents])
    click.echo(f"{target}：{label} 的 {len(made.records)} 份记录。在别的机器上收下：measure import {target.name}")


@main.command("import", help="收下别的机器用 measure export 装的记录：先全部检查，有一处不对就一份也不收。")
@click.argument("source", metavar="文件", type=click.Path(path_type=Path))
@click.option("--as", "label", metavar="名字", help="用另一个机器名收下")
@click.option("--older", is_flag=True, help="包里的记录不比这里的新也收下")
@json_option
@click.pass_obj
def import_command(store: Store, source: Path, label: str | None, older: bool, as_json: bool) -> None:
    """Take a bundle in, and say which of its records are stale here."""
    experiments = load_all()
    here = _here(store)
    try:
        found = bundle.read(source)
        found = found.renamed(label) if label else found
        with machine.exclusive(lambda: click.echo("另一个测量正在进行，等它结束", err=True)):
            taken = bundle.take_in(found, store, experiments, older=older)
    except bundle.BundleError as error:
        fail(*error.problems)
    except OSError as error:
        fail(f"{error.filename}：{error.strerror}。一份也没有收下")
    label = found.machine.label
    try:
        changed = {t.experiment: staleness.status(experiments[t.experiment], store, label, here).changed for t in taken}
    except staleness.InputError as error:
        fail(str(error))
    if as_json:
        _print_json({"machine": label, "records": [asdict(t) | {"changed": changed[t.experiment]} for t in taken]})
        return
    what = {"new": "新收下", "replaced": "换掉旧的", "same": "已经有了，一样"}
    state = {name: WORDS[State.STALE if differ else State.FRESH] for name, differ in changed.items()}
    rows = [[t.experiment, what[t.what], t.finished, t.was, state[t.experiment]] for t in taken]
    _print_table(["实验", "结果", "测于", "原来的测于", "对这里的源码"], rows)
    if any(changed.values()):
        click.echo("过期的是哪些输入变了：measure why")


@main.command("new", help="起一个新实验：页面、实验、Python 和 Rust 程序、测试，马上能通过检查。名字例如 sum-of-squares。")
@click.argument("name", metavar="名字")
@click.option("--volume", type=click.Choice(scaffold.VOLUMES), default=scaffold.VOLUMES[0], help="哪一卷（默认：burn）")
def new_command(name: str, volume: str) -> None:
    """Make the files in this folder and say what comes next."""
    try:
        made = scaffold.new(Path.cwd(), name, volume)
    except scaffold.ScaffoldError as error:
        fail(*error.problems, "什么也没有写")
    for path in made:
        click.echo(path)
    click.echo(
        f"""
现在页面上写着「没有测」，构建不会去测它。接下来：
  把两个程序里的求和换成要量的计算，改好实验的问题和页面的标题
  measure run {name} --quick   试跑，不存记录
  measure run {name}           正式测，存下记录
  然后删掉页面上 not_tested 那一行，去掉它下面的注释记号。参考机器上也要有记录，页面的主地址才显示得出来"""
    )


if __name__ == "__main__":
    main(prog_name="measure")
