"""The built site as something to take along: one PDF of all pages, and an archive that opens from the file system.

Both are made of the site as it was built, so they say what it says. Used by `scripts/take-along`.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from html import escape
from pathlib import Path
from urllib.parse import urljoin, urlsplit

ROOT = Path(__file__).parent.parent
ARTICLE = re.compile(r"<article[^>]*>(.*)</article>", re.DOTALL)
NAVIGATION = re.compile(r'<a href="([^"#:]*)" class="md-nav__link')
STYLES = re.compile(r'<link rel="stylesheet" href="([^"]*)">')
LINK = re.compile(r'(<a\b[^>]*?) href="([^"]*)"')
ANCHOR = re.compile(r'(<[^>]+?) id="([^"]*)"')
FOLDER = re.compile(r'(<(?:a|link)\b[^>]*? href=")([^":?#]*/|\.{1,2})(#[^"]*)?"')
EPOCH = (1980, 1, 1, 0, 0, 0)
"""The date of every file in the archive: it shall be a function of the site."""


def order(index: str) -> list[str]:
    """The addresses of the book's pages in the order of its navigation; lists of records are no pages to read through."""
    found = dict.fromkeys(urljoin("/", link).lstrip("/") for link in NAVIGATION.findall(index))
    return ["", *(url for url in found if url and not url.startswith("records/"))]


def chapter(url: str, html: str, pages: Sequence[str]) -> str:
    """The article of one page, with its links to other pages of the book turned inwards and those that lead out of it taken off."""
    found = ARTICLE.search(html)
    assert found is not None, url
    mine = _name(url)

    def inward(m: re.Match[str]) -> str:
        target = urlsplit(m[2])
        if target.scheme:
            return m[0]
        there = urljoin(f"/{url}", target.path).lstrip("/") if target.path else url
        if there not in pages:
            return m[1]
        return f'{m[1]} href="#{_name(there)}{"-" + target.fragment if target.fragment else ""}"'

    body = LINK.sub(inward, found[1])
    return f'<section id="{mine}">{ANCHOR.sub(rf'\1 id="{mine}-\2"', body)}</section>'


def _name(url: str) -> str:
    return url.strip("/").replace("/", "-") or "start"


def cover(title: str, description: str, commit: str, records: Sequence[tuple[str, str, str]]) -> str:
    """The first pages: what this is, of which commit, and when each record was taken. `records` are (experiment, machine, date)."""
    rows = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in records)
    dates = sorted(date for _, _, date in records if date[:1].isdigit())
    span = f"测量于 {dates[0]} 到 {dates[-1]}" if dates else "没有测量的记录"
    return (
        f'<section class="cover"><h1>{escape(title)}</h1><p>{escape(description)}</p><p>提交 {escape(commit)}<br>{span}</p></section>'
        f"<section><h1>记录</h1><p>书里的数字来自下面的记录。全部样本在网站和离线包里。</p><table><thead><tr><th>实验</th><th>机器</th>"
        f"<th>日期</th></tr></thead><tbody>{rows}</tbody></table></section>"
    )


def book(front: str, chapters: Sequence[str], styles: Sequence[str], scripts: Sequence[str], title: str) -> str:
    """One page of everything, ready to be printed."""
    links = "".join(f'<link rel="stylesheet" href="{escape(style)}">' for style in styles)
    loaded = "".join(f'<script src="{escape(script)}"></script>' for script in scripts)
    return (
        f'<!doctype html><html lang="zh-Hans"><head><meta charset="utf-8"><title>{escape(title)}</title>{links}<style>{PRINTED}</style></head>'
        f'<body data-md-color-scheme="default" data-md-color-primary="custom"><div class="md-content"><article class="md-content__inner md-typeset">'
        f"{front}{''.join(chapters)}</article></div>{loaded}<script>{DRAWN}</script></body></html>"
    )


PRINTED = """
@page { @bottom-center { content: counter(page); font-size: 8pt; } }
@page :first { @bottom-center { content: ""; } }
html { font-size: 125%; }
article > section { break-before: page; }
article > .cover { break-before: auto; padding-top: 60mm; }
pre.mermaid svg { max-width: 100%; height: auto; }
"""
DRAWN = """
for (const diagram of document.querySelectorAll("pre.mermaid")) diagram.textContent = diagram.textContent;
mermaid.initialize({ startOnLoad: true, theme: "neutral" });
"""


def offline(html: str, to_root: str) -> str:
    """A page for the file system: a link to a folder names its index, and search works without a server."""
    html = FOLDER.sub(lambda m: f'{m[1]}{m[2].rstrip("/")}/index.html{m[3] or ""}"', html)
    return html.replace("<head>", f'<head><script src="{to_root}assets/offline.js"></script>', 1)


def search(index: str) -> str:
    """The search index as a script, since nothing else can be read from the file system; its places are files."""
    data = json.loads(index)
    for entry in data["docs"]:
        folder, mark, fragment = entry["location"].partition("#")
        entry["location"] = f"{folder}index.html{mark}{fragment}"
    return f"var __index = {json.dumps(data, ensure_ascii=False)}"


OFFLINE = """
// Browsers start no worker from the file system; this one lives in a frame.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = Object.assign(document.createElement("iframe"), { hidden: true, srcdoc: "<!doctype html><body></body>" });
      this.ready = new Promise((done) => {
        frame.onload = () => {
          const inner = frame.contentWindow;
          const load = (src) => new Promise((loaded) => {
            const script = Object.assign(inner.document.createElement("script"), { src, onload: loaded });
            inner.document.body.append(script);
          });
          inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
          inner.importScripts = (...urls) => urls.reduce((before, src) => before.then(() => load(src)), Promise.resolve());
          load(new URL(url, location).href).then(() => done(inner));
        };
      });
      if (document.body) document.body.append(frame);
      else addEventListener("DOMContentLoaded", () => document.body.append(frame));
    }
    postMessage(data) {
      this.ready.then((inner) => inner.dispatchEvent(new MessageEvent("message", { data })));
    }
  };
}
"""


def archive(site: Path, target: Path, folder: str) -> None:
    """The whole site in one file, which opens at `index.html`."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as out:

        def put(name: str, content: bytes) -> None:
            out.writestr(zipfile.ZipInfo(f"{folder}/{name}", EPOCH), content, zipfile.ZIP_DEFLATED)

        for file in sorted(site.rglob("*")):
            if not file.is_file() or file.name == "404.html" or file.name.startswith("sitemap"):
                continue
            name = file.relative_to(site)
            content = file.read_bytes()
            if file.suffix == ".html":
                content = offline(content.decode(), "../" * (len(name.parts) - 1)).encode()
            put(name.as_posix(), content)
        put("search/search_index.js", search((site / "search/search_index.json").read_text(encoding="utf-8")).encode())
        put("assets/offline.js", OFFLINE.encode())


def records(site: Path) -> list[tuple[str, str, str]]:
    """Experiment, machine and date of each record that the site offers."""
    out = []
    for file in sorted(site.glob("records/*/*.json")):
        record = json.loads(file.read_text(encoding="utf-8"))
        date = record["started"][:10] if record["origin"] == "measured" else "已发表的数字"
        out.append((file.stem, file.parent.name, date))
    return out


def commit() -> str:
    """The commit that is checked out, and whether there is more than it."""

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()

    name = git("rev-parse", "--short=12", "HEAD") or "（不在 git 里）"
    return f"{name}（有没提交的改动）" if git("status", "--porcelain") else name


def main(site: Path, target: Path) -> None:
    """Write the page that is printed and the archive."""
    index = (site / "index.html").read_text(encoding="utf-8")
    pages = order(index)
    chapters = [chapter(url, (site / url / "index.html").read_text(encoding="utf-8"), pages) for url in pages]
    described = re.search(r'<meta name="description" content="([^"]*)"', index)
    title = "Rust in Everything"
    front = cover(title, described[1] if described else "", commit(), records(site))
    here = Path("..") / site.name
    styles = [str(here / style) for style in STYLES.findall(index)]
    target.mkdir(exist_ok=True)
    whole = book(front, chapters, styles, [str(here / "assets/mermaid.min.js")], title)
    (target / "book.html").write_text(whole, encoding="utf-8")
    archive(site, target / "rust-in-everything.zip", "rust-in-everything")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
