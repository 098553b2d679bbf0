import shutil
from pathlib import Path

import pytest

from measure import discussion
from measure.discussion import Discussion, SettingsError, settings
from measure.links import read
from tests import books

FULL = {"repository": "someone/book", "repository_id": "R_kgDO=", "category": "讨论", "category_id": "DIC_kw"}
PAGE = "# 页\n\n## 💬 关联讨论\n\n对数字有疑问，点它。\n"


@pytest.mark.parametrize("extra", [None, {}, {"repository": "someone/book", "category": "讨论"}])
def test_without_a_repository_id_there_is_no_link(extra: object) -> None:
    assert read(discussion.html(settings(extra), "burn/async")).links == ()
    assert discussion.html(settings(extra), "burn/async") == '<p class="discussion">评论还没有开通。</p>'


@pytest.mark.parametrize(
    ("extra", "named"),
    [
        ({"repositry": "a/b"}, ["extra.discussion.repositry", "repository_id"]),
        ({"repository": "no slash", "repository_id": 7}, ["extra.discussion.repository（'no slash'）", "extra.discussion.repository_id（7）"]),
        ({"repository_id": "R_1"}, ["repository、", "category", "category_id"]),
        (["someone/book"], ["extra.discussion"]),
        (FULL | {"repository": "a/b?x=<script>"}, ["extra.discussion.repository"]),
    ],
)  # fmt: skip
def test_settings_that_are_not_whole_are_all_named(extra: object, named: list[str]) -> None:
    with pytest.raises(SettingsError) as raised:
        settings(extra)
    assert all(name in str(raised.value) for name in named)


def test_the_link_asks_nothing_of_another_host_and_holds_no_element_of_a_stranger() -> None:
    hostile = Discussion(repository="a/b", repository_id="R_1", category='"><script>x</script>', category_id="D_1")
    html = discussion.html(hostile, "burn/async")
    assert "<script" not in html
    assert read(html).refused == ()
    assert 'href="https://github.com/a/b/discussions?discussions_q=%22burn/async%22"' in html


def test_a_page_ends_with_its_link_and_the_settings_are_told_with_their_line(tmp_path: Path) -> None:
    book = books.write(tmp_path / "book", {"a.md": PAGE, "b.md": "# 没有\n\n什么也没有。\n"})
    assert "评论还没有开通。" in books.page(books.good(book), "a")
    config = book / "mkdocs.yml"
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace("extra: {", f"extra: {{discussion: {FULL}, ".replace("'", '"'), 1), encoding="utf-8")
    site = books.good(book)
    assert 'data-repo-id="R_kgDO="' in books.page(site, "a")
    assert "assets/discussion.js" in books.page(site, "a")
    assert "discussion" not in books.page(site, "b")
    config.write_text(text.replace("extra: {", 'extra: {\n  discussion: {repo: "a/b"},\n  ', 1), encoding="utf-8")
    line = next(n for n, one in enumerate(config.read_text(encoding="utf-8").splitlines(), 1) if "discussion:" in one)
    shutil.rmtree(site)
    assert any(m.startswith(f"mkdocs.yml:{line}：extra.discussion.repo") for m in books.mistakes(book))
