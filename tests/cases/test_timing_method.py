"""A number is a time of the work it names, done in the way it says, in a process of its own."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest

from measure import cargo, runner
from measure.experiment import Case, RustProgram
from measure.protocol import doubling
from measure.record import Build, Measured
from measure.store import Store, dumps
from tests.books import OTHER, SETS, change, good, mistakes, of, page, words
from tests.programs import ROOT, experiment, fact, failure, lines
from tests.records import SLOW_AND_FAST, measured, rounds, runs


def test_c17_work_that_is_launched_or_put_off_is_refused() -> None:
    """An asynchronous and a lazy library: each passes where its result is waited for, and nowhere else."""

    def nap() -> int:
        time.sleep(0.01)
        return 1

    with ThreadPoolExecutor(1) as pool:
        assert 1.8 <= doubling(5, lambda: pool.submit(nap).result(), lambda last: last) <= 2.2
        with pytest.raises(SystemExit, match=r"计时自检失败.*计时区间没有等到结果"):
            doubling(5, lambda: pool.submit(nap), Future.result, tries=2)
    assert 1.8 <= doubling(5, nap, lambda last: last) <= 2.2
    with pytest.raises(SystemExit, match="计时自检失败"):
        doubling(5, lambda: nap, lambda last: last(), tries=2)
    remembered = cache(nap)  # the first call does the work, the others find it done
    with pytest.raises(SystemExit, match="计时自检失败"):
        doubling(5, remembered, lambda last: last, tries=1)


def test_c17_programs_check_themselves() -> None:
    """Those whose steady, ready series pages compare, in both languages."""
    programs = ROOT / "measure/programs"
    checked = {path.stem for path in programs.glob("*.py") if "doubling(" in path.read_text(encoding="utf-8")}
    assert {"cpu_bench", "exec_gpu", "svd_time", "timing_jax"} <= checked
    sources = {path.parents[1].name: path.read_text(encoding="utf-8") for path in ROOT.glob("rust_examples/*/src/main.rs")}
    assert {"pitb-exec-cpu", "exec-gpu", "svd-time", "trg-staged", "ad-vec-timing"} <= {
        n for n, text in sources.items() if "doubling(" in text
    }


@pytest.mark.parametrize("samples", ["[0.3, 0.3, 0.3]", "[0.3]", "[0, 0]", "[1.9, 0.1]", "[-1, 5]"])
def test_c18_times_below_a_tick_of_the_clock_are_no_times(
    store: Store, lab: None, program: Callable[..., RustProgram], samples: str
) -> None:
    """In nanoseconds: 268 MFLOP in 0.3 ns."""
    reason, _ = failure(store, Case("a", program("a", written=lines(samples))))
    assert re.match("结果不可信|第 2 行：samples 里有不大于 0 的时间", reason)


def test_c18_one_sample_shows_no_spread_and_proves_nothing(book: Path) -> None:
    one = measured(*runs("slow", (0.0055,)), *runs("fast", (0.005,)))
    Store(book / "records").save(of(one))
    (book / "records/measured/box/cpu-matmul.json").unlink()
    change(book, {"a.md": f"{SETS}# 甲\n\n用时 [= slow.typical =]。\n", "b.md": "# 乙\n"})
    html = page(good(book), "a")
    assert "5.50 ms" in words(html)
    assert "一轮共 1 次" in html
    assert "±" not in html
    (book / "site").rename(book / "kept")
    change(book, {"a.md": f"{SETS}# 甲\n\n[% claim slow.typical > fast.typical %]慢。[% endclaim %]\n"})
    (found,) = mistakes(book)
    assert found.startswith("docs/a.md:6：claim 里没有一句话合 lab 的数据")
    assert "在噪声之内" in found


def test_c19_every_run_is_a_process_of_its_own(store: Store, lab: None, program: Callable[..., RustProgram]) -> None:
    """What one run sets, be it a thread count or an allocator, is gone in the next."""
    body = "print(os.getpid(), os.environ.get('OMP_NUM_THREADS'), os.nice(0)); os.environ['OMP_NUM_THREADS'] = '1'; os.nice(1)"
    record = runner.run(experiment(Case("a", program("a", body)), Case("b", program("b", body)), rounds=2), store)
    said = [run.stdout.split() for run in record.runs]
    assert len({pid for pid, *_ in said}) == 4
    assert len({tuple(rest) for _, *rest in said}) == 1
    reason, _ = failure(Store(store.root / "other"), Case("a", program("a", "", lines(threads=1)), threads=2))
    assert reason == "线程数不符：要 2，程序读回 1"  # as it was read back, not as it was asked for


def test_c21_the_shell_of_the_author_changes_nothing(
    store: Store, lab: None, program: Callable[..., RustProgram], monkeypatch: pytest.MonkeyPatch
) -> None:
    body = "print(sorted((k, v) for k, v in os.environ.items() if k not in ('PATH', 'HOME', 'TMPDIR', 'MEASURE_OUT')))"
    case = Case("a", program("a", body), env={"RAYON_NUM_THREADS": "2"})
    clean = runner.run(experiment(case), store).runs[0]
    for name, value in {
        "OMP_NUM_THREADS": "1",
        "RAYON_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
        "LD_PRELOAD": "",
        "MALLOC_ARENA_MAX": "1",
        "KMP_AFFINITY": "compact",
        "CUDA_VISIBLE_DEVICES": "",
        "PYTHONOPTIMIZE": "2",
        "LC_ALL": "C",
        "TZ": "Asia/Tokyo",
    }.items():
        monkeypatch.setenv(name, value)
    other = runner.run(experiment(case), store).runs[0]
    assert (other.stdout, other.env) == (clean.stdout, clean.env)
    assert clean.env["RAYON_NUM_THREADS"] == "2"


def test_c22_only_release_builds_count_and_the_page_names_their_features(book: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = Build(
        package="slow", profile="release", declared='burn = { version = "1", default-features = false }', resolved=("burn-flex v1 [std]",),
        compiler="rustc 1.95.0", target="x86_64-unknown-linux-gnu x86-64", binary_bytes=10**6,
    )  # fmt: skip
    Store(book / "records").save(of(SLOW_AND_FAST, builds=(release,)))
    (book / "records/measured/box/cpu-matmul.json").unlink()
    change(book, {"a.md": f"{SETS}# 甲\n\n[= features(m) =]\n\n[= declared(m) =]\n", "b.md": "# 乙\n"})
    shown = words(page(good(book), "a"))
    assert "slow: burn-flex v1 [std]" in shown
    assert "default-features = false" in shown
    (book / "site").rename(book / "kept")
    path = book / "records/measured/lab/cpu-matmul.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"profile": "release"', '"profile": "dev"'), encoding="utf-8")
    assert [m for m in mistakes(book) if "builds.0.profile" in m]
    for name in (
        "RUSTFLAGS",
        "CARGO_PROFILE_RELEASE_OPT_LEVEL",
        "CARGO_PROFILE_RELEASE_DEBUG",
        "CARGO_BUILD_RUSTFLAGS",
        "RUSTC_WRAPPER",
    ):
        monkeypatch.setenv(name, "x")
    assert not [name for name, value in cargo.environment().items() if value == "x"]


def test_c22_a_build_without_threads_does_not_pass_for_one_with(
    store: Store, lab: None, program: Callable[..., RustProgram]
) -> None:
    reason, _ = failure(store, Case("many", program("many", "", lines(threads=1)), params={"threads": "all"}, threads=8))
    assert reason == "线程数不符：要 8，程序读回 1"


def test_c24_a_ratio_across_types_or_devices_stops_the_build(book: Path) -> None:
    """Unless the page names the one thing that may differ."""
    record = measured(
        *rounds("slow", 0.04, 0.04, 0.04, dtype="f32"), *rounds("fast", 0.01, 0.01, 0.01, dtype="f64", device="cuda")
    )
    Store(book / "records").save(of(record))
    (book / "records/measured/box/cpu-matmul.json").unlink()
    sources = [
        "[= ratio(slow.typical, fast.typical) =]",
        "[= slow.typical / fast.typical =]",
        "[= times(slow.typical, fast.typical) =]",
        "[% claim slow.typical > fast.typical %]慢[% endclaim %]",
        "[= best(slow, fast).typical =]",
        "[= total(slow.typical, fast.typical) =]",
        '[= ratio(slow.typical, fast.typical, across="dtype") =]',
        '[= ratio(slow.typical, fast.typical, across="machine") =]',
    ]
    change(book, {"a.md": SETS + "# 甲\n\n" + "\n\n".join(sources) + "\n", "b.md": OTHER.replace("a.md", "b.md")})
    found = mistakes(book)
    assert [m.split("：")[0] for m in found] == [f"docs/a.md:{6 + 2 * k}" for k in range(len(sources))]
    assert all("数据类型不同（f32、f64）" in m for m in found[:6])
    assert "设备不同（cpu、cuda）" in found[6]


def test_c24_a_device_that_is_not_there_is_no_other_device(store: Store, lab: None, program: Callable[..., RustProgram]) -> None:
    """A program that cannot have it ends with an error; hardware that is declared missing is recorded as absent."""
    case = Case("gpu", program("gpu", "sys.exit('no CUDA device')", lines(facts=(fact("device", "cuda"),))))
    reason, stderr = failure(store, case)
    assert (reason, stderr) == ("退出码 1", "no CUDA device")
    gone = Case("gpu", program("gpu", "sys.exit('no CUDA device')"), missing=lambda machine: "没有 CUDA 设备")
    record = runner.run(experiment(Case("cpu", program("cpu")), gone), store)
    assert isinstance(record, Measured)
    assert [(a.case, a.reason) for a in record.absent] == [("gpu", "没有 CUDA 设备")]
    assert "cuda" not in dumps(record).lower().replace("没有 cuda 设备", "")
