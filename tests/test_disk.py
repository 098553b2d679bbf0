"""What people read when the system refuses a file."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from measure.disk import refusal


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.EROFS, "Read-only file system", "a"), "a：文件系统是只读的（Read-only file system）。把它改成可写的，或换一个能写的地方，再运行一次"),
        (OSError(errno.ENOSPC, "No space left on device", "a", None, "b"), "b：磁盘满了（No space left on device）。腾出空间，再运行一次"),
        (OSError(errno.EACCES, "Permission denied", b"\xe4\xb9\xa6"), "书：没有权限（Permission denied）。改好它的权限，或换一个能写的地方，再运行一次"),
        (OSError(errno.EIO, "Input/output error"), "磁盘：系统不让读写（Input/output error）。检查这个路径，再运行一次"),
        (OSError("odd"), "磁盘：系统不让读写（odd）。检查这个路径，再运行一次"),
    ],
)  # fmt: skip
def test_a_refusal_names_path_reason_and_cure(error: OSError, said: str) -> None:
    assert refusal(error) == said


def test_the_caller_may_know_better_what_it_was_about() -> None:
    assert refusal(OSError(errno.EFBIG, "File too large", ".x.tmp"), Path("x.json")).startswith("x.json：文件大小超过限制（")
