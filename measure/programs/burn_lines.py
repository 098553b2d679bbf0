"""The lines that the programs of the burn volume's page on timing print, in PyTorch and in burn."""

from measure.lines import Form

TORCH = Form("torch {version:s}, threads {threads:d}")
WAY = Form("{device} {size:d}x{size:d} matmul {way}, {n:d} runs: min {min:t} median {median:t}")
"""One way of timing a matmul, such as `no sync`."""
NO_TIME = Form("{device} {size:d}x{size:d} matmul {way}: {k:d} of {n:d} read as no time")
INIT = Form("{device}: device init {time:t}")
FIRST = Form("{device} {size:d}x{size:d} matmul first call: returned {returned:t}, after sync {synced:t}")
FIRST_SYNCED = Form("{device} {size:d}x{size:d} matmul first call: {synced:t}")
"""On a device where a call that has returned is done."""
WARM_UP = Form("warm-up {kind:s}, timed run {run:d}: after sync {time:t}")
AGREE = Form("{what:<20} max|x - f64 ref| = {error:s}   max|x - torch cpu| = {difference:s}")
"""Errors are words, for they were published as Python prints them: `2.008e-06`."""
ERROR = Form("{what:<20} max|x - f64 ref| = {error:s}")
"""What a program can say that has nothing of torch beside it."""
REFERENCE = Form("max |ref| = {max:.3f}")
