"""What takes long to make and depends on nothing but its input: made once, and kept outside the tree under the hash of that input."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress

from measure.machine import cache_dir

DIGEST = hashlib.sha256().digest_size


def kept(kind: str, of: bytes, make: Callable[[], bytes]) -> bytes:
    """What `make` gives, from the cache if it was made from the same `of` before. `of` has to name everything the result depends on.

    A file that is cut off or altered counts as none. Where the cache can be neither read nor written, the result is made each time.
    """
    path = cache_dir() / kind / hashlib.sha256(of).hexdigest()
    with suppress(OSError):
        data = path.read_bytes()
        if hashlib.sha256(data[DIGEST:]).digest() == data[:DIGEST]:
            return data[DIGEST:]
    made = make()
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)  # code lies there: nobody else may write it
        temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
        temporary.write_bytes(hashlib.sha256(made).digest() + made)
        temporary.replace(path)
    return made
