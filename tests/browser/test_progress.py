"""A running survey's page follows its counters, by event stream and without one."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from tests.browser.conftest import Gallery
from tests.sites import PATIENCE_MS


class Survey:
    """A survey of the gallery whose counters and state are changed behind the site's back."""

    def __init__(self, gallery: Gallery, name: str) -> None:
        self.path = gallery.folder / "nephoscope.sqlite3"
        self.slug = gallery.slugs[name]

    def _write(self, statement: str, *values: Any) -> None:
        with closing(sqlite3.connect(self.path, timeout=30)) as store, store:
            assert store.execute(statement, values).rowcount == 1

    def count(self, domains_done: int) -> None:
        """Say how many domains are done."""
        self._write(
            "UPDATE store_shard SET counters = json_set(counters, '$.domains_done', ?)"
            " WHERE survey_id = (SELECT id FROM store_survey WHERE slug = ?)",
            domains_done,
            self.slug,
        )

    def move(self, state: str) -> None:
        """Say what state the survey is in."""
        self._write("UPDATE store_survey SET state = ? WHERE slug = ?", state, self.slug)


@pytest.fixture
def running(gallery: Gallery) -> Iterator[Survey]:
    survey = Survey(gallery, "running")
    yield survey
    survey.count(412)


def shows(page: Any, done: int) -> None:
    """The counter says so many, and the title what share that is."""
    page.wait_for_function(
        """([done, share]) => document.title.startsWith(share)
            && document.querySelector("[data-count=domains_done]").textContent === done""",
        arg=[str(done), f"{done / 10:.1f}\u202f%"],
        timeout=PATIENCE_MS,
    )


@pytest.mark.parametrize("way", ["stream", "silent stream", "broken stream"])
def test_the_counter_moves(chromium: Any, gallery: Gallery, running: Survey, way: str) -> None:
    context = chromium.new_context()
    page, asked = context.new_page(), []
    page.on("request", lambda request: asked.append(request.url))
    if way == "silent stream":
        page.route("**/events", lambda route: None)
    elif way == "broken stream":
        page.route("**/events", lambda route: route.abort())
    page.goto(gallery.at("/s/{running}/"))
    shows(page, 412)
    for done in (500, 613, 745):
        running.count(done)
        shows(page, done)
    # The stream needs no questions beside it; without one there is nothing else.
    assert any(url.endswith("/progress/") for url in asked) == (way != "stream")
    assert "74.5" in page.inner_text("[data-announce]")
    context.close()


def test_a_survey_that_starts_and_ends_is_another_page(visit: Any, gallery: Gallery) -> None:
    survey = Survey(gallery, "waiting")
    page = visit("/s/{waiting}/")
    assert "Waiting for a worker" in page.inner_text("h1")
    survey.move("running")
    page.wait_for_selector("h1:has-text('Locating')")
    survey.move("failed")
    page.wait_for_selector("[data-survey]", state="detached")
    survey.move("queued")
