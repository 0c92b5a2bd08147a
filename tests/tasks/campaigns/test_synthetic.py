"""Campaigns of synthetic vantage points: a model's results go the way of all others, labelled."""

import numpy as np
import pytest

from core.errors import BadInput
from tasks.campaigns import commands, scheduler, synthetic
from testbed.campaigns.synthetic_probes import End, run_probe
from tests.tasks.campaigns.field import Field, assert_all_accounted, join, targets
from webapp.store.access import domain_claims
from webapp.store.campaigns import selectors
from webapp.store.models import Campaign, VantagePoint

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("lake")]
PLACES = {"lat": 52.5, "lon": 13.4, "source": VantagePoint.Source.SYNTHETIC}


class Emulation(Field):
    """The scheduler with the model of synthetic vantage points instead of machines."""

    def tick(self):
        ways = {"synthetic": self.way}
        scheduler.tick(self.clock, scheduler.Outlets(ways, self.leave))

    def step(self, seconds=5.0):
        self.tick()
        self.clock.sleep(seconds)
        for name, order in self.waiting:
            synthetic.measure(name, order.as_json())
        self.waiting = []


def test_it_works():
    join("berlin", "tokyo", **PLACES)
    given = [
        {"host": f"{code}.synthetic.invalid", "provider": "aws", "region": code}
        for code in ("eu-west-1", "us-east-1")
    ]
    found = Emulation(preset="trial", targets=given, vantages=["berlin", "tokyo"])
    assert found.start().synthetic
    done = found.run()
    counts = assert_all_accounted(done)
    assert (done.state, counts["coverage"]) == (Campaign.State.FINISHED, 1.0)
    assert counts["ok"] == counts["planned"] == 9 * 3 * 2 * 2
    assert "nothing was measured" in done.label
    told = selectors.tables(done)
    means = {r["region"]: r["vantage_mean"] for r in told["latency-regions"].dicts()}
    assert means["eu-west-1"] < means["us-east-1"]
    assert (selectors.folder_of(done) / "suitability.parquet").is_file()


def test_a_target_that_opts_out_meanwhile_ends_no_synthetic_campaign():
    """Nothing is sent to it, and no other result of its order is lost."""
    join("berlin", **PLACES)
    hosts = ["one.synthetic.invalid", "two.synthetic.invalid"]
    given = [{"host": host, "provider": "aws", "region": "eu-west-1"} for host in hosts]
    found = Emulation(preset="trial", targets=given, vantages=["berlin"])
    found.start()
    domain_claims.add_opt_out("one.synthetic.invalid")
    counts = assert_all_accounted(found.run())
    assert counts["ok"] == counts["planned"]


def test_synthetic_and_measuring_vantage_points_do_not_mix_and_are_no_default():
    join("model", **PLACES)
    join("machine")
    asked = {"preset": "trial", "targets": targets(1), "vantages": ["model", "machine"]}
    with pytest.raises(BadInput, match="model is synthetic"):
        commands.plan(asked)
    assert commands.working_vantages() == ["machine", "model"]
    assert commands.default_vantages() == ["machine"]
    refused = commands.plan({**asked, "preset": "quick", "vantages": ["model"]}).refusals
    assert any("has no traceroute" in text for text in refused)


def test_a_target_without_a_place_is_a_failure_with_its_reason():
    found = run_probe(End("a", (52.5, 13.4)), End("b"), "tcp-ping", {}, 1.0)
    assert (found["status"], found["values"]) == ("NOT_PERMITTED", [])
    assert "provider and a region" in found["reason"]


def test_zones_of_a_region_have_the_round_trips_of_the_paper():
    """Within a zone below 1.1 ms, between zones more than 0.1 ms above it (IMC'13, 4.3.2)."""
    own = End("vp", None, "us-east-1", "a")
    near, far = [], []
    for n in range(200):
        for zone, kept in (("a", near), ("b", far)):
            result = run_probe(
                own, End(f"203.0.113.{n}-{zone}", None, "us-east-1", zone), "tcp-ping", {}, 1.0
            )
            kept += [min(result["values"])] if result["values"] else []
    assert 0.8 * 200 < len(near) < 0.95 * 200  # the rest are silent
    assert np.quantile(near, 0.99) < 1.1 < np.quantile(far, 0.01) + 0.15
