"""Pages of captures: the figures of the import, and nothing of the importer's machine."""

import json
from typing import Any

import pytest
from django.test import Client

COLUMNS = ["provider", "bytes", "bytes_share", "flows", "flows_share", "unsized_flows"]


def document(sized: bool) -> dict[str, Any]:
    n_bytes = 1_250_000 if sized else 0
    rows = [
        ["aws", n_bytes, float(sized), 4, 1.0, 0 if sized else 4],
        ["azure", 0, 0.0, 0, 0.0, 0],
        ["total", n_bytes, float(sized), 4, 1.0, 0 if sized else 4],
    ]
    table = {
        "columns": COLUMNS,
        "rows": rows,
        "n": 4,
        "title": "Traffic by cloud",
        "headline": "100.0 % of the flows go to Amazon",
        "source": "IMC'13 Table 3",
        "method": "",
    }
    log = {
        "path": "a-folder-of-mine/conn.log",
        "kind": "conn",
        "rows": 10,
        "rejected": 1,
        "reasons": {"cut off": {"count": 1, "first_lines": [7]}},
        "damage": None,
    }
    quality = {
        "flows": 4,
        "unsized": 0 if sized else 4,
        "clients": 2,
        "last_hour": None,
        "first_hour": "2018-03-24T17:00:00+00:00",
    }
    return {
        "name": "spring",
        "logs": [log],
        "tables": {"traffic-clouds": table},
        "quality": quality,
        "checks": [],
        "range_tables": [],
        "key": "random, not kept",
    }


@pytest.fixture
def store(db: Any, settings: Any, tmp_path: Any) -> Any:
    settings.DATA_DIR = tmp_path

    def put(sized: bool = True) -> None:
        folder = tmp_path / "packets" / "spring"
        folder.mkdir(parents=True)
        (folder / "report.json").write_text(json.dumps(document(sized)))

    return put


def test_it_works(client: Client, store: Any) -> None:
    store()
    assert "spring" in client.get("/traffic/").content.decode()
    text = client.get("/traffic/spring/").content.decode()
    assert "1.2\u202fMB" in text
    assert "1 cut off (line 7)" in text
    assert "a-folder-of-mine" not in text
    assert "1 row without a flow is left out" in text


def test_without_sizes_there_are_no_bytes(client: Client, store: Any) -> None:
    store(sized=False)
    text = client.get("/traffic/spring/").content.decode()
    assert "Share of bytes" not in text
    assert "No log of this capture has sizes" in text


def test_the_api_gives_the_same_table(client: Client, store: Any) -> None:
    store()
    base = "/api/v1/captures/spring"
    assert client.get("/api/v1/captures").json()["results"] == ["spring"]
    assert client.get(base).json()["logs"][0]["path"] == "conn.log"
    found = client.get(f"{base}/tables/traffic-clouds.json").json()
    lines = client.get(f"{base}/tables/traffic-clouds.csv").content.decode().splitlines()
    assert lines[0].split(",") == found["columns"]
    assert len(lines) - 1 == len(found["rows"]) == 3
    assert client.get(f"{base}/tables/weather.csv").status_code == 404
    assert client.get("/api/v1/captures/nobody").status_code == 404


def test_without_captures_it_says_what_to_do(client: Client, store: Any) -> None:
    assert "No capture yet" in client.get("/traffic/").content.decode()
    assert client.get("/traffic/nobody/").status_code == 404
