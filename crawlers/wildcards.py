"""Wildcards: what a zone answers for names that nobody made."""

import secrets
from dataclasses import dataclass, field

from core.records import Answer

# Random names asked at each level that is tested, and once more where the answers differ.
PROBES = 3


def random_names(level: str, count: int = PROBES) -> list[str]:
    """Names below ``level`` that cannot exist by design."""
    return [f"x{secrets.token_hex(6)}.{level}" for _ in range(count)]


@dataclass(slots=True)
class Wildcard:
    """What the random names of one level were answered."""

    data: set[str] = field(default_factory=set)
    kinds: set[frozenset[str]] = field(default_factory=set)

    def learn(self, answer: Answer) -> None:
        """Take in the answer to one random name."""
        found = signature(answer)
        if found:
            self.data |= found
            self.kinds.add(frozenset(found))

    @property
    def exists(self) -> bool:
        return bool(self.data)

    @property
    def rotates(self) -> bool:
        """Whether the random names were answered differently."""
        return len(self.kinds) > 1

    def explains(self, answer: Answer) -> bool:
        """Whether the wildcard alone accounts for an answer.

        The first alias is enough where the wildcard is a CNAME: what stands behind it may rotate.
        """
        if not self.data:
            return False
        aliases = answer.cnames
        if aliases and aliases[0] in self.data:
            return True
        found = signature(answer)
        if self.rotates and found & self.data:
            # A rotating pool is seen in parts: what overlaps it belongs to it and shows more.
            self.data |= found
            return True
        return bool(found) and found <= self.data

    def overlaps(self, answer: Answer) -> bool:
        """Whether an answer is partly the wildcard's, so that more random names should be asked."""
        found = signature(answer)
        return bool(found & self.data) and not found <= self.data


def signature(answer: Answer) -> set[str]:
    """Addresses and aliases of an answer."""
    return {r.data for r in answer.answers if r.type in ("A", "AAAA", "CNAME")}
