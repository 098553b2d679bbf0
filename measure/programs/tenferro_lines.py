"""The lines that the programs of the tenferro volume print, in JAX and in tenferro."""

from measure.lines import Form

CALL = Form(
    "{what:<15} first call: returned after {first_returned:7.1f} ms, ready after {first_ready:7.1f} ms"
    " | steady: returned after {returned:7.3f} ms, ready after {ready:7.1f} ms"
)
"""A call of a jitted function: when it came back and when its result was there. Steady is the median."""
AOT = Form(
    "{what:<15} AOT on a fresh function: trace+lower {trace:7.1f} ms, compile {compile:7.1f} ms, first run {first:7.1f} ms"
)
PREPARE = Form("build+grad+compile+prepare all programs {prepare:.1f} ms ({shapes:d} step shapes, {ops:d} ops in total)")
VALUE = Form("beta={beta:.2f} lnZ/N={lnz:.15f} exact={exact:.15f} err={err:+.3e}")
RUN = Form(
    "  run ms: value first {value_first:.2f} steady {value_steady:.3f};"
    " value+grad first {grad_first:.2f} steady {grad_steady:.3f}"
)
"""Steady is the median."""
RUN_VALUE = Form("  run ms: value first {value_first:.2f} steady {value_steady:.3f}")
NOT_BEGUN = Form("beta={beta:.2f}: not begun, {seconds:d} s are over")
WHOLE = Form("steps={steps:d}: build+grad {trace:.1f} ms, compile+prepare {prepare:.1f} ms ({ops:d} ops)")
WHOLE_NOT_DONE = Form("steps={steps:d}: not done, {seconds:d} s are over")
VECTOR = Form("torch imported={torch} trial {trial:d}: min {min:6.1f} us  median {median:6.1f} us  p90 {p90:6.1f} us")
VECTOR_TENFERRO = Form("width={width:d} trial {trial:d}: min {min:6.1f} us  median {median:6.1f} us  p90 {p90:6.1f} us")
VECTOR_FIRST = Form("width={width:d} first run {first:.1f} us")
SVD = Form("{what} 256x256 ({matrix}): min of {n:d} {min:.3f} ms")
"""`what` is `jax jit svd`, `numpy svd`, `scipy gesdd` or `scipy gesvd`: the published lines name a LAPACK routine without svd."""
SVD_TENFERRO = Form(
    "tenferro native svd 256x256 width={width:d}: first {first:.3f} ms, min of {n:d} {min:.3f} ms (checksum {checksum:.6f})"
)
PIPELINE = Form(
    "round {round:d}: {calls:d} calls dispatched in {dispatched:.2f} ms, all ready after {ready:.1f} ms"
    " | {calls:d} calls each waited {waited:.1f} ms"
)
CHAINED = Form(
    "{calls:d} dependent calls: each returned after {min:.3f} to {max:.3f} ms, all after {returned:.1f} ms, then waited {wait:.1f} ms"
)
INSIDE = Form(
    "evaluation {round:d}: svd {svd:.1f} ms, contraction {contraction:.1f} ms, rest {rest:.1f} ms, whole {whole:.1f} ms"
)
CORES = Form("cores observed {cores:.2f}")
"""CPU time over wall time of the steady calls."""
