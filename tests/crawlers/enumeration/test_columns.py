"""Names of many zones as columns: blocks for the compiled loop, evenly interleaved."""

import random
from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from core.records import DomainEntry
from crawlers.enumeration import interleave
from crawlers.enumeration.columns import Column, NameBlocks
from crawlers.enumeration.domain_state import DomainState

LABELS = st.lists(st.sampled_from(["www", "api", "a.b", "dev", "x.y.z"]), unique=True)
NAMES = st.lists(st.sampled_from(["odd\n.elm.test", "mül.elm.test", "a.elm.test", "b.c.elm.test"]))


def state(number):
    return DomainState(number, DomainEntry(f"zone{number}.test", number))


def test_it_works():
    columns = [
        Column(state(0), ["in.zone0.test"], ("www", "api.dev")),
        Column(state(1), (), ("a",)),
    ]
    blocks = NameBlocks(columns, 2, random.Random(1))
    (block,) = blocks
    found = dict(zip(block.text.decode().split("\n"), block.tags.tolist(), strict=True))
    assert found["www.zone0.test"] == 0
    assert found["a.zone1.test"] == 1
    for name in ("in.zone0.test", "api.dev.zone0.test"):
        assert blocks.pop(found[name]) == (0, name)


@given(st.lists(st.tuples(NAMES, LABELS), max_size=6), st.sampled_from([0, 6]), st.randoms())
def test_every_name_is_asked_once_and_known_by_its_tag(parts, n_counted, rng):
    columns = [Column(state(n), names, labels) for n, (names, labels) in enumerate(parts)]
    blocks, found = NameBlocks(columns, n_counted, rng), Counter()
    for block in blocks:
        names = block.text.decode("ascii").split("\n")
        for name, tag in zip(names, block.tags.tolist(), strict=True):
            known = (tag, name) if tag < n_counted else blocks.pop(tag)
            assert known[1] == name
            found[known] += 1
    found.update(blocks.odd)
    assert found == Counter((c.state.number, name) for c in columns for name in c)
    assert [list(c) for c in columns] == [[c.name_at(n) for n in range(len(c))] for c in columns]


@given(st.lists(st.integers(0, 90), min_size=1, max_size=8), st.randoms(), st.integers(1, 50))
def test_columns_are_spread_evenly_over_all_blocks(lengths, rng, block):
    small, interleave._BLOCK = interleave._BLOCK, block
    try:
        pairs = [np.stack(found, axis=1) for found in interleave.order(lengths, rng)]
    finally:
        interleave._BLOCK = small
    everything = np.concatenate([np.empty((0, 2), np.int64), *pairs])
    for column, length in enumerate(lengths):
        at = np.flatnonzero(everything[:, 0] == column)
        assert everything[at, 1].tolist() == list(range(length))
        # Neighbours in a column are as far apart as its share of the sequence, within the
        # number of columns.
        expected = len(everything) / max(1, length)
        assert np.all(np.diff(at) <= expected + len(lengths) + 1)
