"""A filled site in a process of its own, and a real Chromium that may only talk to it."""

from types import SimpleNamespace

import pytest

from tests.browser.visitor import Visitor
from tests.sites import filled, launch, serve


# One driver at a time may run in a process, so this one ends with the folder's tests.
@pytest.fixture(scope="package")
def chromium():
    with launch() as browser:
        yield browser


@pytest.fixture(scope="package")
def site(chromium, tmp_path_factory):
    """The product with one finished survey of a small world."""
    folder, report = filled("tests.journey.small_world", tmp_path_factory)
    with serve(folder, NEPHOSCOPE_NAME_SERVERS="127.0.0.1:9") as url:
        yield SimpleNamespace(url=url, slug="small-world", report=report)


@pytest.fixture
def window(chromium, site, request):
    settings = {"viewport": {"width": 1440, "height": 900}} | getattr(request, "param", {})
    made = Visitor(chromium, site.url, **settings)
    yield made
    made.close()
