"""The map of one campaign: regions, vantage points, and the arcs of whichever is chosen."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from webapp.pages.campaigns import formatting as campaign_formatting
from webapp.pages.campaigns.frame import Frame
from webapp.pages.campaigns.headlines import map_sentence
from webapp.pages.ui import formatting
from webapp.pages.ui.charts import world_map as drawing
from webapp.pages.ui.links import with_query
from webapp.store.campaigns import selectors
from webapp.store.campaigns.places import vantage_places
from webapp.store.vantages import services

Row = dict[str, Any]
_FIGURES = ["n", "sent", "mean", "p50", "p95", "loss"]
# Rows under the map; all of them are on the page of every pair.
SHOWN_ROWS = 100
# Radii of a vantage point's mark, of the space around it that can be pressed, of a region's mark.
_SIZES = {"dot": 4.2, "room": 9.0, "mark": 9.0}


def draw_map(
    request: HttpRequest, frame: Frame, stored: dict[str, selectors.StoredTable]
) -> Row | None:
    """Return the map's marks and arcs, and the rows of the table with the same figures."""
    table = stored.get(f"{frame.metric.id}-regions")
    if table is None:
        return None
    atlas = _build_map(request, frame, table.dicts())
    rows = atlas.rows()
    asked = request.GET.get("view", "world")
    view = asked if asked in drawing.VIEWS else "world"
    is_crowded = len(atlas.points) > drawing.MAX_LINKS
    views = [
        (title, with_query(request, view="" if key == "world" else key) + "#map", key == view)
        for key, (title, *_) in drawing.VIEWS.items()
    ]
    return {
        "land": drawing.land(),
        "sphere": drawing.sphere(),
        "graticule": drawing.graticule(),
        "box": drawing.view_box(view),
        "unit": drawing.mark_scale(view),
        "sizes": {k: round(v * drawing.mark_scale(view), 2) for k, v in _SIZES.items()},
        "views": views,
        "regions": [atlas.mark(r) for r in atlas.regions if r["region"] in atlas.places],
        "dots": [] if is_crowded else [atlas.dot(p) for p in atlas.points],
        "crowd": atlas.crowd() if is_crowded else [],
        "n_dots": len(atlas.points),
        "arcs": atlas.arcs(),
        "chosen": atlas.chosen,
        "clear": with_query(request, region="", vantage="") + "#map",
        "legend": campaign_formatting.legend(frame.metric.id),
        "sentence": map_sentence(frame.metric, atlas.chosen, atlas.regions, rows),
        "rows": rows[:SHOWN_ROWS],
        "more": _detail_link(request, frame, atlas.chosen),
        "n_rows": len(atlas.cells if atlas.chosen else atlas.regions),
        "unplaced": len(atlas.cells) - len(atlas.points) if not atlas.chosen else 0,
        "is_crowded": is_crowded,
    }


@dataclass(frozen=True, slots=True)
class _CampaignMap:
    """What is drawn: everything that marks, dots, arcs and rows read."""

    request: HttpRequest
    frame: Frame
    regions: list[Row]
    places: dict[str, Row]
    points: list[selectors.VantagePlace]
    chosen: Row
    cells: dict[str, Row]
    by_name: dict[str, selectors.VantagePlace]

    @property
    def metric(self) -> str:
        return self.frame.metric.id

    def mark(self, row: Row) -> Row:
        """A region's mark; choosing it again takes the choice back."""
        name, place = row["region"], self.places[row["region"]]
        x, y = drawing.project(place["latitude"], place["longitude"])
        is_chosen = self.chosen.get("name") == name
        is_away = self.chosen.get("kind") == "region" and not is_chosen
        mean = campaign_formatting.amount(self.metric, row["vantage_mean"])
        return {
            "x": x,
            "y": y,
            "name": name,
            "provider": place["provider"],
            "letter": formatting.provider_letter(place["provider"]),
            "is_chosen": is_chosen,
            "is_away": is_away,
            "place": place["place"],
            "is_left": x > 860 or 440 < x < 515,
            "title": f"{name}, {place['place']}: {mean} on average",
            "href": self._choose("region", "" if is_chosen else name),
        }

    def dot(self, point: selectors.VantagePlace) -> Row:
        """A vantage point's mark, shaded by what is chosen or by its own best region."""
        value = self._value(point.name)
        x, y = drawing.project(point.lat or 0.0, point.lon or 0.0)
        is_chosen = self.chosen.get("name") == point.name
        return {
            "x": x,
            "y": y,
            "shade": self._shade(point.name),
            "is_chosen": is_chosen,
            "name": point.name,
            "title": f"{point.city or point.name}: "
            f"{campaign_formatting.amount(self.metric, value)}",
            "href": self._choose("vantage", "" if is_chosen else point.name),
        }

    def crowd(self) -> list[Row]:
        """Thousands of vantage points as one path for each shade: dots without links."""
        paths: dict[str, list[str]] = {}
        for point in self.points:
            shade = self._shade(point.name)
            x, y = drawing.project(point.lat or 0.0, point.lon or 0.0)
            paths.setdefault(shade, []).append(f"M{x:g} {y:g}h0")
        return [{"shade": s, "path": "".join(p)} for s, p in sorted(paths.items())]

    def _value(self, name: str) -> Any:
        """What shades a vantage point: the chosen region, or its own best one."""
        cell = self.cells.get(name) if self.chosen.get("kind") != "vantage" else None
        return None if not cell else cell["p50"] if self.chosen else cell["best_mean"]

    def _shade(self, name: str) -> str:
        """The shade of a vantage point; beside a chosen one the others are grey, not unknown."""
        if self.chosen.get("kind") == "vantage":
            return "chosen" if name == self.chosen["name"] else "away"
        return str(campaign_formatting.shade(self.metric, self._value(name)))

    def _choose(self, kind: str, name: str) -> str:
        chosen = {"region": "", "vantage": "", kind: name}
        return with_query(self.request, **chosen) + "#map"

    def arcs(self) -> list[Row]:
        """Arcs of the selection, the longest first, so that short ones are not covered."""
        points_by_name = {p.name: (p.lat or 0.0, p.lon or 0.0) for p in self.points}
        points_by_name |= {r: (p["latitude"], p["longitude"]) for r, p in self.places.items()}
        home = points_by_name.get(self.chosen.get("name", ""))
        if home is None:
            return []
        known = [
            (c["p50"], n)
            for n, c in self.cells.items()
            if n in points_by_name and c["p50"] is not None
        ]
        return [
            {
                "path": drawing.arc(home, points_by_name[name]),
                "shade": campaign_formatting.shade(self.metric, value),
                "name": name,
            }
            for value, name in sorted(known[: drawing.MAX_LINKS], reverse=True)
        ]

    def rows(self) -> list[Row]:
        """What the map shows, as rows: regions, or the far ends of what is chosen."""
        sign = -1 if self.frame.metric.higher_is_better else 1
        if not self.chosen:
            return [
                {
                    **r,
                    **self._place(r["region"]),
                    "name": r["region"],
                    "title": r["region"],
                    "href": self._choose("region", r["region"]),
                }
                for r in sorted(self.regions, key=lambda r: _rank(r["vantage_mean"], sign))
            ]
        order = sorted(self.cells, key=lambda n: _rank(self.cells[n]["p50"], sign))
        return [self._row(name) for name in order]

    def _row(self, name: str) -> Row:
        place = self._place(name)
        is_vantage = self.chosen["kind"] == "region"
        title = (place["city"] if is_vantage else "") or name
        return {**self.cells[name], **place, "name": name, "title": title, "href": self._pair(name)}

    def _place(self, name: str) -> Row:
        if name in self.places:
            return {"city": self.places[name]["place"], "country": self.places[name]["country"]}
        point = self.by_name.get(name)
        return {"city": point.city if point else "", "country": point.country if point else ""}

    def _pair(self, name: str) -> str:
        ends = [name, self.chosen["name"]]
        vantage, region = ends if self.chosen["kind"] == "region" else ends[::-1]
        href = reverse("campaign-pair", args=[self.frame.row.slug, vantage, region])
        return f"{href}?metric={self.metric}"


def _detail_link(request: HttpRequest, frame: Frame, chosen: Row) -> Row:
    """Return the link to details of the selection, where the reader may open one."""
    if chosen.get("kind") == "region":
        href = reverse("campaign-region", args=[frame.row.slug, chosen["name"]])
        return {"href": f"{href}?metric={frame.metric.id}", "name": chosen["name"]}
    if chosen and services.point(chosen["name"], request.user):
        return {"href": reverse("vantage-point", args=[chosen["name"]]), "name": chosen["title"]}
    return {}


def _rank(value: float | None, sign: int) -> tuple[bool, float]:
    """The best first, those without a value last."""
    return value is None, sign * (value or 0.0)


def _build_map(request: HttpRequest, frame: Frame, regions: list[Row]) -> _CampaignMap:
    names = selectors.grid_vantages(frame.row, frame.metric.id)
    known = vantage_places(frame.row, names).values()
    points = [p for p in known if p.lat is not None and p.lon is not None]
    chosen = _chosen(request, regions, points)
    places = selectors.places((r["provider"], r["region"]) for r in regions)
    cells, by_name = _cells(frame, chosen), {p.name: p for p in points}
    return _CampaignMap(request, frame, regions, places, points, chosen, cells, by_name)


def _chosen(request: HttpRequest, regions: list[Row], points: list[selectors.VantagePlace]) -> Row:
    """Which region or vantage point the address names; nothing is chosen by itself."""
    region, vantage = request.GET.get("region", ""), request.GET.get("vantage", "")
    if any(r["region"] == region for r in regions):
        return {"kind": "region", "name": region, "title": region}
    point = next((p for p in points if p.name == vantage), None)
    return {"kind": "vantage", "name": vantage, "title": point.city or vantage} if point else {}


def _cells(frame: Frame, chosen: Row) -> dict[str, Row]:
    """The grid's cells of what is chosen, by the other end; by vantage point without a choice."""
    metric = frame.metric.id
    if not chosen:
        columns = ["vantage", *_FIGURES, "best", "best_mean"]
        table = selectors.read_table(frame.row, f"{metric}-vantages", columns)
        return {r["vantage"]: r for r in table.to_pylist()}
    other = "vantage" if chosen["kind"] == "region" else "region"
    equal = {chosen["kind"]: chosen["name"]}
    table = selectors.read_table(frame.row, f"{metric}-grid", [other, *_FIGURES], equal)
    return {r[other]: r for r in table.to_pylist()}
