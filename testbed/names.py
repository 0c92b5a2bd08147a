"""Names of an emulated world: domains, labels, ranks."""

import random
from collections.abc import Sequence

from testbed.apportion import apportion

_FIRST = "amber birch cedar delta ember fjord grove haven iris jade kite lumen maple north ocean pine quartz river stone tide ultra vale willow xenon yarrow zephyr".split()  # noqa: E501, SIM905
_SECOND = "base cast craft deck edge field forge gate hub kit lab line link loop mart mesh nest path peak point port press shop side space spot store stream track trade view ware works yard zone".split()  # noqa: E501, SIM905
_SUFFIXES = ("com", "com", "com", "com", "net", "org", "de", "co.uk", "com.br", "jp", "fr", "io")


def invent_domains(count: int, rng: random.Random) -> list[str]:
    """``count`` different domain names in random order."""
    names: list[str] = []
    number = 0
    while len(names) < count:
        batch = [f"{a}{b}{number or ''}" for a in _FIRST for b in _SECOND]
        rng.shuffle(batch)
        names += [f"{stem}.{rng.choice(_SUFFIXES)}" for stem in batch]
        number += 1
    return names[:count]


def rank_positions(n: int, total: int, quarters: Sequence[float], rng: random.Random) -> list[int]:
    """Positions of ``n`` domains in a list of ``total``, with given shares per quarter."""
    edges = [round(total * i / len(quarters)) for i in range(len(quarters) + 1)]
    positions: list[int] = []
    for i, count in enumerate(apportion(n, quarters)):
        room = range(edges[i], edges[i + 1])
        positions += rng.sample(room, min(count, len(room)))
    spare = sorted(set(range(total)) - set(positions))
    positions += rng.sample(spare, n - len(positions))
    rng.shuffle(positions)
    return positions


class LabelMaker:
    """Chooses host names that a crawl can find, or cannot."""

    def __init__(self, labels: Sequence[str], rng: random.Random) -> None:
        self.labels = list(labels)
        self.rng = rng

    def hosts(self, domain: str, count: int, apex: bool, free: bool) -> list[str]:
        """``count`` different host names of a domain; ``free`` ones need not be in the list."""
        hosts = [domain] if apex and count else []
        known = min(count - len(hosts), len(self.labels) // 2 if free else len(self.labels))
        reach = min(len(self.labels), max(30, known * 4))
        chosen = self.rng.sample(self.labels[:reach], min(known, reach))
        hosts += [f"{label}.{domain}" for label in chosen]
        missing = count - len(hosts)
        hosts += [f"c{i:x}-{self.rng.randrange(4096):x}.{domain}" for i in range(missing)]
        return hosts

    def unguessable(self) -> str:
        """A label that no word list has."""
        return f"h{self.rng.getrandbits(48):012x}"
