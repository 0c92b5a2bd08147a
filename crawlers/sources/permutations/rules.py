"""The kinds of alteration: each yields names similar to those of a zone.

Each kind has an expected share of existing names. The shares are assumptions from how operators
name hosts, not measurements; results of the survey update them.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain

from crawlers.sources.permutations.series import Series, find_series

ENVIRONMENTS = (
    "staging",
    "dev",
    "test",
    "uat",
    "qa",
    "prod",
    "stage",
    "demo",
    "preprod",
    "beta",
    "sandbox",
    "int",
    "stg",
    "preview",
    "live",
    "internal",
)
REGIONS = (
    "us",
    "eu",
    "east",
    "west",
    "uk",
    "asia",
    "ap",
    "de",
    "us-east",
    "us-west",
    "eu-west",
    "us-east-1",
    "us-west-2",
    "eu-west-1",
    "eu-central-1",
    "ap-southeast-1",
    "fr",
    "au",
    "sg",
    "jp",
    "in",
    "ca",
    "br",
    "cn",
    "north",
    "south",
    "global",
    "dc1",
    "dc2",
)
NUMBERS = ("1", "2", "01", "-1", "-2", "02", "3", "-01", "-02", "03", "-3", "0")
_LISTED = frozenset({*ENVIRONMENTS, *REGIONS})
# Words that a survey has in at least so many zones are tried in the others too, at most so many.
_SEEN_IN_ZONES = 2
_SEEN_WORDS = 32
# Joined words grow with the square of what a zone has.
_JOINED_LABELS = 40
_WORDS = re.compile(r"[a-z][a-z0-9]*")


class View:
    """What a zone has, in the order in which it was found.

    ``labels`` are (first label, the rest), without the zone's own name; ``words`` are those that
    it combines with others by a hyphen or dot, and environments and regions wherever they stand.
    """

    __slots__ = ("_series", "domain", "found", "labels", "words")

    def __init__(self, domain: str, found: tuple[str, ...]) -> None:
        self.domain = domain
        self.found = found
        suffix = "." + domain
        below = dict.fromkeys(name for name in found if name.endswith(suffix))
        pairs = (name.partition(".") for name in below)
        self.labels = tuple((label, parent) for label, _, parent in pairs)
        parts = (re.split(r"[-.]", name.removesuffix(suffix)) for name in below)
        self.words = {w for words in parts for w in words if len(words) > 1 or w in _LISTED}
        self._series: list[Series] | None = None

    @property
    def series(self) -> list[Series]:
        """Numbered labels, found once."""
        if self._series is None:
            self._series = find_series(self.labels)
        return self._series


@dataclass(frozen=True, slots=True)
class Alteration:
    """One kind; ``word`` is what it adds, where that is a word that zones may have."""

    name: str
    prior: float
    make: Callable[[View], Iterator[str]]
    word: str = ""


def alterations(zones_with: Mapping[str, int]) -> list[Alteration]:
    """All kinds, with those for words that a survey has in several zones."""
    seen = (word for word, n in Counter(zones_with).most_common() if n >= _SEEN_IN_ZONES)
    plain = sorted(w for w in seen if w not in _LISTED and _WORDS.fullmatch(w))
    often = sorted(plain, key=lambda word: -zones_with[word])[:_SEEN_WORDS]
    return [
        *_of_series(),
        *_of_numbers(),
        *_of_words("environment", ENVIRONMENTS, 0.02),
        *_of_words("region", REGIONS, 0.006),
        *_of_words("seen", tuple(often), 0.004),
        Alteration("environment-dropped", 0.15, partial(_drop_word, _word_pattern(ENVIRONMENTS))),
        Alteration("sibling", 0.12, _add_siblings),
        Alteration("joined", 0.004, _join_labels),
    ]


def _of_series() -> Iterator[Alteration]:
    yield Alteration("series-gap", 0.5, _in_series(Series.gaps))
    yield Alteration("series-neighbour", 0.25, _in_series(Series.neighbours))
    yield Alteration("series-beginning", 0.2, _in_series(Series.first_missing))
    yield Alteration("series-continuation", 0.06, _in_series(Series.continuation))


def _in_series(members: Callable[[Series], Iterator[str]]) -> Callable[[View], Iterator[str]]:
    return lambda view: chain.from_iterable(members(series) for series in view.series)


def _of_numbers() -> Iterator[Alteration]:
    """The first of these is the likeliest, and each one less so."""
    for rank, number in enumerate(NUMBERS):
        yield Alteration(f"number{number}", 0.03 / (1 + rank / 2), partial(_add_number, number))


def _of_words(family: str, words: tuple[str, ...], prior: float) -> Iterator[Alteration]:
    """Each word in the place of another of its family, and added to labels that have none."""
    pattern = _word_pattern(words)
    for rank, word in enumerate(words):
        share = prior / (1 + rank / 8)
        if family != "seen":
            swap = partial(_swap_word, pattern, word)
            yield Alteration(f"{family}-swap:{word}", 5 * share, swap, word)
        # How the word is added, by how often operators write it so.
        for form, weight in (("{}-{w}", 1.0), ("{w}-{}", 0.7), ("{w}.{}", 0.6), ("{}.{w}", 0.6)):
            add = partial(_add_word, pattern, form, word)
            yield Alteration(f"{family}:{form.format('*', w=word)}", share * weight, add, word)
        bare = partial(_use_whole_word, word)
        yield Alteration(f"{family}:{word}", 1.5 * share, bare, word)


def _word_pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    longest_first = sorted(words, key=len, reverse=True)
    any_word = "|".join(map(re.escape, longest_first)) or "(?!)"
    return re.compile(rf"(?<![a-z0-9])(?:{any_word})(?![a-z0-9])")


def _add_number(number: str, view: View) -> Iterator[str]:
    return (f"{label}{number}.{up}" for label, up in view.labels if not label[-1:].isdigit())


def _swap_word(pattern: re.Pattern[str], word: str, view: View) -> Iterator[str]:
    suffix = "." + view.domain
    for label, parent in view.labels:
        below = f"{label}.{parent}".removesuffix(suffix)
        changed = pattern.sub(word, below, count=1)
        if changed != below:
            yield changed + suffix


def _drop_word(pattern: re.Pattern[str], view: View) -> Iterator[str]:
    suffix = "." + view.domain
    for label, parent in view.labels:
        below = f"{label}.{parent}".removesuffix(suffix)
        rest = re.sub(r"([-.])[-.]+", r"\1", pattern.sub("", below, count=1)).strip("-.")
        if rest and rest != below:
            yield rest + suffix


def _add_word(pattern: re.Pattern[str], form: str, word: str, view: View) -> Iterator[str]:
    """A dotted form puts the word above or below the label: ``staging.api``, ``api.staging``."""
    for label, parent in view.labels:
        if not pattern.search(label):
            yield f"{form.format(label, w=word)}.{parent}"


def _use_whole_word(word: str, view: View) -> Iterator[str]:
    if view.labels:
        yield f"{word}.{view.domain}"


def _add_siblings(view: View) -> Iterator[str]:
    """What is below one name is tried below the others: ``api.eu``, ``web.us``: ``api.us``."""
    parents = dict.fromkeys(parent for _, parent in view.labels if parent != view.domain)
    times = Counter(label for label, parent in view.labels if parent != view.domain)
    for label, _ in times.most_common():
        yield from (f"{label}.{parent}" for parent in parents)


def _join_labels(view: View) -> Iterator[str]:
    """Two words of the zone with a hyphen, then as one."""
    at_top = dict.fromkeys(label for label, parent in view.labels if parent == view.domain)
    labels = [label for label in at_top if _WORDS.fullmatch(label)][:_JOINED_LABELS]
    pairs = [(a, b) for a in labels for b in labels if a != b]
    yield from (f"{a}-{b}.{view.domain}" for a, b in pairs)
    yield from (f"{a}{b}.{view.domain}" for a, b in pairs)
