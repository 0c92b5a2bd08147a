"""A site that holds the whole cast of the page tests, edges included, without workers."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.sites import PATIENCE_MS, filled, launch, serve


class Gallery:
    """Base address of a running site, the slugs of its cast, and its data folder."""

    def __init__(self, base: str, slugs: dict[str, Any], folder: Path) -> None:
        self.base, self.slugs, self.folder = base, slugs, folder

    def at(self, path: str) -> str:
        """A full address; ``{atlas}`` and the like stand for the cast's slugs."""
        return self.base + path.format(**self.slugs)


# One driver at a time may run in a process, so this one ends with the folder's tests.
@pytest.fixture(scope="package")
def chromium() -> Iterator[Any]:
    with launch() as browser:
        yield browser


@pytest.fixture(scope="package")
def gallery(chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gallery]:
    """The product itself on a folder of its own."""
    folder, slugs = filled("tests.pages.fill", tmp_path_factory)
    with serve(folder) as base:
        yield Gallery(base, slugs, folder)


@pytest.fixture
def visit(chromium: Any, gallery: Gallery) -> Iterator[Any]:
    """Opens a page: ``visit(path, width=1440, theme="light", script=True, cookies=())``."""
    contexts = []

    def open_page(
        path: str,
        width: int = 1440,
        theme: str = "light",
        script: bool = True,
        cookies: tuple[tuple[str, str], ...] = (),
    ) -> Any:
        context = chromium.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=theme,
            reduced_motion="reduce",
            java_script_enabled=script,
        )
        context.set_default_navigation_timeout(PATIENCE_MS)
        contexts.append(context)
        context.add_cookies([{"name": n, "value": v, "url": gallery.base} for n, v in cookies])
        page = context.new_page()
        page.goto(gallery.at(path), wait_until="load")
        return page

    yield open_page
    for context in contexts:
        context.close()
