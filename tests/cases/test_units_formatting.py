"""One spelling of units, and no number that is none."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from measure import runner
from measure.experiment import Case, RustProgram
from measure.record import Measured
from measure.store import Store, StoreError, dumps, load_file
from tests.books import SETS, change, good, mistakes, of, page
from tests.programs import experiment, failure, lines
from tests.records import measured, runs, timed

SAME = {"0.0123": "s", "12.3": "ms", "12300": "µs", "12300.0": "μs", "1.23e4": "us", "12300000": "ns"}


def test_c25_every_spelling_of_a_duration_is_the_same(
    book: Path, store: Store, lab: None, program: Callable[..., RustProgram]
) -> None:
    """Six programs write one duration in six ways; the page shows one, and every ratio is 1."""
    cases = [
        Case(f"v{k}", program(f"v{k}", written=[line.replace('"ns"', json.dumps(unit)) for line in lines(f"[{value}]")]))
        for k, (value, unit) in enumerate(SAME.items())
    ]
    record = runner.run(experiment(*cases), store)
    assert {s.samples for r in record.runs for s in r.series} == {(0.0123,)}
    Store(book / "records").save(of(record))
    (book / "records/measured/box/cpu-matmul.json").unlink()
    names = [f'm.series("v{k}", "matmul").typical' for k in range(len(SAME))]
    ratios = " ".join(f"[= {one} / {other} =]" for one in names for other in names)
    source = f'[% set m = record("cpu-matmul") %]# 甲\n\n{" ".join(f"[= {n} =]" for n in names)}\n\n{ratios}\n'
    change(book, {"a.md": source, "b.md": "# 乙\n"})
    html = page(good(book), "a")
    assert re.findall(r">([\d.]+ \S+)</a></data>", html) == ["12.3 ms"] * 6
    assert re.findall(r">([\d.]+)</a></data>", html) == ["1.0"] * 36
    assert "μ" not in html  # Greek mu


@pytest.mark.parametrize("unit", ["m", "", "sec", "S", "Ms", "mS", "us ", "毫秒", "min", "KiB", None, 1])
def test_c25_a_unit_that_is_missing_or_unknown_is_refused(
    store: Store, lab: None, program: Callable[..., RustProgram], unit: object
) -> None:
    written = lines()
    series = json.loads(written[1])
    series |= {"unit": unit}
    for line in (json.dumps(series), json.dumps({k: v for k, v in series.items() if k != "unit"})):
        reason, _ = failure(store, Case("a", program("a", written=[written[0], line, *written[2:]])))
        assert reason.startswith("第 2 行")


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "null", "1e999", '"1"', "true", "-1e-9", "0", "-0.0"])
def test_c27_no_value_that_is_no_time_is_measured(
    store: Store, lab: None, program: Callable[..., RustProgram], value: str
) -> None:
    reason, _ = failure(store, Case("a", program("a", written=lines(f"[1000, {value}]"))))
    assert reason.startswith("第 2 行")


@pytest.mark.parametrize("value", ["NaN", "Infinity", "null", "1e999", "-1e-9", "0.0"])
def test_c27_no_value_that_is_no_time_is_read_from_a_file(book: Path, value: str) -> None:
    path = book / "records/measured/lab/cpu-matmul.json"
    path.write_text(re.sub(r"0\.04\b", value, path.read_text(encoding="utf-8"), count=1), encoding="utf-8")
    with pytest.raises(StoreError, match="损坏"):
        load_file(path)
    (found,) = mistakes(book)
    assert found.startswith("records/measured/lab/cpu-matmul.json:1：")


def test_c27_no_ratio_that_is_no_number_is_shown(book: Path) -> None:
    """Counts may be zero or negative; what is divided by one, or too large for a number, stops the build with its name."""
    odd = [
        timed("zero", 0.0, unit="1"),
        timed("below", -1e-9, unit="1"),
        timed("tiny", 5e-324, unit="1"),
        timed("huge", 1e308, unit="1"),
    ]
    record = measured(*runs("slow", (0.04,) * 3, series=odd), *runs("fast", (0.01,) * 3))
    Store(book / "records").save(of(record))
    (book / "records/measured/box/cpu-matmul.json").unlink()
    at = 'm.series("slow", "{}").typical'
    sources = [f"[= ratio({at.format('huge')}, {at.format(name)}) =]" for name in ("zero", "below", "tiny")]
    sources += [f"[= {at.format('huge')} * 1e308 =]", f"[= {at.format('huge')} * {at.format('huge')} =]"]
    change(book, {"a.md": SETS + "# 甲\n\n" + "\n\n".join(sources) + "\n", "b.md": "# 乙\n"})
    found = mistakes(book)
    assert [m.split("：")[0] for m in found] == [f"docs/a.md:{6 + 2 * k}" for k in range(len(sources))]
    assert all("slow/" in m for m in found)


def test_c27_the_store_writes_no_nan() -> None:
    record = measured(*runs("slow", (0.04,)))
    broken = record.model_copy(update={"runs": (record.runs[0].model_copy(update={"cpu": float("nan")}),)})
    assert isinstance(broken, Measured)
    with pytest.raises(ValueError, match="JSON"):
        dumps(broken)
