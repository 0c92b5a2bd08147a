"""Candidate names, the probes about them, and the verdicts of ``wildcard_filter``."""

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

from crawlers.enumeration.wildcard_statistics import Evidence


class Verdict(Enum):
    """The verdict about a candidate; SUSPECT: it cannot be distinguished from the wildcard."""

    GENUINE = "genuine"
    WILDCARD = "wildcard"
    SUSPECTED = "suspected"


class Probe(NamedTuple):
    """One extra question; ``below`` is the tested candidate, if any.

    With ``is_repeat`` it is the repeated question for that candidate itself. ``is_control`` asks
    whether a name that holds an asterisk is answered like any other.
    """

    name: str
    type: str = "A"
    is_deep: bool = False
    below: str = ""
    is_repeat: bool = False
    is_control: bool = False


class Held(NamedTuple):
    """A candidate that waits for its verdict; ``load`` is returned with it, unread."""

    name: str
    evidence: Evidence
    load: Any


@dataclass(slots=True)
class Tests:
    """What was learnt about one candidate: from random names below it, and from asking it again."""

    asked: int = 0
    denied: int = 0
    answers: list[Evidence] = field(default_factory=list)
    repeated: int = 0
    repeats: list[Evidence | None] = field(default_factory=list)
