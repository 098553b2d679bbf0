"""Every link of the site leads somewhere."""

from __future__ import annotations

import pytest

from measure.links import dead_links

FILES = {"assets/a.svg", "records/x/y.json", "图/甲.png"}


def dead(html: str, at: str = "burn/a/index.html") -> list[str]:
    pages = {
        "index.html": '<h1 id="top">',
        "burn/b/index.html": '<h2 id="计时方法">计时</h2><a id="b"></a>',
        "404.html": "",
        at: html,
    }
    return [link for page, link in dead_links(pages, FILES) if page == at]


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
