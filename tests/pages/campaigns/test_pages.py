"""Pages and API of measurement campaigns: what they say of known rows, and of odd ones."""

import csv
import html
import io
import json
import re
import statistics
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.contrib.auth import get_user_model
from hypothesis import example, given
from hypothesis import strategies as st

from analysis.campaigns.tables.headlines import headline_of
from tests.pages.campaigns import campaign_cast
from webapp.pages.campaigns import formatting as said
from webapp.pages.campaigns import headlines
from webapp.pages.ui import formatting
from webapp.pages.ui.charts import world_map
from webapp.pages.ui.charts.svg import Axis, consecutive_runs
from webapp.store.campaigns import samples, selectors
from webapp.store.models import Campaign, VantagePoint

SECTIONS = ("", "grid/", "regions/", "choice/", "zones/", "isps/", "method/")
SECTIONS += ("failures/", "suitability/", "changes/", "probes/")


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    return tmp_path_factory.mktemp("measured")


@pytest.fixture(scope="module")
def cast(django_db_setup, django_db_blocker, lake):
    """Everyone, once for the module: its rows are dropped at the end."""
    from django.conf import settings

    before = settings.LAKE_DIR, settings.DATA_DIR
    settings.LAKE_DIR = settings.DATA_DIR = lake
    with django_db_blocker.unblock():
        made = campaign_cast.everyone()
        yield made
        for found in made.values():
            found.delete()
        VantagePoint.objects.all().delete()
    settings.LAKE_DIR, settings.DATA_DIR = before


def plain(page):
    """A page's text without marks."""
    return html.unescape(re.sub(r"<[^>]+>", "", page))


@pytest.fixture
def get(cast, db, client):
    def ask(path, status=200):
        answer = client.get(path)
        assert answer.status_code == status, path
        return answer.content.decode()

    return ask


@pytest.mark.parametrize("who", ["demo", "one", "dead", "none", "alone", "running", "later"])
@pytest.mark.parametrize("section", SECTIONS)
def test_every_page_stands_whatever_was_measured(get, cast, who, section):
    slug = cast[who].slug
    no_lead = section == "" and who in ("none", "running")
    page = get(f"/wide-area/{slug}/{section}", 202 if no_lead else 200)
    assert page.count("<h1") == 1
    assert "<dt>How we know</dt>" in page or section == "method/"
    assert not re.search(r"\bnan\b|>None\b(?! of)", page)
    assert (
        "Synthetic: nothing was measured" in page.replace('<span class="badge__more">', "")
    ) == (who == "demo")


def test_figures_of_the_demo_are_those_of_its_rows(get, cast):
    demo = cast["demo"]
    cell = selectors.read_table(
        demo, "latency-grid", None, {"vantage": "synthetic-seattle", "region": "us-west-2"}
    ).to_pylist()[0]
    page = get("/wide-area/eighty-cities/pairs/synthetic-seattle/us-west-2/")
    assert said.milliseconds(cell["p50"]) in page
    assert f"{cell['n']:,}" in page
    grid = get("/wide-area/eighty-cities/grid/?q=Seattle")
    assert f">{said.bare('latency', cell['p50'])}</a>" in grid
    assert "Bangkok" not in grid


def test_the_grid_is_sorted_by_a_region_both_ways(get, cast):
    rows = selectors.read_table(
        cast["demo"], "latency-grid", ["vantage", "p50"], {"region": "eu-west-1"}
    ).to_pylist()
    order = [r["vantage"] for r in sorted(rows, key=lambda r: r["p50"])]
    for down in ("", "1"):
        page = get(f"/wide-area/eighty-cities/grid/?sort=eu-west-1&down={down}")
        shown = [t.partition('"')[0] for t in page.split('<th scope="row" title="')[1:]]
        assert shown == (order[::-1] if down else order)


def test_the_table_of_isps_is_the_published_one_for_the_demo(get):
    page = get("/wide-area/eighty-cities/isps/")
    for was, now in ((36, 36), (4, 4)):
        assert f'<b>{now}</b> <small class="note">({was})</small>' in page
    assert "lower bounds" in page
    assert "upper bound" in page


def test_an_isp_that_fails_is_chosen_by_the_address(get, cast):
    table = selectors.some_tables(cast["demo"], "isp-failures")["isp-failures"].dicts()
    isp = next(r for r in table if r["region"] == "sa-east-1")
    page = get(f"/wide-area/eighty-cities/isps/?isp={isp['isp']}")
    assert f'<option value="{isp["isp"]}" selected>' in page


def test_headlines_of_grid_and_map_are_those_of_all_pairs(get, cast):
    cells = selectors.read_table(cast["demo"], "latency-grid", None).to_pylist()
    values = sorted(c["p50"] for c in cells)
    page = get("/wide-area/eighty-cities/grid/")
    half = said.milliseconds(statistics.median(values))
    ninth = said.milliseconds(statistics.quantiles(values, n=10, method="inclusive")[-1])
    assert f"Half of 640 pairs have a median within {half}, one in ten beyond {ninth}" in plain(
        page
    )
    lost = [c["loss"] for c in cells if c["loss"]]
    told = f"{len(lost)} of 640 pairs lost something, the worst {formatting.share(max(lost))}"
    assert told in plain(get("/wide-area/eighty-cities/grid/?show=loss"))
    own = sorted((c for c in cells if c["region"] == "us-east-1"), key=lambda c: c["p50"])
    shown = plain(get("/wide-area/eighty-cities/?region=us-east-1"))
    near, far = (said.milliseconds(own[at]["p50"]) for at in (0, -1))
    assert re.search(rf"us-east-1 \(N. Virginia\): {near} \([^)]+\) to {far} \([^)]+\)", shown)
    # The table beside the map begins with the region of the headline, and has its figure.
    page = get("/wide-area/eighty-cities/")
    first = re.search(r'<tr data-end="([^"]+)">', page)[1]
    assert plain(page).count(f"{first} is the best single region") >= 1


def test_loss_over_time_stands_under_the_course_of_a_pair(get, cast):
    pair = "/wide-area/eighty-cities/pairs/synthetic-durham/us-east-1/"
    rows = samples.read_rounds(cast["demo"], "latency", "synthetic-durham", "us-east-1")
    lossy = [r for r in rows if r["lost"]]
    page = get(pair)
    assert page.count('class="losses__bar"') == len(lossy) > 0
    worst = max(lossy, key=lambda r: r["lost"] / r["sent"])
    most = f"{worst['lost']} of {worst['sent']}"
    assert f"{len(lossy)} of {len(rows)} rounds lost something, at most {most}" in plain(page)


def test_loss_of_few_is_told_in_counts():
    pairs = pa.table({"loss": [0.5, 0.0, None], "sent": [4, 900, 0]})
    told = headlines.describe_loss(pairs)
    assert told == "1 of 3 pairs lost something, the worst 2 of 4"
    rows = [{"probe": "tcp-ping", "runs": 8, "failed": 8}]
    assert headline_of("failures", rows) == "8 of 8 runs gave no value"
    share = {"share": 0.75, "routes": 3, "region": "r", "isp": 1, "name": "One"}
    assert headline_of("isp-shares", [share]) == "3 of 4 routes of r use one ISP, One"


def test_arcs_are_drawn_for_the_selection_only(get):
    assert 'class="arc ' not in get("/wide-area/eighty-cities/")
    assert get("/wide-area/eighty-cities/?region=us-east-1").count('class="arc ') == 80
    assert get("/wide-area/eighty-cities/?vantage=synthetic-tokyo").count('class="arc ') == 8
    assert 'class="arc ' not in get("/wide-area/eighty-cities/?region=nowhere")


def test_text_of_others_is_escaped_and_keeps_its_direction(get):
    page = get("/wide-area/one-region/?region=us-east-1")
    assert "<b>القاهرة" not in page
    assert "<bdi>القاهرة</bdi>" in page
    assert "<bdi>القاهرة</bdi>" in get("/wide-area/one-region/grid/")


def test_failures_are_told_with_their_reason_unknown_ones_too(get):
    page = get("/wide-area/all-failed/failures/")
    assert "the port is closed" in page
    assert "something new" in page
    assert "100.0" in page


def test_a_change_of_latency_is_dated_with_interval_and_n(get, client):
    page = " ".join(plain(get("/wide-area/moved/changes/")).split())
    assert "1 of 2 pairs changed its latency: 1 up, 0 down" in page
    # Round 60 of 15 minutes each after midnight.
    assert "Oslo to us-east-1 N. Virginia 1 Nov 2026, 15:00 UTC +9.0 ms" in page
    pair = get("/wide-area/moved/pairs/v-one/us-east-1/")
    said = " ".join(plain(pair).split())
    assert "From 1 Nov 2026, 15:00 UTC: +9.0 ms (95 % interval +9.0 ms to +9.0 ms)" in said
    assert "n = 60 and 30 rounds" in said
    assert pair.count('class="timeline__change"') == 1
    quiet = get("/wide-area/moved/pairs/v-one/eu-west-1/")
    assert "timeline__change" not in quiet
    document = client.get("/api/v1/wide-area/moved/tables/latency-changes").json()
    (cells,) = document["rows"]
    row = dict(zip(document["columns"], cells, strict=True))
    assert (row["region"], row["round"], row["shift"]) == ("us-east-1", 60, 9)
    assert "None of 640 pairs shows a lasting change" in get("/wide-area/eighty-cities/changes/")
    assert "There is no table of changes" in get("/wide-area/nothing/changes/")


def test_raw_samples_and_routes_are_one_click_away(get):
    pair = "/wide-area/eighty-cities/pairs/synthetic-seattle/us-west-2/"
    page = get(pair)
    assert f"{pair}samples/" in page
    assert f"{pair}routes/" in page
    assert "runs, as they were stored" in get(f"{pair}samples/")
    one = get(f"{pair}samples/?round=3")
    assert "in round 3" in one
    routes = get(f"{pair}routes/")
    assert "different paths in 30 traceroutes" in routes
    # One end at a time, the first one where none is named; each has its own usual way.
    ends = re.findall(r'<a href="([^"]+)"( aria-current="true")?><bdi>(us-west-2.)</bdi>', routes)
    assert [(name, bool(here)) for _, here, name in ends] == [
        ("us-west-2a", True),
        ("us-west-2b", False),
        ("us-west-2c", False),
    ]
    other = get(f"{pair}routes/{html.unescape(ends[1][0])}")
    assert re.search(r'aria-current="true"><bdi>us-west-2b', other)
    assert all(f'id="way-{one}"' in other for one in re.findall(r'href="#way-(\w+)"', other))
    # Hops have their network and country, and what is not on the usual way says so in words.
    assert "AS16509 aws us-west-2&nbsp;·&nbsp;US" in routes
    assert re.search(r"AS42000010\d\d Synthetic network&nbsp;·&nbsp;US", routes)
    assert '<span class="hop__other">not on A</span>' in routes
    assert re.search(r"path changed in \d+ of 27 cases, and the networks on it in \d+", routes)


@pytest.mark.parametrize(
    "path",
    [
        "/wide-area/nobody/",
        "/wide-area/eighty-cities/pairs/nobody/us-east-1/",
        "/wide-area/eighty-cities/regions/mars/",
        "/wide-area/compare/eighty-cities/eighty-cities/",
        "/api/v1/wide-area/nobody",
        "/api/v1/wide-area/eighty-cities/tables/nothing.csv",
        "/api/v1/wide-area/eighty-cities/tables/isp-zones.xlsx",
    ],
)
def test_what_is_not_there_is_not_found(get, path):
    get(path, 404)


@pytest.mark.parametrize(
    "query",
    [
        "page=0",
        "page=99999999999",
        "page=x",
        "regions=-1",
        "show=x",
        "sort=x",
        "metric=x",
        "q=%00%3Cb%3E",
    ],
)
def test_odd_addresses_show_the_grid_all_the_same(get, query):
    page = get(f"/wide-area/eighty-cities/grid/?{query}")
    assert "8 regions" in page
    assert "<h1>" in page


def test_exports_hold_exactly_the_view_and_say_synthetic(client, cast, db):
    base = "/api/v1/wide-area/eighty-cities/tables/latency-grid"
    query = "?vantage=synthetic-seattle&region=us-west-2&region=eu-west-1"
    answer = client.get(f"{base}.csv{query}")
    rows = list(csv.DictReader(io.StringIO(answer.content.decode())))
    assert [r["region"] for r in rows] == ["eu-west-1", "us-west-2"]
    assert {r["origin"] for r in rows} == {"synthetic"}
    assert 'filename="synthetic-' in answer["Content-Disposition"]
    told = json.loads(client.get(f"{base}.json{query}").content)
    assert told["synthetic"] is True
    assert len(told["rows"]) == 2
    table = pq.read_table(io.BytesIO(client.get(f"{base}.parquet").content))
    assert table.num_rows == 640
    assert set(table["origin"].to_pylist()) == {"synthetic"}
    plain = client.get("/api/v1/wide-area/one-sample/tables/latency-grid.csv").content.decode()
    assert "synthetic" not in plain


@pytest.mark.parametrize(("table", "total"), [("latency-grid", 640), ("latency-course", 64)])
def test_a_table_is_read_page_by_page(client, cast, db, table, total):
    base = f"/api/v1/wide-area/eighty-cities/tables/{table}"
    whole = json.loads(client.get(base).content)
    assert (whole["total"], whole["offset"], whole["next_offset"]) == (total, 0, None)
    rows, offset = [], 0
    while offset is not None:
        told = json.loads(client.get(f"{base}?limit=25&offset={offset}").content)
        rows, offset = rows + told["rows"], told["next_offset"]
    assert rows == whole["rows"]
    assert json.loads(client.get(f"{base}?offset=9999").content)["rows"] == []
    assert client.get(f"{base}?limit=0").status_code == 422


def test_a_comparison_tells_what_became_farther(get, client, cast):
    page = get("/wide-area/compare/eighty-cities/a-year-later/")
    assert "farther: the largest change" in page
    told = json.loads(
        client.get("/api/v1/wide-area-comparison/eighty-cities/a-year-later.json").content
    )
    share = told["columns"].index("share")
    assert all(abs(r[share] - 0.1) < 1e-4 for r in told["rows"])
    assert "in common" in get("/wide-area/compare/one-sample/eighty-cities/")


def test_whose_campaign_it_is_decides_who_sees_it(cast, db, client):
    owner = get_user_model().objects.create_user("owner", password="x")
    other = get_user_model().objects.create_user("other", password="x")
    Campaign.objects.filter(slug="one-sample").update(owner=owner)
    paths = (
        "/wide-area/one-sample/",
        "/api/v1/wide-area/one-sample",
        "/wide-area/one-sample/grid/",
        "/wide-area/compare/one-sample/eighty-cities/",
        "/api/v1/wide-area/one-sample/samples.csv?vantage=v-one&region=us-east-1",
    )
    for who, status in ((None, 404), (other, 404), (owner, 200)):
        if who:
            client.force_login(who)
        for path in paths:
            assert client.get(path).status_code == status, (who, path)
        assert ("one-sample" in client.get("/wide-area/").content.decode()) == (status == 200)


def test_pages_are_made_at_once(client, cast, db):
    paths = [f"/wide-area/eighty-cities/{s}" for s in SECTIONS]
    paths += [
        "/wide-area/eighty-cities/?region=us-east-1",
        "/wide-area/eighty-cities/pairs/synthetic-seattle/us-west-2/",
    ]
    for path in paths:
        client.get(path)
        spent = []
        for _ in range(3):
            before = time.process_time()
            client.get(path)
            spent.append(time.process_time() - before)
        assert min(spent) < 0.1, (path, spent)


PLACES = st.tuples(st.floats(-56, 78), st.floats(-180, 180))


@given(PLACES, PLACES)
@example((39.0, -77.5), (35.7, 139.7))
@example((37.4, -121.9), (35.7, 139.7))
@example((65.0, -150.0), (65.0, 150.0))
@example((0.0, 0.0), (0.0, 180.0))
def test_an_arc_is_one_curve_between_its_ends_that_stays_on_the_map(start, end):
    path = world_map.arc(start, end)
    ends = world_map.project(*start), world_map.project(*end)
    if ends[0] == ends[1]:
        assert path == ""
        return
    assert re.fullmatch(r"M[-\d.]+ [-\d.]+Q[-\d.]+ [-\d.]+ [-\d.]+ [-\d.]+", path)
    x, y, bent_x, bent_y, to_x, to_y = (float(n) for n in re.findall(r"-?[\d.]+", path))
    assert ((x, y), (to_x, to_y)) == ends
    top = min(y, to_y, 4.0) - 0.1
    for step in range(21):
        t, u = step / 20, 1 - step / 20
        assert -0.1 <= u * u * x + 2 * u * t * bent_x + t * t * to_x <= world_map.WIDTH + 0.1
        assert u * u * y + 2 * u * t * bent_y + t * t * to_y >= top


def test_what_is_not_chosen_is_grey(get):
    region = get("/wide-area/eighty-cities/?region=us-east-1")
    assert region.count('class="mark hue--aws is-away"') == 7
    assert region.count('class="mark hue--aws is-chosen"') == 1
    vantage = get("/wide-area/eighty-cities/?vantage=synthetic-tokyo")
    assert vantage.count('class="dot dot--away"') == 79
    assert 'class="dot dot--0' not in vantage
    assert "other vantage points" in vantage


def test_axes_have_round_ticks_and_rows_their_gaps():
    assert Axis(0, 97, 0, 100).ticks() == [0, 20, 40, 60, 80]
    assert Axis(5, 5, 0, 100).at(5) == 50
    assert consecutive_runs([1, 2, 3, 7, 9, 10]) == [[1, 2, 3], [7], [9, 10]]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (float("nan"), "–"),
        (184.2, "184\u202fms"),
        (9.64, "9.6\u202fms"),
        (0.42, "0.42\u202fms"),
    ],
)
def test_milliseconds_keep_as_many_digits_as_matter(value, text):
    assert said.milliseconds(value) == text


def test_rates_and_shades():
    assert said.rate(1_143_000) == "1,143\u202fkB/s"
    assert said.rate(12.44e6) == "12.4\u202fMB/s"
    assert [said.shade("latency", v) for v in (None, 3, 25, 25.1, 900)] == [
        0,
        1,
        1,
        2,
        6,
    ]


def test_suitability_is_judged(get):
    page = plain(get("/wide-area/probed/suitability/"))
    assert "is not suitable for games" in page
    rows = json.loads(get("/api/v1/wide-area/probed/tables/suitability.json"))
    at = [rows["columns"].index(name) for name in ("use", "verdict")]
    assert [tuple(row[i] for i in at) for row in rows["rows"]] == [
        ("calls", "yes"),
        ("games", "no"),
        ("web pages", "yes"),
    ]
    assert page.count("Not suitable") == 2, "a cell and a row of figures"
    get("/wide-area/probed/suitability/?vantage=%00")


def test_every_probe_has_a_report_by_region_zone_hour_and_place(get):
    overview = plain(get("/wide-area/probed/probes/"))
    assert "3 probes with a report" in overview
    head = "HTTP: the median first byte for"
    assert head in plain(get("/wide-area/probed/probes/http/"))
    wait = "/wide-area/probed/probes/http/?statistic=wait&by="
    for grouping, label in (("region", "eu-west-1"), ("zone", "eu-west-1a"), ("vantage", "Oslo")):
        page = re.sub(r"\s+", " ", plain(get(wait + grouping)))
        assert "79.5 ms" in page, grouping
        assert label in page, grouping
    assert "22:00" in plain(get(wait + "hour"))
    lost = re.sub(r"\s+", " ", plain(get("/wide-area/probed/probes/jitter/?statistic=lost")))
    assert "the share lost for" in lost
    assert "0 of 5,000" in lost
    get("/wide-area/probed/probes/http/?statistic=x&by=x&region=%00")
    get("/wide-area/probed/probes/nothing/", 404)
