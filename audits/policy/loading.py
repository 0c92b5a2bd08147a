"""Read a policy from TOML or JSON; every error names the field, and the line where it can."""

import hashlib
import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from audits.findings import Severity
from audits.policy.model import Policy, RuleSetting
from audits.rules.registry import RULES
from core.errors import BadInput
from core.paths import FIXTURES

_PRESETS = FIXTURES / "audits" / "policies"
# A policy is written by hand; a larger text is something else.
MAX_POLICY_BYTES = 1_000_000
_DEFAULT_PRESET = "default"


def preset_names() -> list[str]:
    """The presets that are delivered, by name."""
    return sorted(path.stem for path in _PRESETS.glob("*.toml"))


def preset_document(name: str) -> str:
    """The text of a delivered policy; raises ``BadInput`` where there is none of that name."""
    if name not in preset_names():
        raise BadInput(f"there is no preset {name!r}; presets are {', '.join(preset_names())}")
    return (_PRESETS / f"{name}.toml").read_text(encoding="utf-8")


def load_preset(name: str = _DEFAULT_PRESET) -> Policy:
    """A delivered policy; raises ``BadInput`` where there is none of that name."""
    return parse_policy(preset_document(name).encode())


def parse_policy(data: bytes) -> Policy:
    """Parse a policy document, TOML or JSON; raises ``BadInput``."""
    if len(data) > MAX_POLICY_BYTES:
        raise BadInput(f"a policy has at most {MAX_POLICY_BYTES:,} bytes")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise BadInput("a policy is a UTF-8 text", line=line) from error
    document = _parse_text(text)
    try:
        return policy_of(document, hashlib.sha256(data).hexdigest())
    except BadInput as error:
        place = _line_of(text, error.field or "")
        if place is None:
            raise
        raise BadInput(str(error), line=place) from error


def policy_of(document: Mapping[str, Any], digest: str = "") -> Policy:
    """Build a policy from a parsed document; raises ``BadInput`` with the field's path."""
    fields = dict(document)
    rules = fields.get("rules", {})
    if not isinstance(rules, Mapping) or not rules:
        raise BadInput("name at least one rule, as [rules.single-region]", field="rules")
    fields["rules"] = {rule_id: _setting(rule_id, table) for rule_id, table in rules.items()}
    fields["digest"] = digest
    try:
        return Policy.model_validate(fields)
    except ValidationError as error:
        raise _bad_input(error, "") from error


def _parse_text(text: str) -> dict[str, Any]:
    if text.lstrip()[:1] == "{":
        try:
            found = json.loads(text)
        except json.JSONDecodeError as error:
            raise BadInput(f"not JSON: {error.msg}", line=error.lineno) from error
        except RecursionError as error:
            raise BadInput("the document is nested too deeply") from error
        return dict(found)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        where = re.search(r"at line (\d+)", str(error))
        message = re.sub(r" \(at .*\)$", "", str(error))
        raise BadInput(
            f"not TOML: {message}", line=int(where.group(1)) if where else None
        ) from error
    except RecursionError as error:
        raise BadInput("the document is nested too deeply") from error


def _setting(rule_id: str, table: Any) -> RuleSetting:
    field = f"rules.{rule_id}"
    rule = RULES.get(rule_id)
    if rule is None:
        raise BadInput(f"there is no such rule; rules are {', '.join(RULES)}", field=field)
    if not isinstance(table, Mapping):
        raise BadInput("must be a table of settings", field=field)
    values = dict(table)
    severity = values.pop("severity", rule.severity)
    if severity not in list(Severity):
        raise BadInput(f"must be one of {', '.join(Severity)}", field=f"{field}.severity")
    try:
        parameters = rule.parameters.model_validate(values)
    except ValidationError as error:
        raise _bad_input(error, field) from error
    return RuleSetting(severity=Severity(severity), parameters=parameters)


def _bad_input(error: ValidationError, prefix: str) -> BadInput:
    first = error.errors()[0]
    path = ".".join(str(part) for part in (*([prefix] if prefix else []), *first["loc"]))
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        message = "is not a known setting"
    return BadInput(message, field=path)


def _line_of(text: str, field: str) -> int | None:
    """The line of a field in a TOML or JSON text, as far as its keys determine it."""
    lines = text.splitlines()
    found: int | None = None
    start = 0
    keys = [key for key in field.split(".") if key]
    for i, key in enumerate(keys):
        if key.isdecimal():
            # The n-th table of an array, as in [[suppressions]].
            header = f"[[{keys[i - 1]}]]"
            places = [n for n, line in enumerate(lines) if line.strip() == header]
            if int(key) < len(places):
                found = start = places[int(key)]
            continue
        pattern = re.compile(rf'(?:^|[\s\[."{{,]){re.escape(key)}"?\s*(?:[=:\].]|$)')
        for n in range(start, len(lines)):
            if pattern.search(lines[n].split("#")[0]):
                found = start = n
                break
    return None if found is None else found + 1
