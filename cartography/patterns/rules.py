"""Front-end rules, from ``fixtures/patterns.toml``; each is checked before it is used."""

import ipaddress
import re
import tomllib
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

from core.errors import BadInput
from core.paths import FIXTURES
from core.statuses import AddressKind

RULES_PATH = FIXTURES / "patterns.toml"
_MATCHES = {"direct", "address", "service", "network", "cname_suffix", "cname_contains"}
_WITHOUT_VALUES = {"direct", "address"}
_INSTANCES = {"address", "cname"}
_SCOPES = {"", "global", "regional"}
_KINDS = {"", *map(str, AddressKind)}
# At most one label may vary, and not one of the last two: they are what is looked up first.
_SUFFIX = re.compile(r"(?:[a-z0-9_-]+\.)*(?:\*\.)?(?:[a-z0-9_-]+\.)*[a-z0-9_-]+\.[a-z0-9-]+")
# So that an address is looked up as text, by itself and by its first three numbers.
_NETWORK_LENGTHS = {4: (24, 32), 6: (128,)}


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
    scope: str = ""
    by_name: bool = False
    claimable: bool = False
    needs: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    also: tuple[str, ...] = ()

    @property
    def by_cname(self) -> bool:
        """Whether the rule looks at CNAMEs."""
        return self.match in ("cname_suffix", "cname_contains")


_LISTS = {"values", "needs", "unless", "also"}


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
    if len(known) < len(rules):
        raise BadInput("two patterns have the same id")
    for rule in rules:
        if {*rule.needs, *rule.unless, *rule.also} - known:
            raise BadInput("it refers to an unknown rule", field=f"pattern {rule.id}")
    return rules


def _rule(row: dict[str, Any]) -> Rule:
    where = f"pattern {row.get('id')}"
    given: dict[str, Any] = {k: _as_tuple(v) if k in _LISTS else v for k, v in row.items()}
    try:
        rule = Rule(**given)
    except TypeError as error:
        raise BadInput(f"a field is missing or unknown: {error}", field=where) from error
    _check_types(rule, where)
    if rule.match not in _MATCHES or rule.instance not in _INSTANCES:
        raise BadInput(f"{rule.match!r} or {rule.instance!r} is not known", field=where)
    if rule.scope not in _SCOPES or rule.kind not in _KINDS:
        raise BadInput(f"{rule.scope!r} or {rule.kind!r} is not known", field=where)
    if (rule.match in _WITHOUT_VALUES) == bool(rule.values):
        raise BadInput("values are for every kind of match but direct and address", field=where)
    _check_values(rule, where)
    if rule.by_name and (rule.instance != "cname" or not rule.by_cname):
        raise BadInput("a rule by name counts the CNAMEs that it matches", field=where)
    return rule


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _check_types(rule: Rule, where: str) -> None:
    for field in fields(Rule):
        value = getattr(rule, field.name)
        parts = value if field.name in _LISTS else (value,)
        kind = bool if field.name in ("by_name", "claimable") else str
        if not all(isinstance(part, kind) for part in parts):
            raise BadInput(f"{field.name} is of the wrong type", field=where)


def _check_values(rule: Rule, where: str) -> None:
    for value in rule.values:
        if rule.match == "cname_suffix" and not _SUFFIX.fullmatch(value):
            raise BadInput(f"{value!r} is not a suffix in lower case", field=where)
        if rule.match == "network":
            _check_network(value, where)


def _check_network(value: str, where: str) -> None:
    try:
        network = ipaddress.ip_network(value)
    except ValueError as error:
        raise BadInput(f"{value!r} is not a network", field=where) from error
    lengths = _NETWORK_LENGTHS[network.version]
    if network.prefixlen not in lengths:
        raise BadInput(f"{value!r} is neither an address nor an IPv4 /24", field=where)


def network_key(value: str) -> str:
    """What addresses of a checked network begin with, or the address itself."""
    network = ipaddress.ip_network(value)
    text = str(network.network_address)
    return text.rpartition(".")[0] + "." if network.prefixlen == 24 else text
