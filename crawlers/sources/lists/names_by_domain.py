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
        self._by_domain: dict[bytes, _DomainNames] = {}
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
        names = self._by_domain.get(domain.encode())
        if names is None:
            return ()
        names.deduplicate(self._max_names)
        return tuple(names.data.decode().split("\n")[:-1])

    def is_over(self, domain: str) -> bool:
        """Whether a domain had more names than are kept."""
        names = self._by_domain.get(domain.encode())
        if names is None:
            return False
        names.deduplicate(self._max_names)
        return names.is_over

    @property
    def count_names(self) -> int:
        """Return the number of distinct names of all domains."""
        for names in self._by_domain.values():
            names.deduplicate(self._max_names)
        return sum(names.data.count(b"\n") for names in self._by_domain.values())

    def _add(self, domain: bytes, name: bytes) -> None:
        names = self._by_domain.get(domain)
        if names is None:
            names = self._by_domain[domain] = _DomainNames()
        names.data += name
        names.data += b"\n"
        if len(names.data) > names.tidy_at:
            names.deduplicate(self._max_names)
