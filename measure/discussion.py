"""💬 关联讨论: a link below a page to its thread on GitHub, and giscus in its place for a reader who asks for it.

Nothing is asked of another host before the click; `docs/assets/discussion.js` does the rest. Settings: https://giscus.app/zh-CN
"""

from __future__ import annotations

from html import escape
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field, ValidationError

HEADING = "关联讨论"
"""The section of a page that ends with the link."""
SETTING = "extra.discussion"


class SettingsError(ValueError):
    """Settings that are not whole. The message names every one of them, and the cure."""


class Discussion(BaseModel):
    """Where the threads are. Without a repository id there are none."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    repository: str = Field("", pattern=r"^([A-Za-z0-9-]+/[\w.-]+)?$")
    """`owner/name` on GitHub."""
    repository_id: str = Field("", pattern=r"^[\w=-]*$")
    category: str = ""
    category_id: str = Field("", pattern=r"^[\w=-]*$")


def settings(extra: object) -> Discussion:
    """What `mkdocs.yml` says. Raises `SettingsError`."""
    try:
        found = Discussion.model_validate({} if extra is None else extra)
    except ValidationError as error:
        wrong = "；".join(f"{SETTING}.{'.'.join(map(str, e['loc']))}（{e['input']!r}）" for e in error.errors())
        known = "、".join(Discussion.model_fields)
        raise SettingsError(f"{wrong} 不对。能写的只有 {known}，值照 https://giscus.app/zh-CN 给出的写，都加引号") from None
    left_out = [name for name, value in found if not value]
    if found.repository_id and left_out:
        raise SettingsError(f"{SETTING} 还缺 {'、'.join(left_out)}。四样都要；不开评论就把 repository_id 留空")
    return found


def html(where: Discussion, page: str) -> str:
    """The end of the section; `page` names the thread, the same for every machine."""
    if not where.repository_id:
        return '<p class="discussion">评论还没有开通。</p>'
    link = f"https://github.com/{where.repository}/discussions?discussions_q={quote(f'"{page}"')}"
    given = {
        "repo": where.repository,
        "repo-id": where.repository_id,
        "category": where.category,
        "category-id": where.category_id,
        "term": page,
    }
    data = "".join(f' data-{name}="{escape(value)}"' for name, value in given.items())
    return f'<p class="discussion"><a href="{escape(link)}"{data}>读这一页的讨论，或者说一句</a>（评论在 GitHub 上，点了才会向它请求）</p>'
