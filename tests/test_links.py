"""Every link of the site leads somewhere."""

from __future__ import annotations

import pytest

from measure.links import dead_links, read

FILES = {"assets/a.svg", "records/x/y.json", "图/甲.png"}


def dead(html: str, at: str = "burn/a/index.html") -> list[str]:
    pages = {
        "index.html": '<h1 id="top">',
        "burn/b/index.html": '<h2 id="计时方法">计时</h2><a id="b"></a>',
        "404.html": "",
        at: html,
    }
    return [link for page, link in dead_links({name: read(text) for name, text in pages.items()}, FILES) if page == at]


@pytest.mark.parametrize(
    "link",
    [
        "../b/",
        "../b/#计时方法",
        "../b/#%E8%AE%A1%E6%97%B6%E6%96%B9%E6%B3%95",
        "../../",
        "../../index.html#top",
        "#here",
        "../../assets/a.svg",
        "../../records/x/y.json",
        "../../%E5%9B%BE/%E7%94%B2.png",
        "https://example.org/x#y",
        "mailto:a@example.org",
        "./",
    ],
)
def test_living_links(link: str) -> None:
    assert dead(f'<h1 id="here"><a href="{link}">x</a>') == []


@pytest.mark.parametrize(
    "link",
    ["../c/", "../b", "../b/#计时方式", "#there", "../../assets/b.svg", "../../../index.html", "/burn/b/", "/", "b/", "x.md"],
)
def test_c37_c39_dead_links(link: str) -> None:
    assert dead(f'<h1 id="here"><a href="{link}">x</a>') == [link]


def test_c39_images_count_too() -> None:
    assert dead('<img src="img/x.png"><img src="../../assets/a.svg">') == ["img/x.png"]


def test_the_root_page() -> None:
    assert dead(
        '<a href="burn/b/"></a><a href="assets/a.svg"></a><a href="."></a><a href="./"></a><a href="b/"></a>', "index.html"
    ) == ["b/"]


@pytest.mark.parametrize(
    ("html", "what"),
    [
        ("<script>alert(1)</script>", "<script"),
        ("<p><img src=x onerror=alert(1)>", "onerror"),
        ("<iframe src='../b/'></iframe>", "<iframe"),
        ("<object data='x.svg'></object>", "<object"),
        ("<meta http-equiv=refresh content='0;url=https://example.org'>", "<meta"),
        ("<style>p { background: url(https://example.org/x.png) }</style>", "<style"),
        ("<p style='background: url(//example.org/x.png)'>", "background: url(//example.org/x.png)"),
        ("<a href='javascript:alert(1)'>x</a>", "javascript:alert(1)"),
        ("<a href='java\tscript:alert(1)'>x</a>", "java\tscript:alert(1)"),
        ("<a href='data:text/html,x'>x</a>", "data:text/html,x"),
        ("<img src='https://example.org/x.png'>", "https://example.org/x.png"),
        ("<img src='//example.org/x.png'>", "//example.org/x.png"),
        ("<img srcset='https://example.org/x.png 2x'>", "https://example.org/x.png"),
        ("<video poster='https://example.org/x.png'></video>", "https://example.org/x.png"),
        ("<svg><image href='https://example.org/x.png'/></svg>", "https://example.org/x.png"),
        ("<a href='http://['>x</a>", "http://["),
    ],
)
def test_c33_c36_nothing_runs_and_nothing_comes_from_elsewhere(html: str, what: str) -> None:
    assert [found for found, _ in read(html).refused] == [what]


def test_what_pages_may_hold() -> None:
    html = '<a href="https://example.org">x</a><img src="data:image/png;base64,AA"><p style="color: red"><svg><path d="M0 0"/></svg><button>x</button>'
    assert read(html).refused == ()


@pytest.mark.parametrize("html", ["<img srcset='a.png 1x, b.png 2x'>", "<video poster='b.png'>", "<object data='b.png'>"])
def test_c39_whatever_is_loaded_has_to_be_there(html: str) -> None:
    assert dead(html)[-1] == "b.png"
