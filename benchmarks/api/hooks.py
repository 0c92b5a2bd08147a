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
TABLES = ("providers.json", "regions.csv", "regions", "latency-regions", "latency-grid.parquet")


@schemathesis.hook
def map_path_parameters(context: Any, path_parameters: dict[str, Any] | None) -> Any:
    """Replace generated names by those of stored things."""
    if not path_parameters or random.random() > SHARE:
        return path_parameters
    known = _known(context.operation.path)
    return {name: known.get(name, value) for name, value in path_parameters.items()}


def _known(path: str) -> dict[str, Any]:
    of_campaigns = "wide-area" in path or "measurements" in path
    named = EXISTING["measurements" if of_campaigns else "surveys"]
    known = {
        "slug": random.choice(named),
        "before": named[0],
        "after": named[-1],
        "kind": random.choice(KINDS),
        "kind_of_file": random.choice(KINDS),
        "domain": random.choice(("linkedin.com", "amazon.com")),
        "name": random.choice(("www.linkedin.com", "api.linkedin.com")),
        "table": random.choice(TABLES),
        "key": EXISTING["pool"],
        "instance": EXISTING["instance"],
        "report_id": EXISTING["report_id"],
        "section": random.choice(("causes", "calibration", "heatmap")),
    }
    if "/surveys/{slug}/outages" in path:
        known["slug"] = EXISTING["indexed"]
    if "/recommendations/" in path:
        known["token"] = EXISTING["recommendation"]
    if "/vantage-points/" in path:
        known["name"] = random.choice(EXISTING["vantage_points"])
    if "/captures/" in path:
        known |= {"name": EXISTING["capture"], "table": "traffic-clouds"}
    if "/audit-policies/" in path:
        known["slug"] = random.choice(("default", "resilience"))
    if "/problems/" in path:
        known["kind"] = "not-found"
    return known


@schemathesis.hook
def map_query(context: Any, query: dict[str, Any] | None) -> Any:
    """Ask for pairs and outages that there are, most of the time."""
    if not query or random.random() > SHARE:
        return query
    known = {"vantage": "v-one", "region": random.choice(("us-east-1", "eu-west-1"))}
    if "outages" in context.operation.path:
        known = {"kind": "region", "provider": "aws", "target": "us-east-1"}
    return {name: known.get(name, value) for name, value in query.items()}
