"""Machines with data folders of their own that share files by an S3 server."""

import pytest

from lake import parts
from tests.store.s3_server import BUCKET, run_s3_server
from webapp.store.object_storage import files


@pytest.fixture(scope="module")
def server():
    with run_s3_server() as found:
        yield found


@pytest.fixture
def machine(settings, server, tmp_path):
    """Become a machine with a data folder of its own, by name."""
    settings.LAKE_URL = f"s3://{BUCKET}/{tmp_path.name}?{server.url.partition('?')[2]}"
    settings.LAKE_ACCESS_KEY, settings.LAKE_SECRET_KEY = "key", "secret"
    parts.set_storage(files)

    def become(name):
        folder = tmp_path / name
        settings.DATA_DIR, settings.LAKE_DIR = folder, folder / "lake"
        settings.UPLOADS_DIR, settings.RANGES_DIR = folder / "uploads", folder / "ranges"
        return settings.LAKE_DIR

    yield become
    parts.set_storage()
