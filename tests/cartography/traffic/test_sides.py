import pytest

from tests.cartography.traffic.logs import (
    ALICE,
    AZURE,
    CLOUDFRONT,
    GOOGLE,
    GOOGLES_OWN,
    STRANGER,
    VIRGINIA,
    conn,
    header,
    read,
)

# Ends, what the log says of them, and: whose cloud, towards it, inside.
CASES = [
    (ALICE, VIRGINIA, "-", "-", ("aws", True, True)),
    (ALICE, f"::ffff:{VIRGINIA}", "-", "-", ("aws", True, True)),
    (VIRGINIA, ALICE, "-", "-", ("aws", False, True)),
    (STRANGER, VIRGINIA, "-", "-", ("aws", True, True)),
    (STRANGER, VIRGINIA, "F", "T", ("aws", True, False)),
    (STRANGER, VIRGINIA, "T", "F", ("aws", True, True)),
    (VIRGINIA, STRANGER, "F", "T", ("aws", False, True)),
    (VIRGINIA, STRANGER, "T", "F", ("aws", False, False)),
    # The responder's cloud, also where both ends are in one; and then nobody says who is inside.
    (VIRGINIA, AZURE, "-", "-", ("azure", True, False)),
    (VIRGINIA, AZURE, "T", "F", ("azure", True, True)),
    (AZURE, CLOUDFRONT, "-", "-", ("aws", True, False)),
    # A provider's own services are no cloud.
    (GOOGLE, GOOGLES_OWN, "-", "-", ("google", False, True)),
    (ALICE, GOOGLES_OWN, "-", "-", None),
    (ALICE, STRANGER, "-", "-", None),
]


@pytest.mark.parametrize("case", CASES)
def test_whose_cloud_and_which_client(tmp_path, case):
    first, second, local_orig, local_resp, expected = case
    line = conn("C1", first, second, local_orig=local_orig, local_resp=local_resp)
    (account,), parts = read(tmp_path, header("conn") + line)
    found = [(r["provider"], r["toward"], r["inside"]) for r in parts.get("conn", [])]
    assert found == ([expected] if expected else [])
    own = account.corporate.total().get("google")
    assert (own.rows if own else 0) == (first == ALICE and second == GOOGLES_OWN)


def test_named_networks_are_the_only_word(tmp_path):
    lines = conn("C1", ALICE, VIRGINIA, local_orig="T") + conn("C2", STRANGER, VIRGINIA)
    _, parts = read(tmp_path, header("conn") + lines, networks=("9.9.9.0/24",))
    assert {r["key"]: r["inside"] for r in parts["conn"]} == {"C1": False, "C2": True}


def test_the_edges_of_a_network_are_inside(tmp_path):
    ends = {"9.9.7.255": False, "9.9.8.0": True, "9.9.9.255": True, "9.9.10.0": False}
    lines = "".join(conn(end, end, VIRGINIA) for end in ends)
    _, parts = read(tmp_path, header("conn") + lines, networks=("9.9.8.0/23", "2001:db8:9::/48"))
    assert {r["key"]: r["inside"] for r in parts["conn"]} == ends
