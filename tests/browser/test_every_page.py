"""Every page, at a phone's and a desk's width, by day and by night."""

from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import Gallery
from tests.browser.visitor import Visitor

PAGES = (
    "/",
    "/?fail=aws.us-east-1",
    "/ask/?q=shop.example%20news.example",
    "/check/",
    "/check/wide.example/",
    "/s/{atlas}/map/",
    "/surveys/",
    "/surveys/new/",
    "/about/",
    "/glossary/",
    "/components/",
    "/s/{atlas}/",
    "/s/{atlas}/reports/providers/",
    "/s/{atlas}/reports/patterns/",
    "/s/{atlas}/reports/regions/",
    "/s/{atlas}/reports/name-servers/",
    "/s/{atlas}/reports/top-domains/",
    "/s/{atlas}/domains/",
    "/s/{atlas}/reports/zones/",
    "/s/{atlas}/zones/",
    "/s/{atlas}/customers/",
    "/s/{atlas}/reports/customers/",
    "/s/{atlas}/reports/outages/",
    "/s/{atlas}/reports/dangling/",
    "/s/{atlas}/reports/text-figures/",
    "/s/{atlas}/reports/regions/embed/",
    "/s/{atlas}/outages/",
    "/s/{atlas}/outages/?kind=zone",
    "/s/{atlas}/labels/?kind=region&provider=aws&value=us-east-1",
    "/s/{atlas}/domains/linkedin.com/",
    "/s/{atlas}/domains/linkedin.com/history/",
    "/s/{atlas}/names/www.linkedin.com/label/?kind=pattern&provider=aws&value=elb",
    "/compare/",
    "/compare/{atlas}/{later}/",
    "/compare/{atlas}/{later}/moves/?dimension=regions",
    "/compare/{atlas}/{later}/tables/regions/",
    "/compare/{later}/{atlas}/",
    "/traffic/",
    "/vantage-points/",
    "/s/{atlas}/names/www.linkedin.com/",
    "/s/{edges}/",
    "/s/{edges}/domains/wide.example/",
    "/s/{edges}/domains/example.org/",
    "/s/{edges}/domains/xn--mgbh0fb.xn--kgbechtv/",
    "/s/{edges}/domains/stonefort.example/",
    "/s/{edges}/names/beta.stonefort.example/",
    "/s/{empty}/map/",
    "/s/{empty}/reports/regions/",
    "/s/{running}/",
    "/s/{failed}/",
    "/audits/",
    "/audits/new/",
    "/audits/lists/",
    "/audits/policies/",
    "/audits/policies/default/",
    "/audits/suppressions/",
    "/audits/{audited}/",
    "/audits/{audited}/embed/",
    "/audits/{audited}/findings/",
    "/audits/{audited}/findings/?rule=no-such",
    "/audits/{audited}/findings/0/",
    "/audits/{waiting_audit}/",
    "/audits/{failed_audit}/",
    "/inside/",
    "/inside/vm-scheduling/?slice_ms=42",
    "/inside/runs/{scheduled}/",
    "/inside/runs/{wired}/",
    "/inside/runs/{wired}/against/{rewired}/",
    "/inside/runs/{simulating}/",
    "/screening/good-machines/",
    "/screening/instance-types/",
    "/traffic/spring/",
    "/welcome/{invited}/{key}/",
    "/recommendations/shared/{link}/",
    "/opt-out/",
    "/opt-out/{opt_out}/",
    "/no-such-page/",
)
# Pages that an account opens.
OWN_PAGES = (
    "/account/organisations/",
    "/account/organisations/{organisation}/",
    "/account/organisations/{organisation}/events/",
    "/account/events/",
    "/account/domains/",
    "/account/usage/",
    "/account/second-factor/",
    "/schedules/",
    "/traffic/",
    "/traffic/new/",
    "/traffic/{upload_waiting}/",
    "/traffic/{upload_failed}/",
    "/schedules/new/?kind=audit",
    "/schedules/{nightly}/",
    "/alerts/",
    "/alerts/{pager}/",
    "/audits/lists/{saved_list}/",
    "/beacons/",
    "/beacons/{beacon}/",
    "/recommendations/",
    "/recommendations/domains/",
    "/recommendations/{answer}/",
    "/recommendations/{answer}/against/{other}/",
)


def test_it_works(chromium: Any, gallery: Gallery) -> None:
    visitor = Visitor(chromium, gallery.base)
    visitor.walk_all(path.format(**gallery.slugs) for path in PAGES)
    cookie = {"name": "sessionid", "value": gallery.slugs["session"], "url": gallery.base}
    visitor.context.add_cookies([cookie])
    visitor.walk_all(path.format(**gallery.slugs) for path in OWN_PAGES)
    visitor.close()
    assert not visitor.faults, "\n".join(visitor.faults)


# A front page with names in the mono font would load a third font, of 40 kB.
@pytest.mark.parametrize(
    ("path", "most"), [("/", 150_000), ("/s/{atlas}/reports/regions/", 200_000)]
)
def test_a_page_is_small(chromium: Any, gallery: Gallery, path: str, most: int) -> None:
    context = chromium.new_context()
    page = context.new_page()
    sizes: dict[str, int] = {}

    def weigh(response: Any) -> None:
        if not response.url.endswith("echarts.min.js"):
            sizes[response.url] = response.request.sizes()["responseBodySize"]

    page.on("requestfinished", lambda request: weigh(request.response()))
    page.goto(gallery.at(path), wait_until="networkidle")
    context.close()
    fonts = sum(n for url, n in sizes.items() if Path(url).suffix == ".woff2")
    # Fonts are compressed already; the rest is counted as the server sent it.
    assert sum(sizes.values()) < most, sizes
    assert fonts < 160_000, sizes


_PHONE = """() => {
  const seen = (e) => {
    const box = e.getBoundingClientRect();
    return box.width > 0 && box.right <= innerWidth + 1;
  };
  const top = (e) => e.getBoundingClientRect().top;
  const row = document.querySelector(".grid tbody tr");
  const broken = [...document.querySelectorAll(".name-part")].filter(
    (e) => e.offsetWidth > 0 && e.getClientRects().length > 1);
  return {
    bar: !row.querySelector(".cellbar") || [...row.querySelectorAll(".cellbar")].some(seen),
    name: seen(row.querySelector("th")), spare: !!row.querySelector(".spare")?.offsetWidth,
    exports: top(document.querySelector(".exports")) - top(document.querySelector("h1")),
    broken: broken.map((e) => e.textContent),
  };
}"""


def test_a_phone_shows_the_headline_then_what_matters(visit: Any, gallery: Gallery) -> None:
    page = visit("/", width=390)
    for path in ("providers", "patterns", "regions", "zones", "name-servers", "outages"):
        page.goto(gallery.at("/s/{atlas}/reports/" + path + "/"))
        found = page.evaluate(_PHONE)
        assert found["exports"] > 0, path
        assert (found["name"], found["bar"], found["spare"]) == (True, True, False), (path, found)
        assert found["broken"] == [], path
    page.check("text=All columns >> nth=0")
    assert page.evaluate(_PHONE)["spare"]
