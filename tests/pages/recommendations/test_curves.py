"""The curve over sizes of sets: what is drawn of each row."""

from webapp.pages.recommendations.curve import BOTTOM, HEIGHT, TOP, draw_curve


def row(k, value, **more):
    return {"k": k, "value": value, "interval": [value - 10, value + 10], **more}


def test_what_was_published_stands_in_the_same_plane():
    curve = draw_curve([row(1, 139.0, published=184.0), row(2, 101.0)], chosen=2)
    first, second = curve["points"]
    # The gridline above the greatest figure is at the top; both lie below it by their part of 200.
    assert (curve["lines"][-1]["value"], curve["lines"][-1]["y"]) == (200, TOP)
    for place, value in ((first["published"], 184), (first["y"], 139)):
        assert abs(place - (HEIGHT - BOTTOM - value / 200 * (HEIGHT - BOTTOM - TOP))) < 0.1
    assert second["published"] is None
    assert [p["is_chosen"] for p in curve["points"]] == [False, True]


def test_one_point_is_no_curve():
    assert draw_curve([row(1, 5.0), {"k": 2, "value": None, "interval": None}], chosen=1) is None
