"""Checks every link between the pages of a built site, anchors too."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterable, Mapping
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit


class _Targets(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.ids.add(value)
            elif value and (name in ("href", "src")) and not (tag == "a" and value.startswith("mailto:")):
                self.links.append(value)


def dead_links(pages: Mapping[str, str], files: Collection[str]) -> Iterable[tuple[str, str]]:
    """(page, link) for each link that leads nowhere.

    `pages` maps the destination of each page (`burn/cpu-matmul/index.html`) to the HTML of its content; `files` are the destinations
    of everything else in the site. Links to other sites are not followed.
    """
    targets: dict[str, _Targets] = {}
    for destination, html in pages.items():
        targets[destination] = _Targets()
        targets[destination].feed(html)
    for destination, found in targets.items():
        for link in found.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            path = (
                posixpath.normpath(posixpath.join(posixpath.dirname(destination), unquote(parts.path)))
                if parts.path
                else destination
            )
            if parts.path.startswith("/"):
                yield destination, link  # breaks as soon as the site lies under a sub-path
                continue
            if path.startswith(".."):
                yield destination, link
                continue
            if parts.path.endswith("/") or path == ".":
                path = posixpath.normpath(posixpath.join(path, "index.html"))
            known = path in targets or path in files
            if not known or (parts.fragment and path in targets and unquote(parts.fragment) not in targets[path].ids):
                yield destination, link
