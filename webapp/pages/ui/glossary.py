"""Read ``fixtures/glossary.toml``: terms of pages with their definitions, in groups."""

import tomllib
from dataclasses import dataclass
from functools import cache

from core.paths import FIXTURES

GLOSSARY_PATH = FIXTURES / "glossary.toml"


@dataclass(frozen=True, slots=True)
class Term:
    """A term with its id (the fragment on the glossary page), group, title and definition."""

    id: str
    group: str
    title: str
    definition: str


@cache
def read_terms() -> dict[str, Term]:
    """Return all terms by id, in file order; raises ``TypeError`` for a missing or unknown key."""
    rows = tomllib.loads(GLOSSARY_PATH.read_text(encoding="utf-8"))["term"]
    return {key: Term(key, **row) for key, row in rows.items()}


@cache
def group_terms() -> tuple[tuple[str, tuple[Term, ...]], ...]:
    """Return (title of the group, its terms by title), in the order of the file's groups."""
    groups = tomllib.loads(GLOSSARY_PATH.read_text(encoding="utf-8"))["groups"]
    return tuple(
        (
            title,
            tuple(
                sorted(
                    (term for term in read_terms().values() if term.group == key),
                    key=lambda term: term.title.casefold(),
                )
            ),
        )
        for key, title in groups.items()
    )
