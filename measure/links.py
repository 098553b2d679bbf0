"""What the pages of a built site lead to, load and run: links that lead nowhere, and what no page of this book may hold."""

from __future__ import annotations

import inspect
import json
import posixpath
import re
import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

from measure.cache import kept

LOADED = frozenset({"src", "srcset", "poster", "data", "background", "xlink:href", "ping"})
"""Attributes whose file a browser fetches without being asked."""
REFUSED = frozenset({"script", "style", "iframe", "frame", "object", "embed", "applet", "base", "link", "meta", "form"})
"""Elements that run, load or send something, or change how the rest of the page is read."""


@dataclass(frozen=True)
class Page:
    """What stands in the HTML of a page's content."""

    ids: frozenset[str]
    links: tuple[str, ...]
    refused: tuple[tuple[str, str], ...]
    """(what to look for in the source, why it may not be there)"""


def read(html: str) -> Page:
    """Look through a page. A browser's rules for broken HTML make this slow, so it is kept: most pages are as in the last build."""
    of = "\0".join((sys.version, inspect.getsource(sys.modules[__name__]), html))
    ids, links, refused = json.loads(kept("links", of.encode(), lambda: json.dumps(_looked_through(html)).encode()))
    return Page(frozenset(ids), tuple(links), tuple((what, why) for what, why in refused))


def _looked_through(html: str) -> tuple[list[str], list[str], list[tuple[str, str]]]:
    found = _Reader()
    found.feed(html)
    found.close()
    return sorted(found.ids), found.links, found.refused


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.refused: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note where it leads, and what it may not do."""
        if tag in REFUSED:
            self.refused.append((f"<{tag}", f"页面里不能有 <{tag}>：书里的页面不运行脚本，也不从别处取东西"))
        for name, value in attrs:
            if name.startswith("on"):
                self.refused.append((name, f"页面里不能有 {name}=：书里的页面不运行脚本"))
            elif not value:
                continue
            elif name == "id":
                self.ids.add(value)
            elif name == "style" and re.search(r"url\s*\(|\\", value):
                self.refused.append((value, "style 里不能有 url(…)：书里的页面不从别处取东西"))
            elif name == "href" or name in LOADED:
                found = [part.split()[0] for part in value.split(",") if part.strip()] if name == "srcset" else [value]
                for link in found:
                    self._leads_to(link, name in LOADED or tag in ("image", "use", "feimage"))

    def _leads_to(self, link: str, loaded: bool) -> None:
        try:
            parts = urlsplit(link)
        except ValueError:
            self.refused.append((link, f"链接 {link} 不是网址"))
            return
        scheme = parts.scheme.lower()
        if loaded and scheme != "data" and (scheme or parts.netloc):
            self.refused.append((link, f"不能从别的网站取 {link}：把文件放进 docs/，读者打开页面时不向别处发请求"))
        elif not loaded and scheme not in ("", "http", "https", "mailto"):
            self.refused.append((link, f"链接 {link} 不是网址。能用的只有 http、https、mailto 和书里的页面"))
        elif scheme == "" and not parts.netloc:
            self.links.append(link)


def dead_links(pages: Mapping[str, Page], files: Collection[str]) -> Iterable[tuple[str, str]]:
    """(page, link) for each link that leads nowhere.

    `pages` are by destination (`burn/cpu-matmul/index.html`); `files` are the destinations of everything else in the site. Links to
    other sites are not followed.
    """
    for destination, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
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
            known = path in pages or path in files
            if not known or (parts.fragment and path in pages and unquote(parts.fragment) not in pages[path].ids):
                yield destination, link
