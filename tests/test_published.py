"""The committed record of published figures says what was printed, and what was printed agrees with itself."""

from pathlib import Path

import pytest

from measure import store
from measure.protocol import Line, parse_line
from measure.record import Published, PublishedSeries
from measure.store import ROOT, Store

WHATS = {"1024x1024 matmul": "matmul", "MLP 784-512-10 batch 256 train step": "train-step"}
CASES = {
    "pitb-exec-cpu": "burn-template",
    "pitb-exec-cpu-simd": "burn-simd",
    "pitb-exec-cpu-default": "burn-default",
    "pitb-exec-cpu-amx": "burn-amx",
    "torch threads 1": "torch",
    "torch threads 8": "torch",
}


@pytest.fixture(scope="module")
def record() -> Published:
    found = Store().load("cpu-matmul", "apple-m2-max")
    assert isinstance(found, Published)
    return found


def printed(record: Published, case: str, metric: str, threads: int | str, round_: int | None) -> PublishedSeries:
    (found,) = [
        s
        for s in record.series
        if (s.case, s.metric, s.params, s.round, s.phase, s.scope)
        == (case, metric, {"threads": threads}, round_, "steady", "ready")
    ]
    return found


def lowest(record: Published, case: str, metric: str) -> float:
    """Over the rounds, in the setting that readers get without asking (torch: any)."""
    wanted = {"unset"} if case != "torch" else {1, "all"}
    return min(
        s.printed["min"].value for s in record.series if s.case == case and s.metric == metric and s.params["threads"] in wanted
    )


@pytest.mark.parametrize("path", sorted(ROOT.glob("published/*/*.json")), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_files_are_as_the_store_writes_them(path: Path) -> None:
    assert store.dumps(store.load_file(path)) == path.read_text(encoding="utf-8")


def test_every_series_is_a_printed_line_and_every_line_a_series(record: Published) -> None:
    from_lines = []
    for output in record.outputs:
        for text in output.text.splitlines():
            if text == "...":
                continue
            line = parse_line(text)
            assert isinstance(line, Line), text
            assert CASES[line.label] == output.case
            if output.case == "torch":
                assert line.label.endswith({1: " 1", "all": " 8"}[output.params["threads"]])
            key = (output.case, WHATS[line.what], output.params["threads"], output.round)
            from_lines.append((*key, line.runs, line.warm_up, line.min, line.median))
    from_series = [
        (s.case, s.metric, s.params["threads"], s.round, s.n, s.warm_up, s.printed["min"].text, s.printed["median"].text)
        for s in record.series
    ]
    assert {p.unit for s in record.series for p in s.printed.values()} == {"ms"}
    assert len(from_series) == 32
    assert sorted(from_lines, key=str) == sorted(from_series, key=str)


@pytest.mark.parametrize(
    ("case", "metric", "threads", "round_", "minimum", "median"),
    [
        ("torch", "matmul", 1, 1, "0.855", "0.922"),
        ("torch", "matmul", 1, 2, "0.798", "0.826"),
        ("torch", "matmul", "all", 1, "0.799", "0.832"),
        ("torch", "train-step", 1, 1, "0.574", "0.770"),
        ("torch", "train-step", "all", 2, "0.698", "0.790"),
        ("burn-template", "matmul", "unset", 1, "21.424", "22.005"),
        ("burn-template", "train-step", "unset", 2, "4.451", "4.932"),
        ("burn-simd", "matmul", "unset", 2, "3.496", "3.802"),
        ("burn-simd", "matmul", 1, None, "21.599", "22.114"),
        ("burn-simd", "train-step", "all", None, "1.650", "2.079"),
        ("burn-default", "train-step", "unset", 1, "1.769", "2.249"),
        ("burn-amx", "matmul", "unset", 1, "1.563", "1.721"),
        ("burn-amx", "matmul", 1, None, "3.488", "3.647"),
        ("burn-amx", "train-step", "unset", 2, "1.235", "1.559"),
        ("burn-amx", "train-step", 1, None, "1.038", "1.108"),
        ("burn-amx", "matmul", "all", None, "1.423", "1.540"),
    ],
)
def test_figures_as_published(
    record: Published, case: str, metric: str, threads: int | str, round_: int | None, minimum: str, median: str
) -> None:
    series = printed(record, case, metric, threads, round_)
    assert (series.printed["min"].text, series.printed["median"].text) == (minimum, median)
    assert series.n == 20
    assert series.warm_up == (3 if metric == "train-step" else None)


@pytest.mark.parametrize(
    ("case", "metric", "factor"),
    [
        ("burn-template", "matmul", "27"),
        ("burn-template", "train-step", "7.7"),
        ("burn-simd", "matmul", "4.4"),
        ("burn-simd", "train-step", "2.8"),
        ("burn-default", "matmul", "4.4"),
        ("burn-default", "train-step", "3.1"),
        ("burn-amx", "matmul", "2.0"),
        ("burn-amx", "train-step", "2.2"),
    ],
)
def test_our_ratios_are_the_published_ones(record: Published, case: str, metric: str, factor: str) -> None:
    ratio = lowest(record, case, metric) / lowest(record, "torch", metric)
    assert f"{ratio:#.2g}".rstrip(".") == factor
    assert [f.value for f in record.facts if (f.name, f.case) == (f"factor-{metric}", case)] == [factor]


def test_what_is_not_a_time(record: Published) -> None:
    assert (record.machine.cores, record.machine.efficiency_cores, record.machine.memory_gib) == (12, 4, None)
    assert "4 到 7" in record.conditions
    assert record.versions == {"burn": "0.22.1", "burn-flex": "0.22.1", "rustc": "1.99.0", "torch": "2.15.0"}
    assert {b.package: b.resolved for b in record.builds} == {
        "pitb-exec-cpu": ("burn-flex v0.22.1 [std]",),
        "pitb-exec-cpu-simd": ("burn-flex v0.22.1 [rayon,simd,std]",),
        "pitb-exec-cpu-default": ("burn-flex v0.22.1 [default,rayon,simd,std]",),
        "pitb-exec-cpu-amx": ("burn-flex v0.22.1 [apple-amx,rayon,simd,std]",),
    }
    assert [a.case for a in record.absent] == ["burn-x86v4"]
    assert [f.value for f in record.facts if f.name == "blas"] == ["accelerate"]
