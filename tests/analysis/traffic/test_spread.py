import random
from collections import Counter

from analysis.traffic.confidence_intervals import MIN_CLIENTS, N_GROUPS, find_intervals


def draw(generator, n_clients, share):
    """Clients of very different sizes, each with a leaning of its own towards the first cloud."""
    sums = Counter()
    for client in range(n_clients):
        size = int(generator.paretovariate(1.8) * 1000)
        part = min(1, max(0, generator.gauss(share, 0.15)))
        sums[client % N_GROUPS, "aws"] += int(size * part)
        sums[client % N_GROUPS, "azure"] += size - int(size * part)
    return sums


def test_an_interval_holds_the_true_share_about_as_often_as_it_says():
    generator = random.Random(2012)
    hits = 0
    for _ in range(300):
        low, high = find_intervals(draw(generator, 640, 0.7), 640)["aws"]
        hits += low <= 0.7 <= high
    assert 0.88 <= hits / 300 <= 0.99


def test_shares_of_two_clouds_have_mirrored_intervals():
    found = find_intervals(draw(random.Random(1), 640, 0.5), 640)
    assert abs(found["aws"][0] + found["azure"][1] - 1) < 1e-5


def test_few_clients_and_no_bytes_have_none():
    sums = draw(random.Random(1), 640, 0.5)
    assert find_intervals(sums, MIN_CLIENTS - 1)["aws"] == (None, None)
    assert find_intervals(Counter({(0, "aws"): 0}), 1000)["aws"] == (None, None)
    # All in one group: leaving it out leaves nothing to compare with.
    assert find_intervals(Counter({(0, "aws"): 5}), 1000)["aws"] == (None, None)
