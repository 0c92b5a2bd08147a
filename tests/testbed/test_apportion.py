from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from testbed.generate.apportion import apportion, apportion_within, scaled


def test_it_works():
    assert apportion(10, [1, 1, 1]) == [4, 3, 3]
    assert apportion(0, [3, 4]) == [0, 0]
    assert scaled(713910, Fraction(1, 100)) == 7139


@given(st.integers(0, 10**6), st.lists(st.integers(0, 10**6), min_size=1, max_size=12))
def test_parts_sum_to_the_total_and_differ_by_less_than_one(total, weights):
    parts = apportion(total, weights)
    whole = sum(weights)
    if whole:
        assert sum(parts) == total
        assert all(
            abs(p - Fraction(total * w, whole)) < 1 for p, w in zip(parts, weights, strict=True)
        )
    else:
        assert sum(parts) == 0


@given(
    st.integers(0, 500),
    st.lists(
        st.tuples(st.integers(0, 9), st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=8
    ),
)
def test_bounds_hold(total, items):
    weights = [w for w, _, _ in items]
    lower = [a for _, a, _ in items]
    upper = [a + b for _, a, b in items]
    parts = apportion_within(total, weights, lower, upper)
    assert all(a <= p <= b for a, p, b in zip(lower, parts, upper, strict=True))
    assert sum(parts) == max(sum(lower), min(total, sum(upper)))
