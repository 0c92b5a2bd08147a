"""What the benchmark of the laboratory claims, in a plan by lot that has no IPv4."""

import pytest

from benchmarks.probes import lab_claims
from testbed.namespaces.laboratory import Laboratory
from testbed.namespaces.random_topology import draw_topology
from tests.testbed.namespaces.conftest import need_laboratory


@pytest.fixture(scope="module")
def drawn():
    need_laboratory()
    try:
        with Laboratory(draw_topology(2, families=(6,)), seed=2) as lab:
            yield lab
    except OSError as error:
        pytest.skip(str(error))


def test_isps_are_compared_over_ipv6_only(drawn):
    routes = lab_claims.measure_routes(drawn, 0)
    words, wrong = lab_claims.compared(drawn, "ISPs", routes)
    assert wrong == []
    assert words == "ISPs equal to the truth in 8 of 8 zones"
    # A truth that has lost an ISP is not the one that was measured.
    true = drawn.truth
    drawn.truth = type(true).of(drawn.plan, drawn.plan.links_of_as(64_501))
    _, wrong = lab_claims.compared(drawn, "ISPs", routes)
    drawn.truth = true
    assert wrong


def test_the_interval_of_a_binomial_count_holds_its_share():
    assert lab_claims.interval(100, 0.5) == (37, 63)
    low, high = lab_claims.interval(600, 0.0199)
    assert low < 600 * 0.0199 < high
    assert lab_claims.interval(50, 0.0) == (0, 0)
