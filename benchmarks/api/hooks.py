"""Hooks of schemathesis: most parameters of addresses are of things that exist."""

import json
import os
import random
from pathlib import Path
from typing import Any

import schemathesis

EXISTING: dict[str, Any] = json.loads(Path(os.environ["EXISTING"]).read_text())
# The rest stays as it was generated, so that what does not exist is asked for too.
SHARE = 0.85
KINDS = ("json", "csv", "jsonl", "parquet")


@schemathesis.hook
def map_path_parameters(context: Any, path_parameters: dict[str, Any] | None) -> Any:
    """Replace generated names by those of stored things."""
    if not path_parameters or random.random() > SHARE:
        return path_parameters
    path = context.operation.path
    surveys, campaigns = EXISTING["surveys"], EXISTING["measurements"]
    campaigns = campaigns if "wide-area" in path or "measurements" in path else surveys
    known = {
        "slug": random.choice(campaigns),
        "before": campaigns[0],
        "after": campaigns[-1],
        "kind": random.choice(KINDS),
        "kind_of_file": random.choice(KINDS),
        "table": random.choice(("providers", "regions")),
        "key": EXISTING["pool"],
    }
    if "/recommendations/" in path:
        known["token"] = EXISTING["recommendation"]
    return {name: known.get(name, value) for name, value in path_parameters.items()}
