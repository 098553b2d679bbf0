"""What to say when the system refuses a file: which one, why, and the cure."""

from __future__ import annotations

import errno
import os
from pathlib import Path

REASONS = {
    errno.ENOSPC: ("磁盘满了", "腾出空间"),
    errno.EDQUOT: ("磁盘配额用完了", "腾出空间"),
    errno.EFBIG: ("文件大小超过限制", "放宽限制（ulimit -f）"),
    errno.EROFS: ("文件系统是只读的", "把它改成可写的，或换一个能写的地方"),
    errno.EACCES: ("没有权限", "改好它的权限，或换一个能写的地方"),
    errno.EPERM: ("没有权限", "改好它的权限，或换一个能写的地方"),
    errno.ENAMETOOLONG: ("路径太长", "换一个短一些的路径"),
}


def refusal(error: OSError, path: Path | None = None) -> str:
    """One Chinese sentence for an error of the file system. `path` is what it was about, if the error names none or a passing one."""
    named = path or error.filename2 or error.filename or "磁盘"
    reason, cure = REASONS.get(error.errno or 0, ("系统不让读写", "检查这个路径"))
    return (
        f"{os.fsdecode(named) if isinstance(named, bytes) else named}：{reason}（{error.strerror or error}）。{cure}，再运行一次"
    )
