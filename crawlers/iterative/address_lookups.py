"""Addresses of name servers without glue: looked up once for all resolutions that wait for them.

A resolution returns to its run once a server is known or none will be. Cycles of name servers that
depend on each other are detected and ended.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from core.records import Record
from core.statuses import DnsStatus
from crawlers.engine.config import Question
from crawlers.iterative.delegation_cache import FAILURE_S, MIN_TTL_S, ZoneCut
from crawlers.iterative.state import AddressLookup, Resolution, reach

if TYPE_CHECKING:
    from crawlers.iterative.run import IterativeRun

# Host names of one cut that are requested at once.
_AT_ONCE = 2


class AddressLookups:
    """What one run asks about name servers."""

    def __init__(self, descent: "IterativeRun") -> None:
        self.descent = descent
        self.delegations = descent.delegations
        self._open: dict[ZoneCut, AddressLookup] = {}
        self._asked: dict[str, Resolution] = {}

    def may_help(self, cut: ZoneCut) -> bool:
        """Whether more servers of a cut may become known."""
        return bool(cut.hosts) or cut in self._open

    def wait(self, walk: Resolution, cut: ZoneCut, now: float) -> None:
        """Let a walk wait until more of the cut's servers are known, or none can be."""
        fetch = self._open.get(cut)
        if fetch is None:
            fetch = self._open[cut] = AddressLookup(cut, walk)
        walk.waits_for = fetch
        fetch.waiting.append(walk)
        grown = not fetch.active and self._start(fetch, _AT_ONCE, now)
        self._settle(fetch, now, grown=grown)
        if fetch.active:
            self._break_cycle(fetch, now)

    def _start(self, fetch: AddressLookup, at_once: int, now: float) -> bool:
        """Ask for further hosts; returns whether some were known, so that there are servers."""
        cut, grown = fetch.cut, False
        while cut.hosts and len(fetch.active) < at_once:
            host = cut.hosts.pop(0)
            known = self.delegations.addresses_of(host, now)
            if known is None:
                self._ask(fetch, host)
            else:
                grown |= self.delegations.add_servers(cut, known, now)
        return grown

    def _ask(self, fetch: AddressLookup, host: str) -> None:
        walk = self._asked.get(host)
        if walk is None:
            starter = fetch.starter
            walk = Resolution(Question(host, "A"), host, starter.account, starter.depth + 1)
            self._asked[host] = walk
            self.descent.due.append(walk)
            self.descent.stats.host_lookups += 1
        walk.wanted += (fetch,)
        fetch.active[host] = walk

    def end_walk(
        self, walk: Resolution, status: DnsStatus, records: tuple[Record, ...], now: float
    ) -> None:
        """A host name's walk has ended, with addresses or without."""
        host = walk.question.name
        found = [r for r in records if r.type in ("A", "AAAA")]
        if status is DnsStatus.NODATA and walk.type == "A" and self.delegations.ipv6:
            self._ask_for_ipv6(walk, host)
            return
        del self._asked[host]
        addresses = tuple(r.data for r in found)
        if not walk.is_budget_failure:
            ttl_s = min((r.ttl for r in records), default=MIN_TTL_S)
            self.delegations.store_addresses(host, addresses, ttl_s, now)
        for fetch in walk.wanted:
            del fetch.active[host]
            if walk.is_budget_failure:
                fetch.spoiled.append(host)
            self._continue(fetch, addresses, now)

    def _ask_for_ipv6(self, walk: Resolution, host: str) -> None:
        further = Resolution(Question(host, "AAAA"), host, walk.account, walk.depth)
        further.wanted = walk.wanted
        self._asked[host] = further
        for fetch in walk.wanted:
            fetch.active[host] = further
        self.descent.due.append(further)

    def _continue(self, fetch: AddressLookup, addresses: tuple[str, ...], now: float) -> None:
        grown = self.delegations.add_servers(fetch.cut, addresses, now)
        if not grown and fetch.waiting:
            grown = self._start(fetch, _AT_ONCE, now)
        self._settle(fetch, now, grown=grown)
        if fetch.active:
            self._break_cycle(fetch, now)

    def _settle(self, fetch: AddressLookup, now: float, *, grown: bool) -> None:
        """Send those on who wait, if there is something new or nothing more to wait for."""
        if not fetch.active:
            del self._open[fetch.cut]
            self._retry_budget_failures(fetch)
            if not (grown or fetch.spoiled):
                # No server can be queried: the parent is queried again after a while.
                fetch.cut.expires = min(fetch.cut.expires, now + FAILURE_S)
        if grown or not fetch.active:
            for walk in fetch.waiting:
                walk.waits_for = None
            self.descent.due.extend(fetch.waiting)
            fetch.waiting = []

    def _retry_budget_failures(self, fetch: AddressLookup) -> None:
        """Let others try the hosts again that failed only on the starter's account."""
        if fetch.spoiled:
            fetch.cut.hosts += fetch.spoiled
            if fetch.starter in fetch.waiting:
                fetch.starter.gives_up = fetch.starter.is_budget_failure = True

    def _break_cycle(self, fetch: AddressLookup, now: float) -> None:
        """End a circle of walks that wait for each other, once there is no other way."""
        while True:
            group = reach(fetch)
            walks = {id(w): w for member in group for w in member.active.values()}.values()
            if any(walk.waits_for is None for walk in walks):
                return
            # A further host may be one that waits in the circle as well, so look again.
            if not any(self._widen(member, now) for member in group):
                break
        self._fail_walks(walks)

    def end_all(self) -> int:
        """Let every walk give up that waits; returns how many."""
        stuck = [walk for fetch in self._open.values() for walk in fetch.waiting]
        self._fail_walks(stuck)
        return len(stuck)

    def _fail_walks(self, walks: Iterable[Resolution]) -> None:
        for walk in walks:
            if walk.waits_for is not None:
                walk.waits_for.waiting.remove(walk)
                walk.waits_for = None
            walk.gives_up = True
            self.descent.due.append(walk)

    def _widen(self, fetch: AddressLookup, now: float) -> bool:
        """Ask for one more host of a cut; whether there was one."""
        if not fetch.cut.hosts or self._open.get(fetch.cut) is not fetch:
            return False
        grown = self._start(fetch, len(fetch.active) + 1, now)
        self._settle(fetch, now, grown=grown)
        return True
