"""State of an iterative run: resolutions on their way from the root, and what they wait for."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from core.records import Record
from core.statuses import DnsStatus
from crawlers.engine.config import Question
from crawlers.iterative.delegation_cache import ServerHealth, ZoneCut

# A name costs at most so many questions, those about its name servers included: enough for 16
# aliases in 16 zones, and the end of what an evil delegation can multiply.
MAX_QUERIES = 64
# Maximum depth of name servers that need further name servers.
MAX_DEPTH = 8


@dataclass(slots=True)
class Account:
    """Questions that one name has cost so far."""

    queries: int = 0

    @property
    def is_spent(self) -> bool:
        return self.queries >= MAX_QUERIES


class Resolution:
    """One name on its way down, for the caller or for the address of a name server."""

    # Most walks never need these; a class attribute costs nothing when a walk is made.
    cut: ZoneCut | None = None
    health: ServerHealth | None = None
    # The name just below the cut that others wait on this walk for.
    leads = ""
    # Aliases that led here.
    parts: tuple[Record, ...] = ()
    # Addresses that were queried at this cut without success.
    tried: tuple[str, ...] = ()
    # Whether the cut's servers are queried for the second time, since they were silent.
    again = False
    status: DnsStatus | None = None
    # It ends when its turn comes: what it waits for waits for itself.
    gives_up = False
    # It failed for a reason that lies with who asked, so nothing is remembered.
    is_budget_failure = False
    waits_for: "AddressLookup | None" = None
    # Cuts that want the address; only for a walk to a name server's name.
    wanted: "tuple[AddressLookup, ...]" = ()

    @property
    def is_fresh(self) -> bool:
        """Whether no query was sent for it yet, and only the caller wants its result."""
        return not (self.account.queries or self.parts or self.wanted or self.question[4])

    def __init__(self, question: Question, name: str, account: Account, depth: int = 0) -> None:
        self.question = question
        self.name = name
        self.type = question[1]
        self.account = account
        self.depth = depth


@dataclass(slots=True, eq=False)
class AddressLookup:
    """The addresses of one cut's name servers are being asked for, on one walk's account."""

    cut: ZoneCut
    starter: Resolution
    waiting: list[Resolution] = field(default_factory=list)
    active: dict[str, Resolution] = field(default_factory=dict)
    # Hosts with a walk that failed only because its budget was spent; others may try them again.
    spoiled: list[str] = field(default_factory=list)


def reach(start: AddressLookup) -> list[AddressLookup]:
    """This fetch and all that it waits for, directly or not."""
    found = {id(start): start}
    stack = [start]
    while stack:
        for further in _awaited(stack.pop()):
            if id(further) not in found:
                found[id(further)] = further
                stack.append(further)
    return list(found.values())


def _awaited(fetch: AddressLookup) -> Iterator[AddressLookup]:
    for walk in fetch.active.values():
        if walk.waits_for is not None:
            yield walk.waits_for


def more_severe(old: DnsStatus | None, new: DnsStatus) -> DnsStatus:
    """Return the more specific status; failures other than TIMEOUT and NETWORK are SERVFAIL."""
    weak = (DnsStatus.TIMEOUT, DnsStatus.NETWORK)
    if new not in weak:
        return DnsStatus.SERVFAIL
    return new if old is None else old
