"""Runners and builds that are killed, that run at the same time, or that the disk refuses: records and site stay whole.

Everything happens in a small project of its own: this project's code, one experiment whose program takes an instant, a book of a
few pages. CRASH_ROUNDS=200 makes the long run: 200 kills of each kind, 20 races.
"""

from __future__ import annotations

import os
import random
import re
import resource
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.books import contents
from tests.projects import RUNS, Project, good, refused

ROUNDS = int(os.environ.get("CRASH_ROUNDS", "3"))
RACES = max(1, ROUNDS // 10)


def wait_for(seen: Callable[[], object], process: subprocess.Popen[str]) -> None:
    """Until it is seen or the process is over."""
    while not seen() and process.poll() is None:
        time.sleep(0.001)


def kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate(timeout=60)


@pytest.fixture
def rng() -> random.Random:
    seed = random.SystemRandom().randrange(10**6)
    print("seed", seed)
    return random.Random(seed)  # noqa: S311 - not a secret


def test_c14_a_killed_measurement_leaves_the_old_record_or_the_new_one(project: Project, rng: random.Random) -> None:
    """Also in the instants in which it is written; what the dead left is ended and removed by the next, which needs no help."""
    span = project.well("measure", "run", "fake", "--force")
    for k in range(ROUNDS):
        before = project.record.read_bytes()
        if k % 4 == 2:
            (project.root / "hang").touch()  # its program outlives it
        log = project.root / "log"
        ends = log.read_text(encoding="utf-8").count("end") + RUNS
        process = project.start("measure", "run", "fake", "--force") if k % 3 else project.start("mkdocs", "build", mode="fresh")
        if k % 2:
            wait_for(lambda ends=ends, log=log: log.read_text(encoding="utf-8").count("end") >= ends, process)  # type: ignore[misc]
            time.sleep(rng.uniform(0, 0.2))
        else:
            time.sleep(rng.uniform(0, span))
        kill(process)
        (project.root / "hang").unlink(missing_ok=True)
        if project.record.read_bytes() != before:
            project.whole_record()
        project.whole_site()
        if k % 5 == 4 or k == ROUNDS - 1:
            project.well("measure", "run", "fake", "--force")
            assert project.whole_record().finished
            assert project.record.read_bytes() != before
            project.well("mkdocs", "build")  # the folder of a killed build is a build's to remove
            project.nothing_left_over()
        project.never_two_at_once()


def test_c08_a_killed_build_leaves_the_old_site_or_the_new_one(project: Project, rng: random.Random) -> None:
    sites = {}
    for number in (2, 1):
        project.version(number)
        span = project.well("mkdocs", "build")
        sites[number] = contents(project.site)
    assert sites[1] != sites[2]
    for k in range(ROUNDS):
        number = 2 - k % 2
        project.version(number)
        process = project.start("mkdocs", "build")
        if k % 2:
            wait_for((project.root / ".site.next/about/other/index.html").exists, process)
            time.sleep(rng.uniform(0, 0.2))
        else:
            time.sleep(rng.uniform(0, span))
        kill(process)
        assert contents(project.site) in sites.values()
        if k % 5 == 4 or k == ROUNDS - 1:
            project.well("mkdocs", "build")
            assert contents(project.site) == sites[number]
            project.nothing_left_over()


def test_a_program_that_outlives_its_runner_is_ended_before_the_next_is_timed(project: Project) -> None:
    log = project.root / "log"
    log.write_text("", encoding="utf-8")
    (project.root / "hang").touch()
    process = project.start("measure", "run", "fake", "--force")
    wait_for(lambda: log.read_text(encoding="utf-8"), process)
    kill(process)
    (project.root / "hang").unlink()
    orphan = log.read_text(encoding="utf-8").split()[0]
    project.well("measure", "run", "fake", "--force")
    assert project.never_two_at_once() == 1 + RUNS
    said = log.read_text(encoding="utf-8")
    time.sleep(0.1)
    assert log.read_text(encoding="utf-8") == said
    assert f"{orphan} end" not in said
    project.nothing_left_over()


def test_four_builds_and_two_runs_at_once(project: Project) -> None:
    """From an empty store and from a stale record, where who comes second finds it done; and all told to measure anyway."""
    for k in range(RACES):
        forced = k % 3 == 2
        if k % 3 == 0:
            shutil.rmtree(project.root / "measure/records")
        if k % 3 == 1:
            project.edit_program()
        project.version(k)
        before = project.never_two_at_once()
        racers = [project.start("mkdocs", "build", mode="fresh" if forced and n == 0 else "auto") for n in range(4)]
        racers += [project.start("measure", "run", "fake", *(["--force"] if forced else [])) for _ in range(2)]
        for racer in racers:
            good(racer)
        assert project.never_two_at_once() - before == (3 * RUNS if forced else RUNS)
        project.whole_record()
        project.whole_site()
        project.nothing_left_over()
        if not forced:
            shown = contents(project.site)
            project.well("mkdocs", "build")
            assert contents(project.site) == shown


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder of a few MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", folder], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("只有 root 能挂上一个小磁盘")
    yield folder
    subprocess.run(["umount", folder], check=True)


def fill(folder: Path) -> Path:
    """Use up what is free."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass
    return filler


def test_c14_a_full_disk(small_disk: Path, pattern: Path) -> None:
    """Neither a measurement nor a build loses anything, and both go on once there is room again."""
    project = Project(Path(shutil.copytree(pattern, small_disk / "project")))
    site, record = contents(project.site), project.record.read_bytes()
    filler = fill(small_disk)
    project.version(2)
    for command in (["measure", "run", "fake", "--force"], ["mkdocs", "build"]):
        said = refused(project.start(*command))
        assert re.search(r"project/\S+：磁盘满了（No space left on device）。腾出空间", said), said
        assert (contents(project.site), project.record.read_bytes()) == (site, record)
    filler.unlink()
    project.well("measure", "run", "fake", "--force")
    project.well("mkdocs", "build")
    project.whole_site()
    project.nothing_left_over()


def test_c14_a_disk_that_fills_up_while_it_is_measured(small_disk: Path, project: Project) -> None:
    """Hours of measuring are kept elsewhere, and the message says where."""
    records = small_disk / "records"
    project.well("measure", "--records", str(records), "run", "fake")
    (path,) = records.rglob("*.json")
    old = path.read_bytes()
    (project.root / "fill").write_text(str(small_disk / "filler"), encoding="utf-8")
    said = refused(project.start("measure", "--records", str(records), "run", "fake", "--force"))
    assert f"{path}：磁盘满了" in said
    assert "原来的文件没有动" in said
    assert path.read_bytes() == old
    (kept, place) = re.findall(r"这次测的存在 (\S+)，改好之后把它复制到 (\S+)", said)[0]
    assert place == str(path)
    (small_disk / "filler").unlink()
    shutil.copy(kept, place)
    assert path.read_bytes() != old
    project.well("measure", "--records", str(records), "list")


def test_c14_files_that_may_not_grow(project: Project) -> None:
    """What a quota, or `ulimit -f`, does to a measurement and to a build."""
    site, record = contents(project.site), project.record.read_bytes()
    project.version(2)
    for command in (["measure", "run", "fake", "--force"], ["mkdocs", "build"]):
        limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (200_000, 200_000))
        said = refused(project.start(*command, limit=limit))
        assert re.search(r"project/\S+：文件大小超过限制（File too large）。放宽限制（ulimit -f）", said), said
        assert (contents(project.site), project.record.read_bytes()) == (site, record)


@pytest.fixture
def read_only(tmp_path: Path, request: pytest.FixtureRequest) -> Callable[[Path], None]:
    """Makes a folder one that nobody can write to, until the test is over."""

    def protect(folder: Path) -> None:
        if os.getuid():
            folder.chmod(0o555)
            request.addfinalizer(lambda: folder.chmod(0o755))
            return
        # root may write whatever the permissions say
        done = subprocess.run(["mount", "--bind", folder, folder], capture_output=True, check=False)
        if done.returncode:
            pytest.skip("root 写什么都行，这里又不能挂上只读的文件夹")
        request.addfinalizer(lambda: subprocess.run(["umount", folder], check=True))
        subprocess.run(["mount", "-o", "remount,bind,ro", folder], check=True)

    return protect


def test_c14_read_only_folders(project: Project, read_only: Callable[[Path], None]) -> None:
    """Found out before anything is measured. A build from the records there are needs no more than to read them."""
    before = project.never_two_at_once()
    read_only(project.record.parent)
    said = refused(project.start("measure", "run", "fake", "--force"))
    assert re.search(r"records/measured/lab/fake\.json：(文件系统是只读的|没有权限)（.*）。.*原来的文件没有动", said), said
    assert project.never_two_at_once() == before
    project.version(2)
    project.well("mkdocs", "build")
    project.whole_site()
    site = contents(project.site)
    read_only(project.root)
    said = refused(project.start("mkdocs", "build"))
    assert re.search(r"project/\S+：(文件系统是只读的|没有权限)（", said), said
    assert contents(project.site) == site
