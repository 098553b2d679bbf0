"""Machines side by side: each value leads to its own record, printed figures stay as printed, and nothing is computed across."""

import re
from html import unescape

from measure import comparison
from measure.record import Absent, Machine, Printed, Published, PublishedSeries
from tests.records import LAB, measured, runs

M2 = Machine(label="m2", cpu="Apple M2 Max", cores=12, memory_gib=None, system="macOS")


def printed(case: str, round_: int, **texts: str) -> PublishedSeries:
    figures = {name: Printed(text=text, unit="ms") for name, text in texts.items()}
    return PublishedSeries.model_validate(
        {"case": case, "metric": "matmul", "phase": "steady", "scope": "ready", "round": round_, "n": 20, "printed": figures}
    )


BOOK = Published(
    schema_version=1, origin="published", experiment="x", machine=M2, source="书", conditions="负载 4 到 7", versions={},
    series=(printed("slow", 1, min="21.424", median="22.005"), printed("slow", 2, min="21.634", median="22.048"), printed("amx", 1, min="1.56")),
    absent=(Absent(case="avx", reason="这是 Apple 芯片"),),
)  # fmt: skip
OURS = measured(
    *runs("slow", (0.04, 0.05, 0.06), (0.02, 0.03, 0.04)), *runs("avx", (0.01,)), machine=LAB, absent=(Absent(case="amx", reason="没有 AMX"),)
)  # fmt: skip


def rows(*stale: str) -> dict[str, list[str]]:
    (placed,) = comparison.page("问题？", [OURS, BOOK], {"lab": stale})[1]
    found = {}
    for row in re.findall(r"<tr>(.*?)</tr>", placed.html):
        head, *cells = re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)
        found[re.sub(r"<[^>]*>", "", head)] = [unescape(re.sub(r"<[^>]*>", " ", cell)).strip() for cell in cells]
    return found


def test_each_machine_has_a_column() -> None:
    found = rows()
    assert [" ".join(cell.split()) for cell in found["slow"]] == [
        "典型值 40.0 ms 最小 20.0 ms n = 6",
        "中位数 22.005 ms / 22.048 ms 最小 21.424 ms / 21.634 ms n = 40",
    ]
    assert found["amx"] == ["没有：没有 AMX", "最小 1.56 ms  n = 20"]
    assert found["avx"][1] == "没有：这是 Apple 芯片"
    assert "matmul · steady · ready" in found


def test_figures_that_somebody_printed_are_marked_so() -> None:
    lab, m2 = rows()["数据"]
    assert lab.startswith("lab  2026-11-30")
    assert m2.startswith("m2   已发表")
    assert "过期" not in lab
    assert "过期" in rows("a.rs")["数据"][0]


def test_every_value_leads_to_its_record() -> None:
    (placed,) = comparison.page("问题？", [OURS, BOOK], {})[1]
    assert set(re.findall(r'href="([^"]*)#', placed.html)) == {"../../lab/x/", "../../m2/x/"}
    assert 'href="../../m2/x/#amx-matmul-steady-ready"' in placed.html
