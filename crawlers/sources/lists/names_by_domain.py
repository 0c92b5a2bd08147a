"""Group names of many lists by the surveyed domain that holds them; count the others.

Each domain has one byte string of names, so millions of names cost little more than their bytes.
"""

from collections.abc import Iterable

# A group is deduplicated at this size, and again at twice the size that is left.
_FIRST_TIDYING_OCTETS = 64 * 1024


class _DomainNames:
    """The names of one domain, one a line, perhaps repeated since the last tidying."""

    __slots__ = ("data", "is_over", "repeated", "tidy_at", "tidy_octets")

    def __init__(self) -> None:
        self.data = bytearray()
        self.tidy_at = _FIRST_TIDYING_OCTETS
        self.tidy_octets = 0
        self.repeated = 0
        self.is_over = False

    def names(self) -> dict[bytes, None]:
        return dict.fromkeys(bytes(self.data).split(b"\n")[:-1])

    def deduplicate(self, max_names: int) -> None:
        if len(self.data) == self.tidy_octets:
            return
        names = self.names()
        self.repeated += self.data.count(b"\n") - len(names)
        kept = list(names)
        if len(kept) > max_names:
            self.is_over = True
            del kept[max_names:]
        self.data = bytearray(b"".join(name + b"\n" for name in kept))
        self.tidy_octets = len(self.data)
        self.tidy_at = max(_FIRST_TIDYING_OCTETS, 2 * len(self.data))


class NamesByDomain:
    """One group of names per domain; a name belongs to every listed domain above it."""

    def __init__(self, domains: Iterable[str], max_names: int) -> None:
        self._domains = frozenset(domain.encode() for domain in domains)
        self._shelves: dict[bytes, _DomainNames] = {}
        self._max_names = max_names
        depths = {domain.count(b".") + 1 for domain in self._domains}
        self._depths = range(min(depths, default=1), max(depths, default=0) + 1)

    def add(self, names: Iterable[bytes]) -> int:
        """Add names to their domains; return how many belong to none."""
        domains, first, last = self._domains, self._depths.start, self._depths.stop - 1
        outside = 0
        for name in names:
            dot, depth, found = len(name), 0, False
            # From the right, label by label, through the depths that domains have.
            while dot >= 0 and depth < last:
                dot = name.rfind(b".", 0, dot)
                depth += 1
                if depth >= first and name[dot + 1 :] in domains:
                    self._add(name[dot + 1 :], name)
                    found = True
            outside += not found
        return outside

    def names_of(self, domain: str) -> tuple[str, ...]:
        """Names without repeats, in the order in which they came."""
        shelf = self._shelves.get(domain.encode())
        if shelf is None:
            return ()
        shelf.deduplicate(self._max_names)
        return tuple(shelf.data.decode().split("\n")[:-1])

    def is_over(self, domain: str) -> bool:
        """Whether a domain had more names than are kept."""
        shelf = self._shelves.get(domain.encode())
        if shelf is None:
            return False
        shelf.deduplicate(self._max_names)
        return shelf.is_over

    @property
    def count_names(self) -> int:
        """Return the number of distinct names of all domains."""
        for shelf in self._shelves.values():
            shelf.deduplicate(self._max_names)
        return sum(shelf.data.count(b"\n") for shelf in self._shelves.values())

    def _add(self, domain: bytes, name: bytes) -> None:
        shelf = self._shelves.get(domain)
        if shelf is None:
            shelf = self._shelves[domain] = _DomainNames()
        shelf.data += name
        shelf.data += b"\n"
        if len(shelf.data) > shelf.tidy_at:
            shelf.deduplicate(self._max_names)
