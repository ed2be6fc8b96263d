"""The site that `make docs` makes: its links lead somewhere, and a browser shows it at two widths, dark and light."""

from __future__ import annotations

import contextlib
import functools
import html.parser
import http.server
import os
import shutil
import threading
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

BROWSER = shutil.which("chromium-headless-shell") or shutil.which("chromium")
WIDTHS = {"phone": 390, "desk": 1280}


@pytest.fixture(scope="session")
def site() -> Path:
    """The folder that lint.site wrote, which CTest runs before."""
    folder = os.environ.get("MNEME_TEST_SITE")
    if folder is None or not Path(folder, "index.html").exists():
        pytest.skip("the site has not been built: make docs, and MNEME_TEST_SITE=BUILD/docs/site")
    return Path(folder)


class Links(html.parser.HTMLParser):
    """What a page names: the targets of its links and pictures, and the anchors that it has."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.anchors: set[str] = set()
        self.feed(page.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        if anchor := named.get("id") or (named.get("name") if tag == "a" else None):
            self.anchors.add(anchor)
        target = named.get("href") if tag in ("a", "link") else named.get("src") if tag in ("img", "script") else None
        if target:
            self.targets.append(target)


def test_every_link_leads_to_a_page_and_a_place_in_it(site: Path) -> None:
    pages = {page.resolve(): Links(page) for page in site.rglob("*.html") if (site / "cxx") not in page.parents}
    assert len(pages) > 30
    broken = []
    for page, links in pages.items():
        for target in links.targets:
            parts = urllib.parse.urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            file = (page.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else page
            anchor = urllib.parse.unquote(parts.fragment)
            if not file.exists() or (anchor and file in pages and anchor not in pages[file].anchors):
                broken.append(f"{page.relative_to(site.resolve())}: {target}")
    assert broken == []


@pytest.fixture(scope="session")
def served(site: Path) -> Iterator[str]:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    if BROWSER is None:
        pytest.skip("there is no chromium-headless-shell here: scripts/install-packages installs it")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()


@contextlib.contextmanager
def tab(browser: Any, width: int, scheme: str = "light") -> Iterator[Any]:
    """A tab that knows no host but this one; afterwards no error may have been told in it."""
    opened = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    opened.set_default_timeout(100_000)
    wrong: list[str] = []
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.route("**/*", lambda route: route.continue_() if "//127.0.0.1:" in route.request.url else route.abort())
    yield opened
    opened.close()
    assert wrong == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
def test_pages_fit_their_window(browser: Any, served: str, tmp_path: Path, width: int, scheme: str) -> None:
    with tab(browser, width, scheme) as page:
        page.goto(served)
        page.wait_for_url("**/docs/index.html")
        for name in ("index", "guide/replay", "reference/cli", "reference/python-api", "reference/cxx-api"):
            page.goto(f"{served}docs/{name}.html")
            assert page.evaluate("document.documentElement.scrollWidth") <= width, name
            pictures = page.locator("article img:visible")
            for number in range(pictures.count()):
                picture = pictures.nth(number)
                picture.scroll_into_view_if_needed()
                assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") > 0, name
        page.goto(f"{served}docs/index.html")
        page.screenshot(path=tmp_path / f"index-{width}-{scheme}.png")
        # One picture of the two is shown, that of the reader's theme.
        assert page.locator(f"article img.only-{scheme}:visible").count() > 0
        assert page.locator(f"article img:not(.only-{scheme}):visible").count() == 0


@pytest.mark.parametrize(
    ("words", "found"),
    [("masked", "docs/guide/replay.html"), ("LaunchFacts", "python-api.html"), ("PreparedMemory", "cxx-api.html")],
)
def test_the_search_finds(browser: Any, served: str, words: str, found: str) -> None:
    with tab(browser, WIDTHS["desk"]) as page:
        page.goto(f"{served}search.html?q={words}")
        page.locator(f'#search-results a[href*="{found}"]').first.wait_for()
