import re
from pathlib import Path

from playwright.sync_api import Browser, Route

from measure.discussion import Discussion, html

SCRIPT = (Path(__file__).parents[2] / "docs/assets/discussion.js").read_text(encoding="utf-8")
WHERE = Discussion(repository="someone/book", repository_id="R_1", category="讨论", category_id="D_1")


def test_giscus_is_asked_for_on_a_click_and_not_before(browser: Browser) -> None:
    page = browser.new_page()
    asked: list[str] = []

    def note(route: Route) -> None:
        asked.append(route.request.url)
        route.fulfill(body="", content_type="text/javascript", headers={"access-control-allow-origin": "*"})

    page.route(re.compile("^https:"), note)
    page.set_content(f"<body>{html(WHERE, 'burn/async')}<script>{SCRIPT}</script></body>")
    page.wait_for_timeout(200)
    assert asked == []
    with page.expect_request("https://giscus.app/client.js"):
        page.click(".discussion a")
    script = page.locator("script[src]")
    assert script.get_attribute("data-term") == "burn/async"
    assert script.get_attribute("data-repo-id") == "R_1"
    page.close()


def test_where_giscus_cannot_be_had_the_reader_comes_to_the_thread(browser: Browser) -> None:
    page = browser.new_page()
    page.route(re.compile("^https://giscus"), lambda route: route.abort())
    page.route(re.compile("^https://github"), lambda route: route.fulfill(body="thread"))
    page.set_content(f"<body>{html(WHERE, 'burn/async')}<script>{SCRIPT}</script></body>")
    page.click(".discussion a")
    page.wait_for_url(re.compile("^https://github.com/someone/book/discussions.discussions_q="))
    page.close()
