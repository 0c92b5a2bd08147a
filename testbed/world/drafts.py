"""Drafts of names and domains, before they have labels and addresses."""

from collections.abc import Iterable
from dataclasses import dataclass, field

Regions = tuple[str, ...]
Kind = tuple[str, Regions]  # front-end label and the regions it uses
# Addresses that names share: (provider, label, region, zone letter or "", owner). A label such
# as "cs/name" has a separate pool, but counts with "cs".
PoolKey = tuple[str, str, str, str, str]


@dataclass(slots=True)
class Draft:
    """One cloud-using name. ``count`` is its number of addresses in this cloud.

    ``owner`` names the domain of an exclusive front end; ``pinned`` names are behind one
    shared name of their platform; ``named`` ones are reached
    through a name of the provider although their label allows a plain address; ``zones`` are the
    letters of those that a publication gives it. Names with the same ``machine_domain`` share
    the machines of that domain, which are one or two with ``few_machines``.
    """

    provider: str
    label: str
    regions: Regions
    count: int = 0
    host: str = ""
    owner: str = ""
    hybrid: bool = False
    other_cloud: str = ""
    pinned: bool = False
    named: bool = False
    zones: str = ""
    machine_domain: str = ""
    few_machines: bool = False
    placements: list[tuple[PoolKey, int]] = field(default_factory=list)

    @property
    def direct(self) -> bool:
        """Whether the name holds addresses itself, so that it may be the domain's own name."""
        return self.label in ("vm", "cs") and not self.named


@dataclass(slots=True)
class DomainDraft:
    """One domain: its class of Table 5, its cloud names and the number of names elsewhere.

    ``starred`` ones are named by a publication, which their names and addresses follow.
    """

    kind: str
    drafts: list[Draft] = field(default_factory=list)
    others: int = 0
    domain: str = ""
    rank: int = 0
    transferable: bool = False
    starred: bool = False

    def uses(self, provider: str) -> bool:
        return provider in self.kind

    @property
    def pure(self) -> bool:
        """Whether none of its names may be outside the cloud."""
        return self.kind.endswith("_only")


def drafts_of(domains: Iterable[DomainDraft], provider: str) -> list[Draft]:
    """All drafts of one provider in the order of the domains."""
    return [d for domain in domains for d in domain.drafts if d.provider == provider]
