"""Numbers are written and read with a point, wherever somebody lives."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from measure import runner
from measure.experiment import Case, RustProgram
from measure.protocol import ProtocolError, parse_line
from measure.store import Store, dumps
from tests import elsewhere
from tests.books import contents, good
from tests.programs import experiment, failure, lines


@pytest.mark.parametrize("names", [("LC_ALL",), ("LC_NUMERIC", "LANG")], ids=" ".join)
def test_c28_a_site_is_the_same_where_one_half_is_0_comma_5(book: Path, names: tuple[str, ...]) -> None:
    german = elsewhere.with_decimal_commas()
    place = {"LOCPATH": german["LOCPATH"], **dict.fromkeys(names, german["LC_ALL"])}
    here = contents(good(book, "--strict", LC_ALL="C.UTF-8"))
    assert contents(good(book, "--strict", **place)) == here


def test_c28_a_program_runs_in_no_country(
    store: Store, lab: None, program: Callable[..., RustProgram], monkeypatch: pytest.MonkeyPatch
) -> None:
    body = "print(subprocess.run(['awk', 'BEGIN { printf \"%.1f\", 1/2 }'], capture_output=True, text=True).stdout)"
    case = Case("a", program("a", body))
    before = runner.run(experiment(case), store)
    for name, value in elsewhere.with_decimal_commas().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("LC_NUMERIC", "de_DE.UTF-8")
    after = runner.run(experiment(case), store)
    assert [r.stdout for record in (before, after) for r in record.runs] == ["0.5\n"] * 2
    assert "0,5" not in dumps(after)


@pytest.mark.parametrize("samples", ["[12,5]", "[12,5, 13,5]", '["12,5"]', "[12,500.0]", "[１２.5]", "[12.5e]", "[0x1F]"])
def test_c28_a_decimal_comma_is_refused_or_is_two_numbers_of_a_list(
    store: Store, lab: None, program: Callable[..., RustProgram], samples: str
) -> None:
    """JSON has no decimal comma: `[12,5]` is a list of two, which a program that counts its samples cannot write by accident."""
    case = Case("a", program("a", written=[line.replace('"warm_up": 1', '"warm_up": 1, "n": 1') for line in lines(samples)]))
    reason, _ = failure(store, case)
    assert reason.startswith("第 2 行")


@pytest.mark.parametrize("number", ["12,500", "12,5", "1.234,500", "12·500", "１２.500"])
def test_c28_a_printed_line_with_another_number_is_no_measurement(number: str) -> None:
    with pytest.raises(ProtocolError, match=r"小数点是「\.」"):
        parse_line(f"torch: 1024x1024 matmul, 20 runs: min {number}ms median 13.000ms")
