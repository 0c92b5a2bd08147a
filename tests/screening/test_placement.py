"""Where the agent finds provider, region, zone and instance type."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from screening.agent_parts import placement

AWS = {
    "v1": {"cloud_name": "aws", "region": "us-east-2", "availability_zone": "us-east-2b"},
    "ds": {"meta_data": {"instance-type": "t3.medium", "placement": {"region": "us-east-2"}}},
}
AZURE = {
    "v1": {"cloud_name": "azure", "region": "westeurope", "availability_zone": None},
    "ds": {"meta_data": {"imds": {"compute": {"vmSize": "Standard_D2s_v3"}}}},
}
GOOGLE = {
    "v1": {"cloud_name": "gce", "region": "us-central1", "availability_zone": "us-central1-a"},
    "ds": {"meta_data": {"machine-type": "projects/1/machineTypes/n2-standard-2"}},
}


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (AWS, ("aws", "us-east-2", "us-east-2b", "t3.medium")),
        (AZURE, ("azure", "westeurope", None, "Standard_D2s_v3")),
        (GOOGLE, ("google", "us-central1", "us-central1-a", "n2-standard-2")),
        ({"v1": {"cloud_name": "nocloud"}}, ("nocloud", None, None, None)),
        ([], (None,) * 4),
    ],
)
def test_instance_data_of_cloud_init(document, expected):
    found = placement.read_cloud_init(json.dumps(document))
    assert tuple(found.get(name) for name in placement.PLACEMENT_FIELDS) == expected


@given(st.text() | st.recursive(st.none() | st.text(), st.lists).map(json.dumps))
def test_no_file_ends_the_agent(text):
    assert isinstance(placement.read_cloud_init(text), dict)


def test_firmware_and_what_is_given(monkeypatch):
    files = {
        placement.DMI + "product_name": "m6i.xlarge\n",
        placement.DMI + "sys_vendor": "Amazon EC2\n",
    }
    monkeypatch.setattr(placement, "read_text", lambda path: files.get(path, ""))
    found = placement.find_placement({"region": "eu-west-1", "zone": ""})
    assert found == {"region": "eu-west-1", "instance_type": "m6i.xlarge", "provider": "aws"}
    assert placement.find_placement({"region": "a b"}).get("region") is None
