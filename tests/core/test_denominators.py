"""What each share of a table is a share of."""

import pytest

from core.denominators import wholes

SERVERS = ("location", "name_servers", "share")


def test_it_works() -> None:
    cells = [("aws", 10, 10 / 115), ("other", 105, 105 / 115), ("total", 115, 1.0)]
    rows = [dict(zip(SERVERS, row, strict=True)) for row in cells]
    assert [row["share"] for row in wholes(SERVERS, rows)] == [115, 115, 115]


@pytest.mark.parametrize(
    ("columns", "row", "whole"),
    [
        (("figure", "share", "part", "whole"), ("a", 0.5, 2, 4), 4),
        (("region", "subdomains", "subdomains_share"), ("us-east-1", 3, 0.25), 12),
        (("location", "name_servers", "share"), ("aws", 0, None), 0),
        (("provider", "bytes", "share"), ("aws", 9, 0.9), None),
    ],
)
def test_the_whole_of_a_row(
    columns: tuple[str, ...], row: tuple[object, ...], whole: int | None
) -> None:
    found = wholes(columns, [dict(zip(columns, row, strict=True))])
    share = next(c for c in columns if c.endswith("share"))
    assert found[0][share] == whole
