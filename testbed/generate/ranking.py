"""Ranks and names of the domains of a list."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

from testbed.generate.apportion import apportion
from testbed.generate.naming import invent_domains
from testbed.world.drafts import DomainDraft


def rank_invented(
    domains: Sequence[DomainDraft], n_background: int, raw: Mapping[str, Any], rng: random.Random
) -> list[tuple[int, str]]:
    """Rank and name invented domains; return the background's. Named domains keep their ranks.

    Cloud-using domains are more frequent at the head of the list, as published.
    """
    stars = {d.rank for d in domains if d.domain}
    plain = [d for d in domains if not d.domain]
    taken = {d.domain for d in domains if d.domain}
    names = invent_domains(len(plain) + n_background, taken, rng)
    ranks = _draw_skewed_ranks(
        len(plain), raw["listed"], raw["first_rank"], raw["rank_quarters"], stars, rng
    )
    for domain, rank in zip(plain, ranks, strict=True):
        domain.rank, domain.domain = rank, names.pop()
    used = stars | set(ranks)
    free = rng.sample(range(raw["first_rank"], raw["listed"] + 1), n_background + len(used))
    background = [rank for rank in free if rank not in used][:n_background]
    return [(rank, names.pop()) for rank in sorted(background)]


def rank_listed(
    domains: Sequence[DomainDraft],
    listed: Sequence[str],
    raw: Mapping[str, Any],
    rng: random.Random,
) -> list[tuple[int, str]]:
    """Place cloud-using domains on a given list; gives rank and name of all others."""
    position = {name: i for i, name in enumerate(listed, 1)}
    stars = [d for d in domains if d.domain]
    for domain in stars:
        domain.rank = position[domain.domain]
    taken = {d.rank for d in stars}
    plain = [d for d in domains if not d.domain]
    for domain, rank in zip(
        plain,
        _draw_skewed_ranks(len(plain), len(listed), 1, raw["rank_quarters"], taken, rng),
        strict=True,
    ):
        domain.rank, domain.domain = rank, listed[rank - 1]
        taken.add(rank)
    return [(i, name) for i, name in enumerate(listed, 1) if i not in taken]


def _draw_skewed_ranks(
    count: int,
    last: int,
    first: int,
    quarters: Sequence[int],
    taken: set[int],
    rng: random.Random,
) -> list[int]:
    """``count`` free ranks from ``first`` to ``last``, with given shares per quarter."""
    chosen: list[int] = []
    edges = [last * i // len(quarters) for i in range(len(quarters) + 1)]
    for part, low, high in zip(apportion(count, quarters), edges, edges[1:], strict=False):
        free = [r for r in range(max(low + 1, first), high + 1) if r not in taken]
        chosen += rng.sample(free, min(part, len(free)))
    used = taken | set(chosen)
    if len(chosen) < count:
        spare = [r for r in range(first, last + 1) if r not in used]
        chosen += rng.sample(spare, count - len(chosen))
    rng.shuffle(chosen)
    return chosen
