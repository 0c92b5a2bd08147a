"""Where findings are anchored: the file of the domain list, and the line of each domain."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote


@dataclass(frozen=True, slots=True)
class ListLocation:
    """A domain list as committed: its path relative to the repository, and lines by domain.

    ``widths`` are the lengths of these lines in characters.
    """

    path: str = "domains.txt"
    lines: Mapping[str, int] = field(default_factory=dict)
    widths: Mapping[str, int] = field(default_factory=dict)

    @property
    def uri(self) -> str:
        """The path as a relative URI reference (RFC 3986)."""
        return quote(self.path.lstrip("/"), safe="/-._~")

    def line(self, domain: str) -> int:
        """The line of a domain, from 1; 1 where it is not listed."""
        return self.lines.get(domain, 1)

    def width(self, domain: str) -> int:
        """The length of the line of a domain, at least 1."""
        return max(1, self.widths.get(domain, len(domain)))
