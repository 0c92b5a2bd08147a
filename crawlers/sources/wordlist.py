"""Word lists: the labels that are tried in each zone, in order of expected yield."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from core.errors import BadInput
from core.paths import FIXTURES
from core.statuses import Technique
from crawlers.dns.idna import MAX_NAME
from crawlers.engine.engine import Engine
from crawlers.sources.base import Harvest, Zone

DEFAULT_PATH = FIXTURES / "wordlists" / "subdomains.txt"
MAX_WORDS = 1_000_000
_LABEL = r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?"
_WORD = re.compile(rf"{_LABEL}(\.{_LABEL})*")


def read_wordlist(data: bytes) -> tuple[str, ...]:
    """Labels (dotted ones too), lower-cased, without repeats, in file order.

    Raises ``BadInput`` naming the first line that is no label, or when there is no word at all.
    """
    words: dict[str, None] = {}
    for number, raw in enumerate(data.splitlines(), 1):
        word = raw.split(b"#")[0].decode("ascii", "replace").strip().strip(".").lower()
        if not word:
            continue
        if len(word) > 200 or not _WORD.fullmatch(word):
            raise BadInput(f"{word[:60]!r} is not a DNS label", line=number)
        words[word] = None
    if not words:
        raise BadInput("the word list holds no label")
    if len(words) > MAX_WORDS:
        raise BadInput(f"{len(words):,} words are more than {MAX_WORDS:,}")
    return tuple(words)


@lru_cache(maxsize=1)
def default_wordlist() -> tuple[str, ...]:
    """The product's own list."""
    return read_wordlist(DEFAULT_PATH.read_bytes())


@dataclass(frozen=True)
class Words:
    """``word.domain`` for every word, best words first; sends no query."""

    words: tuple[str, ...]

    technique = Technique.WORDLIST
    is_zone_data = False

    @cached_property
    def known(self) -> frozenset[str]:
        """The words as a set."""
        return frozenset(self.words)

    @cached_property
    def _longest(self) -> int:
        return max(map(len, self.words), default=0)

    def labels(self, domain: str) -> Sequence[str]:
        """The words that make a name DNS can carry: ``words`` itself where all do."""
        longest = MAX_NAME - 1 - len(domain)
        if self._longest <= longest:
            return self.words
        return [word for word in self.words if len(word) <= longest]

    def names(self, domain: str) -> Iterator[str]:
        """The names of one domain that DNS can carry."""
        return (f"{word}.{domain}" for word in self.labels(domain))

    def harvest(self, zones: Sequence[Zone], engine: Engine) -> Iterator[Harvest]:
        """One harvest per zone."""
        for zone in zones:
            yield Harvest(zone.domain, names=tuple(self.names(zone.domain)))
