"""Read the one table of cloud providers and edge networks, ``fixtures/providers.toml``."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from core.paths import FIXTURES

PROVIDERS_PATH = FIXTURES / "providers.toml"


@dataclass(frozen=True, slots=True)
class Provider:
    """One provider; the head of ``fixtures/providers.toml`` describes each key."""

    id: str
    name: str
    letter: str
    hue: tuple[str, str]
    asns: frozenset[int]
    range_urls: tuple[str, ...]
    has_edition: bool
    collective_services: Mapping[str, int]
    sanity_rules: tuple[str, ...]


def parse_providers(text: str) -> dict[str, Provider]:
    """Parse the table of providers by id, in file order; raise ``ValueError`` for a wrong row."""
    return {key: _parse_provider(key, row) for key, row in tomllib.loads(text).items()}


def _parse_provider(key: str, row: dict[str, Any]) -> Provider:
    expected = {field.name for field in fields(Provider)} - {"id"}
    if wrong := sorted(expected ^ row.keys()):
        raise ValueError(f"provider {key}: missing or unknown keys: {', '.join(wrong)}")
    light, dark = row["hue"]
    lists = {name: tuple(row[name]) for name in ("range_urls", "sanity_rules")}
    changed = {"hue": (light, dark), "asns": frozenset(row["asns"]), **lists}
    return Provider(id=key, **{**row, **changed})


PROVIDER_BY_ID = parse_providers(PROVIDERS_PATH.read_text(encoding="utf-8"))
# The ids in the order of report tables and legends.
PROVIDERS = tuple(PROVIDER_BY_ID)
