"""Publications of groups of several tenants: no tenant is a difference of two of them."""

from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from screening.statistics.good_shares import Machine
from screening.statistics.publication import (
    K_TENANTS,
    MIN_MACHINES,
    Decision,
    Group,
    decide,
    describe,
    find_changed,
)
from tests.examples import examples


def machines(tenant: str, n: int, good: int) -> list[Machine]:
    return [Machine(tenant, "m5.large", i < good, 0.1 + i / 1000) for i in range(n)]


def group(*sizes: int) -> Group:
    found = [one for i, n in enumerate(sizes) for one in machines(f"t{i}", n, n // 2)]
    return Group(found)


def test_a_group_is_published_from_its_limits_on() -> None:
    assert decide(group(8, 6, 6), [], is_shown=False) is Decision.PUBLISH
    assert decide(group(10, 10), [], is_shown=False) is Decision.WITHHOLD
    assert decide(group(7, 6, 6), [], is_shown=False) is Decision.WITHHOLD
    assert decide(group(13, 4, 4), [], is_shown=False) is Decision.WITHHOLD
    assert decide(Group(()), [], is_shown=False) is Decision.WITHHOLD


def test_one_tenant_more_changes_nothing_and_one_less_withholds() -> None:
    before = group(8, 6, 6).digests()
    assert decide(group(8, 6, 6), [before], is_shown=True) is Decision.KEEP
    assert decide(group(8, 6, 6, 5), [before], is_shown=True) is Decision.KEEP
    assert decide(group(8, 6, 7), [before], is_shown=True) is Decision.KEEP
    assert decide(group(8, 6, 6, 5, 5, 5), [before], is_shown=True) is Decision.PUBLISH
    less = Group([one for one in group(8, 6, 6, 9).machines if one.pool != "t2"])
    assert decide(less, [before], is_shown=True) is Decision.WITHHOLD
    # Withheld, it does not come back with the same tenants but one.
    assert decide(less, [before], is_shown=False) is Decision.WITHHOLD


SIZES = st.lists(st.integers(0, 9), min_size=6, max_size=6)


@settings(deadline=None, max_examples=examples(150))
@given(st.lists(SIZES, min_size=2, max_size=12))
def test_no_two_publications_differ_by_fewer_tenants_than_k(days: list[list[int]]) -> None:
    """An attacker who keeps all that was ever shown finds no difference of one or two tenants."""
    published: list[dict[str, str]] = []
    is_shown = False
    for sizes in days:
        found = [one for i, n in enumerate(sizes) for one in machines(f"t{i}", n, n // 2)]
        now = Group(found)
        decision = decide(now, published, is_shown=is_shown)
        if decision is Decision.PUBLISH:
            published.append(now.digests())
            is_shown = True
        elif decision is Decision.WITHHOLD:
            is_shown = False
        if is_shown:
            # Whose data are shown has not left.
            assert set(published[-1]) <= set(now.digests())
    for one, other in combinations(published, 2):
        assert len(find_changed(one, other)) >= K_TENANTS
    assert all(len(own) >= K_TENANTS for own in published)


def test_the_interval_holds_the_true_share_across_tenants() -> None:
    """Tenants differ: their shares are beta-distributed with a correlation of 0.2."""
    rng = np.random.default_rng(5)
    share, rho, held = 0.7, 0.2, 0
    spread = (1 - rho) / rho
    for _ in range(400):
        found = []
        for tenant in range(8):
            own = rng.beta(share * spread, (1 - share) * spread)
            found += machines(f"t{tenant}", 12, int(rng.binomial(12, own)))
        row = describe(Group(found))
        held += row.low <= share <= row.high
    assert row.n >= MIN_MACHINES
    assert 0.90 <= held / 400 <= 0.99


def test_no_value_of_a_single_machine_is_shown_exactly() -> None:
    odd = [Machine(f"t{i % 3}", "m5.large", True, 0.123456 + i * 0.0101) for i in range(30)]
    row = describe(Group(odd))
    exact = {one.p999_ms for one in odd}
    assert not exact & {row.p999_ms, row.p999_low_ms, row.p999_high_ms}
