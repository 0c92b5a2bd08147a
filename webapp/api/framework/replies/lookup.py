"""Response schemas by name, for the OpenAPI document."""

import re
from functools import cache
from typing import Any, Literal

from pydantic import TypeAdapter

from webapp.api.framework.problems import Problem
from webapp.api.framework.replies import (
    audits,
    common,
    evidence,
    measurements,
    recommendations,
    schedules,
    screening,
    service,
    simulations,
    surveys,
    traffic,
    vantages,
)
from webapp.api.framework.replies.common import Page
from webapp.api.framework.routers import replies
from webapp.store.screening import selectors

_MODE: Literal["serialization"] = "serialization"
_MODULES = {
    module.__name__.rpartition(".")[2]: module
    for module in (
        audits,
        common,
        evidence,
        measurements,
        recommendations,
        schedules,
        screening,
        selectors,
        service,
        simulations,
        surveys,
        traffic,
        vantages,
    )
}
_LIST = re.compile(r"Page\[(.+)\]")
# Names of rows of the store that read worse outside of it.
_RENAMED = {"InstanceRow": "PoolInstance", "TokenRow": "PoolToken", "LogRow": "PoolLog"}
_RENAMED |= {"StallView": "Stall"}


def is_schema(name: str | None) -> bool:
    """Whether the name of a reply is that of a schema; the others are media types."""
    return name is not None and "/" not in name and name != "files"


def _resolve(name: str) -> Any:
    """Return the model of a name."""
    found = _LIST.fullmatch(name)
    if found:
        item = _resolve(found[1])
        return Page.__class_getitem__(item)
    if name == "str":
        return str
    module, _, model = name.partition(".")
    return getattr(_MODULES[module], model)


@cache
def describe() -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """JSON Schemas of all replies by name, and the components that they refer to."""
    names = {name for of in replies.values() for name in of.values() if name and is_schema(name)}
    kinds = {**{name: _resolve(name) for name in sorted(names)}, "": Problem}
    adapters = [(name, _MODE, TypeAdapter(kind)) for name, kind in kinds.items()]
    found, definitions = TypeAdapter.json_schemas(
        adapters, ref_template="#/components/schemas/{model}", by_alias=True
    )
    components = {_rename(name): _renamed(kind) for name, kind in definitions["$defs"].items()}
    return {name: _renamed(found[name, _MODE]) for name in kinds}, components


def _rename(component: str) -> str:
    listed = re.fullmatch(r"Page_(\w+)_", component)
    return f"{_rename(listed[1])}Page" if listed else _RENAMED.get(component, component)


def _renamed(schema: Any) -> Any:
    """The schema with references and titles renamed."""
    if isinstance(schema, list):
        return [_renamed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    changed = {
        key: _renamed(value)
        for key, value in schema.items()
        if key != "title" or isinstance(value, dict)
    }
    reference = changed.get("$ref")
    if isinstance(reference, str):
        place, _, name = reference.rpartition("/")
        changed["$ref"] = f"{place}/{_rename(name)}"
    return changed
