"""Composition of examples from the schemas of the OpenAPI document."""

from typing import Any

from webapp.api.framework.examples import BODIES, FIELDS

_DEEPEST = 8
_TEXTS = {
    "date-time": "2026-03-01T12:00:00Z",
    "date": "2026-03-01",
    "binary": "",
    "uri": "https://nephoscope.example/",
}
_NUMBERS = {"integer": 4, "number": 1.5}


class Composer:
    """Composes examples of the schemas of a document."""

    def __init__(self, components: dict[str, Any]) -> None:
        self._components = components

    def compose(self, schema: dict[str, Any], field: str = "", model: str = "") -> Any:
        """Return an example of a schema, of which ``field`` of ``model`` may be the name."""
        return self._compose(schema, field, model, 0)

    def _compose(self, schema: dict[str, Any], field: str, model: str, depth: int) -> Any:
        if "$ref" in schema:
            return self._referred(schema["$ref"].rpartition("/")[2], field, model, depth)
        for name in (f"{model}.{field}", field):
            if name in FIELDS and _fits(FIELDS[name], schema):
                return FIELDS[name]
        return self._by_kind(schema, field, model, depth)

    def _referred(self, name: str, field: str, model: str, depth: int) -> Any:
        if f"{model}.{field}" in FIELDS:
            return FIELDS[f"{model}.{field}"]
        if name in BODIES:
            return BODIES[name]
        return (
            {} if depth > _DEEPEST else self._by_kind(self._components[name], "", name, depth + 1)
        )

    def _by_kind(self, schema: dict[str, Any], field: str, model: str, depth: int) -> Any:
        if "const" in schema or "enum" in schema:
            return schema.get("const", schema.get("enum", [None])[0])
        choices = schema.get("anyOf") or schema.get("oneOf")
        if choices:
            return self._compose(choices[0], field, model, depth)
        kind = schema.get("type")
        if kind == "array":
            items = schema.get("prefixItems") or [schema.get("items", {})]
            return [self._compose(item, "", "", depth) for item in items]
        if kind == "object" or "properties" in schema:
            return self._object(schema, model, depth)
        if kind == "string":
            return schema.get("default") or _TEXTS.get(schema.get("format", ""), "text")
        if kind in _NUMBERS:
            return schema.get("default", schema.get("minimum", _NUMBERS[kind]))
        return False if kind == "boolean" else None

    def _object(self, schema: dict[str, Any], model: str, depth: int) -> Any:
        more = schema.get("additionalProperties")
        if isinstance(more, dict) and more and not schema.get("properties"):
            return {"regions": self._compose(more, "", "", depth)}
        return {
            name: self._compose(kind, name, model, depth)
            for name, kind in schema.get("properties", {}).items()
        }


_TYPES: dict[str, Any] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": type(None),
}


def _fits(value: Any, schema: dict[str, Any]) -> bool:
    """Whether a value is of the schema's kind, so that one name may have several kinds."""
    if "anyOf" in schema:
        return any(_fits(value, choice) for choice in schema["anyOf"])
    if "$ref" in schema:
        return isinstance(value, dict)
    if "enum" in schema or "const" in schema:
        return value in schema.get("enum", [schema.get("const")])
    kind = _TYPES.get(schema.get("type", ""), object)
    if isinstance(value, bool) and kind is not bool:
        return kind is object
    items = schema.get("items", {})
    is_listed = isinstance(value, list) and items
    return isinstance(value, kind) and (not is_listed or all(_fits(v, items) for v in value))
