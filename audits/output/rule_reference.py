"""The reference page of all rules, written from the rules themselves."""

from typing import Any

from audits.rules.registry import RULES

_HEAD = """# Audit rules

Written by `manage.py audit --list-rules --format markdown`; a test compares it with the code. How
rules are chosen and limits set: [audits](../how-to/audit-in-a-pipeline.md). What the figures behind
them mean: [methods](../methods/README.md).

A rule decides about each listed domain: *finding*, *pass*, *not applicable* or *not judged*. What
could not be observed is never a pass.
"""


def rule_reference() -> str:
    """The page as Markdown."""
    parts = [_HEAD]
    for rule in RULES.values():
        parts.append(f"## `{rule.id}`\n\n{rule.title}. Severity by default: {rule.severity}.\n")
        parts.append(f"{rule.description}\n\n{rule.suggestion}\n")
        properties = rule.parameters.model_json_schema().get("properties", {})
        if properties:
            rows = [
                f"| `{name}` | {_default(field)} | {_range(field)} | {field['description']} |"
                for name, field in properties.items()
            ]
            head = "| parameter | default | range | meaning |\n|---|---|---|---|"
            parts.append("\n".join([head, *rows]) + "\n")
    return "\n".join(parts)


def _default(field: dict[str, Any]) -> str:
    value = field["default"]
    return (
        ", ".join(f"`{item}`" for item in value) or "none"
        if isinstance(value, list)
        else f"{value}"
    )


def _range(field: dict[str, Any]) -> str:
    signs = {
        "minimum": "≥",
        "exclusiveMinimum": ">",
        "maximum": "≤",
        "exclusiveMaximum": "<",
    }
    return ", ".join(f"{sign} {field[key]:g}" for key, sign in signs.items() if key in field)
