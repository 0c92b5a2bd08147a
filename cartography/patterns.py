"""Front-end patterns: rules as data, applied to one name's answers and placed addresses."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from core.errors import BadInput
from core.records import Answer, Front, Placement
from core.statuses import AddressKind

RULES_PATH = Path(__file__).resolve().parent.parent / "fixtures" / "patterns.toml"
_MATCHES = {"direct", "cname_suffix", "cname_contains", "service"}
_INSTANCES = {"address", "cname"}
_IN_CLOUD = (AddressKind.CLOUD, AddressKind.CDN)


@dataclass(frozen=True, slots=True)
class Rule:
    """One pattern; see ``fixtures/patterns.toml`` for the meaning of each field."""

    id: str
    provider: str
    label: str
    match: str
    instance: str
    source: str
    example: str
    values: tuple[str, ...] = ()
    kind: str = ""
    needs: str = ""
    unless: str = ""


@dataclass(frozen=True, slots=True)
class Hit:
    """A rule that matched: the CNAMEs that did, and the provider's addresses it is about."""

    rule: Rule
    cnames: tuple[str, ...]
    placements: tuple[Placement, ...]


@lru_cache(maxsize=1)
def load_rules() -> tuple[Rule, ...]:
    """The product's own rules, in file order."""
    return read_rules(RULES_PATH.read_text(encoding="utf-8"))


def read_rules(text: str) -> tuple[Rule, ...]:
    """Rules from TOML; raises ``BadInput`` that names the rule that cannot work."""
    try:
        rows = tomllib.loads(text).get("rule", [])
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"the patterns are not TOML: {error}") from error
    rules = tuple(_rule(row) for row in rows)
    known = {rule.id for rule in rules}
    for rule in rules:
        if {rule.needs, rule.unless} - known - {""}:
            raise BadInput("it refers to an unknown rule", field=f"pattern {rule.id}")
    return rules


def _rule(row: dict[str, Any]) -> Rule:
    where = f"pattern {row.get('id')}"
    try:
        rule = Rule(**{**row, "values": tuple(row.get("values", ()))})
    except TypeError as error:
        raise BadInput(f"a field is missing or unknown: {error}", field=where) from error
    if rule.match not in _MATCHES or rule.instance not in _INSTANCES:
        raise BadInput(f"{rule.match!r} or {rule.instance!r} is not known", field=where)
    if (rule.match == "direct") == bool(rule.values):
        raise BadInput("values are for every kind of match but direct", field=where)
    return rule


def label_fronts(
    answers: Sequence[Answer], placements: Mapping[str, Placement]
) -> tuple[Front, ...]:
    """Labels of one name from all its answers; one ``Front`` per label and instance."""
    if not answers:
        return ()
    addresses = dict.fromkeys(a for answer in answers for a in answer.addresses)
    chain = (c.lower().rstrip(".") for answer in answers for c in answer.cnames)
    cnames = tuple(dict.fromkeys(chain))
    places = [placements[a] for a in addresses if a in placements]
    placed = [p for p in places if p.kind in _IN_CLOUD]
    if not placed:
        return ()
    rules = load_rules()
    hits = {rule.id: _match(rule, cnames, placed) for rule in rules}
    fronts = []
    for rule in rules:
        hit = hits[rule.id]
        blocked = (rule.needs and not hits[rule.needs]) or (rule.unless and hits[rule.unless])
        if hit and not blocked:
            fronts += _fronts(answers[0].name, hit)
    return tuple(fronts)


def _match(rule: Rule, cnames: tuple[str, ...], placed: Sequence[Placement]) -> Hit | None:
    own = tuple(p for p in placed if p.provider == rule.provider and rule.kind in ("", str(p.kind)))
    if not own:
        return None
    if rule.match == "direct":
        return None if cnames else Hit(rule, (), own)
    if rule.match == "service":
        found = tuple(p for p in own if p.service in rule.values)
        return Hit(rule, (), found) if found else None
    matched = tuple(c for c in cnames if _cname_matches(rule, c))
    return Hit(rule, matched, own) if matched else None


def _cname_matches(rule: Rule, cname: str) -> bool:
    if rule.match == "cname_suffix":
        return any(cname == v or cname.endswith("." + v) for v in rule.values)
    return any(v in cname for v in rule.values)


def _fronts(name: str, hit: Hit) -> list[Front]:
    rule = hit.rule
    if rule.instance == "cname":
        return [
            Front(name, rule.provider, rule.label, rule.id, f"CNAME {c}", c) for c in hit.cnames
        ]
    reason = f"CNAME {hit.cnames[0]}" if hit.cnames else ""
    return [
        Front(name, rule.provider, rule.label, rule.id, reason or _evidence(p), p.address)
        for p in hit.placements
    ]


def _evidence(placement: Placement) -> str:
    return (
        f"{placement.address} in prefix {placement.prefix} "
        f"({placement.service}, table as of {placement.as_of})"
    )
