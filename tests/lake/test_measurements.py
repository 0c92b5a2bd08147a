import json

import pyarrow.parquet as pq

from core.clock import SystemClock
from lake.campaigns import CAMPAIGN_SCHEMAS, rows_of_result, table_of
from probes.packets.hops import Path, Reply
from probes.records import Attempt, ProbeStatus, RoundTrips, Target
from probes.registry import PROBES

PLACE = {"round": 3, "vantage": "oslo", "target": "east-1", "region": "east", "zone": "a"}


def test_every_probe_s_result_has_a_row(tmp_path):
    for probe in PROBES:
        result = probe.run(Target("10.0.0.1", 80), probe.Config(), SystemClock())
        kind, rows = rows_of_result(json.loads(json.dumps(result.as_json())), PLACE)
        table = table_of(kind, rows)
        pq.write_table(table, tmp_path / "part.parquet")
        again = pq.read_table(tmp_path / "part.parquet")
        assert again.schema.equals(CAMPAIGN_SCHEMAS[kind]), probe.NAME
        (row,) = again.to_pylist()
        assert (row["vantage"], row["status"], row["probe"]) == ("oslo", "FORBIDDEN", probe.NAME)


def test_lost_pings_stay_in_the_count():
    attempts = (Attempt(ProbeStatus.OK, 2.5), Attempt(ProbeStatus.TIMEOUT))
    result = RoundTrips(
        probe="tcp-ping",
        version=1,
        target=Target("x"),
        address="192.0.2.1",
        at=1.25,
        status=ProbeStatus.OK,
        attempts=attempts,
    )
    kind, (row,) = rows_of_result(result.as_json(), PLACE)
    assert (kind, row["sent"], list(row["values"])) == ("samples", 2, [2.5])
    assert json.loads(row["detail"]) == {"address": "192.0.2.1", "version": 1}


def test_flows_of_a_multipath_traceroute_are_rows_of_their_own():
    replies = (
        Reply(1, 0, "a", 1.0, "hop"),
        Reply(1, 7, "b", 1.0, "hop"),
        Reply(2, 7, "t", 2.0, "target"),
        Reply(2, 0),
    )
    result = Path(
        probe="traceroute",
        version=1,
        target=Target("t"),
        address="t",
        at=1.0,
        status=ProbeStatus.OK,
        replies=replies,
    )
    kind, rows = rows_of_result(result.as_json(), PLACE)
    found = {r["flow"]: (r["reached"], [h["address"] for h in r["hops"]]) for r in rows}
    assert found == {0: (False, ["a", None]), 7: (True, ["b", "t"])}
    assert table_of(kind, rows).num_rows == 2
