"""Which way a path leads: towards the cloud, unless a vantage point inside looks out."""

from types import SimpleNamespace

import pytest

from core.errors import BadInput
from probes.schedule.plan import Slot
from tasks.campaigns.results_receiver import place_of
from webapp.store.vantages import services

INSIDE = {"provider": "aws", "region": "us-east-1", "zone": "a", "account": ""}


def placed(provider, stands):
    target = {"name": "t", "provider": provider, "region": "r", "zone": "z"}
    unit = SimpleNamespace(
        campaign=SimpleNamespace(targets=[target]), round=1, vantage="v", activity="trace"
    )
    found = place_of(unit, Slot(0, 0, 0.0, 1.0), stands)
    return found["direction"], found["provider"], found["region"], found["zone"]


def test_paths_from_an_instance_to_the_outside_lead_from_the_cloud():
    assert placed("", INSIDE) == ("from", "aws", "us-east-1", "a")


def test_all_other_paths_lead_to_the_target():
    assert placed("azure", INSIDE) == ("to", "azure", "r", "z")
    assert placed("", {}) == ("to", "", "r", "z")
    assert placed("aws", {}) == ("to", "aws", "r", "z")


@pytest.mark.django_db
def test_where_an_instance_runs_is_kept_and_shown():
    services.invite("ec2", {"cloud": "aws/us-east-1/a"}, {})
    services.invite("zoneless", {"cloud": "aws/us-east-1"}, {})
    services.invite("oslo", {"cloud": ""}, {})
    assert services.cloud_of("ec2") == INSIDE
    assert services.cloud_of("zoneless") == {**INSIDE, "zone": ""}
    assert services.cloud_of("oslo") == services.cloud_of("nobody") == {}


@pytest.mark.django_db
@pytest.mark.parametrize("cloud", ["aws", "aws/", "AWS/x", "a/b/c/d/e", "a/../b", "a b/c", "é/f"])
def test_clouds_that_are_none_are_refused(cloud):
    with pytest.raises(BadInput, match="aws/us-east-1"):
        services.invite("ec2", {"cloud": cloud}, {})
