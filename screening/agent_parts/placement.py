"""Provider, region, zone and instance type of the machine, from its own files, without queries.

cloud-init writes what the provider's metadata service answered at boot to a file that everyone may
read. On Amazon's newer machines the firmware names the instance type.
"""

from __future__ import annotations

import json
import re
from typing import Any

from screening.agent_parts.kernel import read_text

DMI = "/sys/class/dmi/id/"
CLOUD_INIT = "/run/cloud-init/instance-data.json"
PLACEMENT_FIELDS = ("provider", "region", "zone", "instance_type")
PLACEMENT_PATTERN = r"^[\w.-]*$"
# cloud-init's names of providers, as this software names them.
PROVIDERS = {"gce": "google", "amazon": "aws"}
TYPE_KEYS = ("instance-type", "instanceType", "vmSize", "machine-type", "machineType", "shape")
# The instance type is a few levels deep in the metadata.
MAX_DEPTH = 5


def find_placement(given: dict[str, str]) -> dict[str, str]:
    """Return the known fields; given ones replace those of the machine."""
    found = {**read_cloud_init(read_text(CLOUD_INIT)), **{k: v for k, v in given.items() if v}}
    board = read_text(DMI + "product_name").strip()
    if "Amazon" in read_text(DMI + "sys_vendor") and re.match(r"[a-z0-9-]+\.[a-z0-9-]+$", board):
        found.setdefault("instance_type", board)
        found.setdefault("provider", "aws")
    return {k: v for k, v in found.items() if is_placement(v)}


def is_placement(value: str) -> bool:
    """Return whether a report may hold the name."""
    return len(value) <= 64 and bool(re.match(PLACEMENT_PATTERN, value))


def read_cloud_init(text: str) -> dict[str, str]:
    """Return the placement in cloud-init's file of instance data, empty without a usable one."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    document = document if isinstance(document, dict) else {}
    known = document.get("v1")
    known = known if isinstance(known, dict) else {}
    name = str(known.get("cloud_name") or "").lower()
    found = {
        "provider": PROVIDERS.get(name, name),
        "region": known.get("region"),
        "zone": known.get("availability_zone"),
        "instance_type": find_type(document.get("ds"), MAX_DEPTH),
    }
    return {k: v for k, v in found.items() if isinstance(v, str) and v}


def find_type(node: Any, depth: int) -> str:
    """Return the instance type in nested metadata; Google gives it as the end of a path."""
    if not isinstance(node, dict) or not depth:
        return ""
    for key in TYPE_KEYS:
        if isinstance(node.get(key), str):
            return str(node[key]).rpartition("/")[2]
    return next((name for value in node.values() if (name := find_type(value, depth - 1))), "")
