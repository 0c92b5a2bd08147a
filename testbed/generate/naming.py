"""Names of domains and of hosts within them."""

import random
from collections.abc import Sequence
from itertools import accumulate, count, product

from testbed.world.drafts import DomainDraft, Draft

# Reserved top-level domains (RFC 2606): no real server is queried for an invented name.
_SUFFIXES = ("test", "example")
_FIRST = (
    "amber",
    "aspen",
    "azure",
    "basalt",
    "birch",
    "bramble",
    "bright",
    "bronze",
    "cedar",
    "clear",
    "cobalt",
    "copper",
    "coral",
    "crimson",
    "dawn",
    "deep",
    "early",
    "elder",
    "ember",
    "fern",
    "flint",
    "frost",
    "garnet",
    "golden",
    "granite",
    "harbor",
    "hazel",
    "high",
    "indigo",
    "iron",
    "ivory",
    "jade",
    "juniper",
    "late",
    "lilac",
    "linen",
    "long",
    "lunar",
    "maple",
    "marble",
    "meadow",
    "merry",
    "mild",
    "misty",
    "north",
    "oaken",
    "ochre",
    "olive",
    "opal",
    "pearl",
    "pine",
    "plain",
    "quiet",
    "rapid",
    "river",
    "rowan",
    "ruby",
    "sable",
    "saffron",
    "sage",
    "scarlet",
    "silent",
    "silver",
    "slate",
    "snow",
    "solar",
    "south",
    "spruce",
    "steady",
    "stone",
    "summer",
    "swift",
    "tawny",
    "teal",
    "tidal",
    "umber",
    "velvet",
    "violet",
    "west",
    "willow",
)
_SECOND = (
    "anchor",
    "arch",
    "barn",
    "bay",
    "beacon",
    "bell",
    "bench",
    "bird",
    "boat",
    "book",
    "bridge",
    "brook",
    "cabin",
    "canal",
    "castle",
    "chart",
    "clock",
    "cloud",
    "coast",
    "court",
    "crane",
    "creek",
    "crest",
    "cross",
    "deck",
    "dock",
    "door",
    "field",
    "forge",
    "fort",
    "garden",
    "gate",
    "glen",
    "grove",
    "hall",
    "hill",
    "home",
    "house",
    "island",
    "key",
    "lake",
    "lamp",
    "lane",
    "ledge",
    "light",
    "loom",
    "market",
    "mast",
    "mill",
    "mine",
    "moor",
    "nest",
    "orchard",
    "path",
    "peak",
    "pier",
    "point",
    "pond",
    "port",
    "press",
    "quay",
    "ridge",
    "ring",
    "road",
    "rock",
    "sail",
    "shelf",
    "shore",
    "spring",
    "square",
    "station",
    "street",
    "tower",
    "trail",
    "valley",
    "view",
    "wharf",
    "wheel",
    "wood",
    "yard",
)
# A label's popularity falls as this power of its place in the word list.
_POPULARITY = 0.75
# www is the commonest label of cloud-using names (section 4.3.2): 3.3 % of all.
_WWW_IN_CLOUD = 0.43
_APEX_IN_CLOUD = 0.3
_PURE_APEX = 0.6
_TWO_LEVELS = 0.1
# No list of subdomains has a word with a number this large behind it.
_FIRST_NUMBER = 100
_UNGUESSABLE = "abcdefghijkmnpqrstuvwxyz23456789"
_UNGUESSABLE_LENGTH = 12


def invent_domains(wanted: int, taken: set[str], rng: random.Random) -> list[str]:
    """``wanted`` different domain names, none of them in ``taken``."""
    stems = [a + b for a, b in product(_FIRST, _SECOND)]
    rng.shuffle(stems)
    found: list[str] = []
    for number in count(1):
        for stem in stems:
            name = f"{stem}{number if number > 1 else ''}.{_SUFFIXES[len(found) % 2]}"
            if len(found) == wanted:
                return found
            if name not in taken:
                found.append(name)
    return found


class Labeller:
    """Gives names their labels: what people use, so that a word list finds them."""

    def __init__(
        self, labels: Sequence[str], no_apex: float, unlisted: float, rng: random.Random
    ) -> None:
        self._words = [w for w in labels if "." not in w and w != "www"]
        weights = [(i + 2) ** -_POPULARITY for i in range(len(self._words))]
        self._cumulated = list(accumulate(weights))
        self._no_apex = no_apex
        self._unlisted = unlisted
        self._rng = rng

    @property
    def capacity(self) -> int:
        """Return how many names with guessable labels a zone may have."""
        return len(self._words) * 2 // 3

    def label(self, domain: DomainDraft) -> list[str]:
        """Set ``host`` of every draft of a domain; gives the hosts of its other names."""
        drafts = [d for d in domain.drafts if not d.host]
        self._rng.shuffle(drafts)
        used = {d.host.removesuffix(f".{domain.domain}") for d in domain.drafts if d.host}
        others: list[str] = []
        self._place_apex(domain, drafts, others)
        self._place_www(domain, drafts, others)
        labels = self._draw(len(drafts) + domain.others - len(others), used, domain.transferable)
        hosts = [f"{label}.{domain.domain}" for label in labels]
        for draft in drafts:
            draft.host = hosts.pop()
        return others + hosts

    def _place_apex(self, domain: DomainDraft, drafts: list[Draft], others: list[str]) -> None:
        draw = self._rng.random()
        if draw < self._no_apex:
            return
        chance = _PURE_APEX if domain.pure else _APEX_IN_CLOUD
        direct = next((d for d in drafts if d.direct), None)
        if direct is not None and (draw < self._no_apex + chance or not domain.others):
            direct.host = domain.domain
            drafts.remove(direct)
        elif domain.others > len(others):
            others.append(domain.domain)

    def _place_www(self, domain: DomainDraft, drafts: list[Draft], others: list[str]) -> None:
        if drafts and (self._rng.random() < _WWW_IN_CLOUD or domain.others <= len(others)):
            drafts.pop().host = f"www.{domain.domain}"
        elif domain.others > len(others):
            others.append(f"www.{domain.domain}")

    def _draw(self, wanted: int, used: set[str], transferable: bool) -> list[str]:
        """Distinct labels; a zone that may be transferred has any number of them, a share of which
        is in no word list."""
        found = dict.fromkeys(used)
        listed = round(wanted * (1 - self._unlisted)) if transferable else wanted
        usual = min(listed, self.capacity) + len(used)
        while len(found) < usual:
            found.setdefault(self._rng.choices(self._words, cum_weights=self._cumulated)[0])
        number = _FIRST_NUMBER - 1
        while transferable and len(found) < wanted + len(used):
            number += 1
            found.setdefault(self._numbered(number))
        labels = list(found)[len(used) :]
        self._rng.shuffle(labels)  # names in a cloud and others have labels of both kinds
        return labels

    def _numbered(self, number: int) -> str:
        word = self._rng.choice(self._words)
        if self._rng.random() < _TWO_LEVELS:
            return f"{word}{number}.{self._rng.choice(self._words)}"
        return f"{word}{number}"

    def unguessable(self) -> str:
        """Return a random label that is in no word list."""
        return "".join(self._rng.choices(_UNGUESSABLE, k=_UNGUESSABLE_LENGTH))
