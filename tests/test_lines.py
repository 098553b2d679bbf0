"""The lines of the programs on timing: what one writes, it reads back, and it reads the lines as they were published."""

import re

import pytest

from measure.lines import Form, duration
from measure.programs.burn_lines import AGREE, ERROR, FIRST, FIRST_SYNCED, INIT, NO_TIME, REFERENCE, TORCH, WARM_UP, WAY
from measure.programs.tenferro_lines import (
    AOT,
    CALL,
    PIPELINE,
    PREPARE,
    RUN,
    SVD,
    SVD_TENFERRO,
    VALUE,
    VECTOR,
    VECTOR_FIRST,
    VECTOR_TENFERRO,
)

PUBLISHED = [
    (
        CALL,
        (
            "grad            first call: returned after   872.6 ms, ready after  1226.6 ms"
            " | steady: returned after   0.079 ms, ready after   223.5 ms"
        ),
        {"what": "grad", "first_returned": 872.6, "first_ready": 1226.6, "returned": 0.079, "ready": 223.5},
    ),
    (
        AOT,
        "value_and_grad  AOT on a fresh function: trace+lower   287.9 ms, compile   541.3 ms, first run   350.1 ms",
        {"what": "value_and_grad", "trace": 287.9, "compile": 541.3, "first": 350.1},
    ),
    (
        PREPARE,
        "build+grad+compile+prepare all programs 27.4 ms (5 step shapes, 1330 ops in total)",
        {"prepare": 27.4, "shapes": 5, "ops": 1330},
    ),
    (
        VALUE,
        "beta=0.40 lnZ/N=0.879363060306851 exact=0.879363820774948 err=-7.605e-7",
        {"beta": 0.4, "lnz": 0.879363060306851, "exact": 0.879363820774948, "err": -7.605e-7},
    ),
    (
        VALUE,
        "beta=0.50 lnZ/N=1.025792858455947 exact=1.025792812694918 err=+4.576e-8",
        {"beta": 0.5, "lnz": 1.025792858455947, "exact": 1.025792812694918, "err": 4.576e-8},
    ),
    (
        RUN,
        "  run ms: value first 5688.41 steady 3954.460; value+grad first 10896.22 steady 9816.194",
        {"value_first": 5688.41, "value_steady": 3954.46, "grad_first": 10896.22, "grad_steady": 9816.194},
    ),
    (
        VECTOR,
        "torch imported=True trial 0: min    9.6 us  median   17.0 us  p90   18.3 us",
        {"torch": True, "trial": 0, "min": 9.6, "median": 17.0, "p90": 18.3},
    ),
    (
        VECTOR_TENFERRO,
        "width=8 trial 0: min   19.5 us  median   20.4 us  p90   24.7 us",
        {"width": 8, "trial": 0, "min": 19.5, "median": 20.4, "p90": 24.7},
    ),
    (VECTOR_FIRST, "width=1 first run 5485.1 us", {"width": 1, "first": 5485.1}),
    (SVD, "jax jit svd 256x256 (trg): min of 30 5.373 ms", {"what": "jax jit svd", "matrix": "trg", "n": 30, "min": 5.373}),
    (SVD, "scipy gesvd 256x256 (trg): min of 30 24.814 ms", {"what": "scipy gesvd", "matrix": "trg", "n": 30, "min": 24.814}),
    (
        SVD_TENFERRO,
        "tenferro native svd 256x256 width=1: first 10.061 ms, min of 30 8.997 ms (checksum -17.951184)",
        {"width": 1, "first": 10.061, "n": 30, "min": 8.997, "checksum": -17.951184},
    ),
    (
        PIPELINE,
        "round 1: 10 calls dispatched in 0.13 ms, all ready after 1576.4 ms | 10 calls each waited 1559.7 ms",
        {"round": 1, "calls": 10, "dispatched": 0.13, "ready": 1576.4, "waited": 1559.7},
    ),
    (TORCH, "torch 2.15.0, threads 8", {"version": "2.15.0", "threads": 8}),
    (
        WAY,
        "mps 1024x1024 matmul + sum().item(), 20 runs: min 592.459µs median 985.416µs",
        {"device": "mps", "size": 1024, "way": "+ sum().item()", "n": 20, "min": 592_459, "median": 985_416},
    ),
    (
        WAY,
        "flex(template) 1024x1024 matmul no sync, 20 runs: min 21.637ms median 22.352ms",
        {"device": "flex(template)", "size": 1024, "way": "no sync", "n": 20, "min": 21_637_000, "median": 22_352_000},
    ),
    (
        NO_TIME,
        "metal 1024x1024 matmul device time (profile, no flush): 20 of 20 read as no time",
        {"device": "metal", "size": 1024, "way": "device time (profile, no flush)", "k": 20, "n": 20},
    ),
    (INIT, "mps: device init 79.764ms", {"device": "mps", "time": 79_764_000}),
    (
        FIRST,
        "metal 1024x1024 matmul first call: returned 10.875µs, after sync 3.600s",
        {"device": "metal", "size": 1024, "returned": 10_875, "synced": 3_600_000_000},
    ),
    (
        FIRST_SYNCED,
        "flex+apple-amx 1024x1024 matmul first call: 3.004ms",
        {"device": "flex+apple-amx", "size": 1024, "synced": 3_004_000},
    ),
    (WARM_UP, "warm-up kept, timed run 0: after sync 3.379s", {"kind": "kept", "run": 0, "time": 3_379_000_000}),
    (
        AGREE,
        "burn flex apple-amx  max|x - f64 ref| = 2.227e-06   max|x - torch cpu| = 2.027e-06",
        {"what": "burn flex apple-amx", "error": "2.227e-06", "difference": "2.027e-06"},
    ),
    (ERROR, "torch cpu            max|x - f64 ref| = 2.008e-06", {"what": "torch cpu", "error": "2.008e-06"}),
    (REFERENCE, "max |ref| = 1.095", {"max": 1.095}),
]


def nanoseconds(text: str) -> int | None:
    """What a time says, or None for another text."""
    found = re.fullmatch(r"(\d+)\.(\d{3})(s|ms|µs|ns)", text)
    return None if found is None else int(found[1] + found[2]) * {"s": 10**9, "ms": 10**6, "µs": 10**3, "ns": 1}[found[3]] // 1000


@pytest.mark.parametrize(("form", "line", "values"), PUBLISHED, ids=lambda x: str(x)[:20] if isinstance(x, str) else "")
def test_published_lines_both_ways(form: Form, line: str, values: dict[str, object]) -> None:
    assert form.format(**values) == line
    read = form.parse(line)
    assert read is not None
    assert read.keys() == values.keys()
    for name, value in values.items():
        assert read[name] in (value, str(value)) or nanoseconds(read[name]) == value or float(read[name]) == value


def test_a_line_is_of_one_kind() -> None:
    forms = list(dict.fromkeys(form for form, _, _ in PUBLISHED))
    for form, line, _ in PUBLISHED:
        assert [f for f in forms if f.parse(line) is not None] == [form]


def test_digits_stay_as_they_were_printed() -> None:
    assert SVD.parse("numpy svd 256x256 (trg): min of 30 5.380 ms") == {
        "what": "numpy svd", "matrix": "trg", "n": "30", "min": "5.380",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (-7.150e-9, "-7.150e-9"),
        (4.5759e-8, "+4.576e-8"),
        (1.25e-300, "+1.250e-300"),
        (-2e10, "-2.000e10"),
        (0.0, "+0.000e0"),
        (-0.5, "-5.000e-1"),
        (9.9996e-11, "+1.000e-10"),
    ],
)
def test_exponents_look_as_in_rust(value: float, shown: str) -> None:
    form = Form("err={err:+.3e}")
    assert form.format(err=value) == f"err={shown}"
    assert form.parse(f"err={shown}") == {"err": shown}


def test_exponents_of_python_are_not_ours() -> None:
    assert VALUE.parse("beta=0.30 lnZ/N=0.790559063800966 exact=0.790559070951263 err=-7.150e-09") is None


@pytest.mark.parametrize(
    ("time", "shown"),
    [
        (28_166, "28.166µs"),
        (1_118_000, "1.118ms"),
        (791, "791.000ns"),
        (3_600_000_000, "3.600s"),
        (1, "1.000ns"),
        (999, "999.000ns"),
        (1_000, "1.000µs"),
        (999_999_600, "1000.000ms"),  # Rust chooses the unit before it rounds
        (132_103_400, "132.103ms"),
        (132_103_600, "132.104ms"),
        (1_000_500, "1.000ms"),  # ties go to the even digit
        (1_001_500, "1.002ms"),
        (1_375.25, "1.375µs"),
        (83_000_000_000, "83.000s"),
    ],
)
def test_times_look_as_in_rust(time: float, shown: str) -> None:
    assert duration(time) == shown
    line = INIT.format(device="metal", time=time)
    assert line == f"metal: device init {shown}"
    assert INIT.parse(line) == {"device": "metal", "time": shown}


@pytest.mark.parametrize("time", ["28.166us", "28.166μs", "28.16µs", "28.166 µs", "28166ns", "0.5m", "1.000"])
def test_other_times_are_not_ours(time: str) -> None:
    assert INIT.parse(f"metal: device init {time}") is None
    with pytest.raises(TypeError, match="nanoseconds"):
        INIT.format(device="metal", time=time)


def test_words_that_were_left_out() -> None:
    line = "value           ... steady: returned after   0.060 ms, ready after   160.3 ms"
    assert CALL.parse(line) == {"what": "value", "returned": "0.060", "ready": "160.3"}
    assert VALUE.parse("beta=0.30 ...") == {"beta": "0.30"}
    assert VALUE.parse("... exact=1.025792812694918 err=+4.576e-8") == {"exact": "1.025792812694918", "err": "+4.576e-8"}
    assert CALL.parse("value           ... steady: returned after   0.060 ms") is None
    assert AOT.parse(line) is None
    assert AOT.parse("value           ...") is None
    assert SVD.parse("beta=0.30 ...") is None
    assert CALL.parse(line.replace(" ... ", " .. ")) is None
    assert CALL.parse(line.replace("value  ", "value ")) is None


@pytest.mark.parametrize(
    "line",
    [
        "torch imported=True trial 0: min   9.6 us  median   17.0 us  p90   18.3 us",  # a space too few
        "torch imported=True trial 0: min     9.6 us  median   17.0 us  p90   18.3 us",  # one too many
        "torch imported=True trial 0: min    9.60 us  median   17.0 us  p90   18.3 us",  # a digit too many
        "torch imported=True trial 0: min    9.6 us  median   17.0 us  p90   18.3 us\n",
        "torch imported=True trial zero: min    9.6 us  median   17.0 us  p90   18.3 us",
        "",
    ],
)
def test_padding_and_digits_are_part_of_a_form(line: str) -> None:
    assert VECTOR.parse(line) is None


def test_long_values_push_the_rest_along() -> None:
    line = VECTOR.format(torch=False, trial=1, min=12345678.0, median=1.0, p90=2.0)
    assert line == "torch imported=False trial 1: min 12345678.0 us  median    1.0 us  p90    2.0 us"
    assert VECTOR.parse(line) == {"torch": "False", "trial": "1", "min": "12345678.0", "median": "1.0", "p90": "2.0"}


def test_one_name_has_one_text() -> None:
    good = PIPELINE.format(round=0, calls=10, dispatched=0.1, ready=1553.8, waited=1557.1)
    assert PIPELINE.parse(good) is not None
    assert PIPELINE.parse(good.replace("| 10 calls", "| 11 calls")) is None


def test_what_could_not_be_read_back_is_not_printed() -> None:
    with pytest.raises(ValueError, match="读不回来"):
        VECTOR_FIRST.format(width=1, first=float("nan"))
    with pytest.raises(ValueError, match="读不回来"):
        SVD.format(what="numpy\nsvd", matrix="trg", n=30, min=1.0)
    with pytest.raises(TypeError, match="first"):
        VECTOR_FIRST.format(width=1)
    with pytest.raises(TypeError, match="extra"):
        VECTOR_FIRST.format(width=1, first=2.0, extra=3)


@pytest.mark.parametrize("template", ["{a:7.1g}", "{a:.2}", "{a:f}", "{a:^5}"])
def test_templates_that_rust_would_print_otherwise(template: str) -> None:
    with pytest.raises(ValueError, match="cannot be printed"):
        Form(template)
