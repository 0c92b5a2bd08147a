"""What tests of campaigns share: a lake of their own, and a server that speaks as networks do."""

import pytest

from tests.probes.networks import Network


@pytest.fixture
def lake(settings, tmp_path):
    settings.LAKE_DIR = settings.DATA_DIR = tmp_path


@pytest.fixture
def network(settings, lake):
    with Network() as found:
        settings.GLOBALPING_URL = settings.ATLAS_URL = found.url
        settings.GLOBALPING_TOKEN, settings.ATLAS_KEY = "key-of-globalping", "key-of-atlas"
        yield found
