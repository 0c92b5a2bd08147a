"""The drawn pattern of a domain."""

from typing import Any

from webapp.pages.surveys.diagrams import MAX_NODES, draw_deployment


def found(labels: int = 2, regions: int = 2, domain: str = "example.org") -> dict[str, Any]:
    return {
        "domain": domain,
        "found": 9,
        "names": {"total": 9},
        "labels": [
            {"provider": "aws", "label": f"label-{i}", "names": i + 1, "instances": i}
            for i in range(labels)
        ],
        "depends": [
            {"provider": "aws", "region": f"region-{i}", "names": 3, "only_here": 1}
            for i in range(regions)
        ],
    }


def test_it_works() -> None:
    drawn = draw_deployment(found())
    assert drawn is not None
    wide = drawn["wide"]
    assert len(wide.nodes) == 5
    assert len(wide.edges) == 2 + 4


def test_a_domain_outside_the_clouds_has_none() -> None:
    assert draw_deployment(found(labels=0)) is None


def test_many_regions_are_folded() -> None:
    drawn = draw_deployment(found(regions=30))
    assert drawn is not None
    assert len(drawn["wide"].nodes) == 1 + 2 + MAX_NODES
    assert "24 more regions" in [n.title for n in drawn["wide"].nodes]


def test_long_names_stay_in_their_box() -> None:
    drawn = draw_deployment(found(domain="a" * 63 + ".example.org"))
    assert drawn is not None
    for shape in drawn.values():
        assert all(len(n.title) <= n.width / 7 for n in shape.nodes)


def test_boxes_stay_in_the_drawing_and_apart() -> None:
    drawn = draw_deployment(found(labels=7, regions=7))
    assert drawn is not None
    for shape in drawn.values():
        for node in shape.nodes:
            assert node.x >= 0
            assert node.x + node.width <= shape.width + 0.1
            assert node.y + node.height <= shape.height + 0.1


def test_edge_networks_are_not_joined_to_regions() -> None:
    data = found(labels=0, regions=1)
    data["labels"] = [{"provider": "aws", "label": "cloudfront", "names": 1, "instances": 1}]
    drawn = draw_deployment(data)
    assert drawn is not None
    assert [n.title for n in drawn["wide"].nodes][-1] == "Edge network"
    assert len(drawn["wide"].edges) == 2
