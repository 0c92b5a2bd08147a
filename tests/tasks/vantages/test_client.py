"""A station's idea of the site's time, while somebody sets its machine's clock, or it sleeps."""

from datetime import timedelta

import pytest

from core.clock import BootTimeClock, FakeClock
from tasks.vantage.client import VantageClient
from tasks.vantage.credentials import Identity

pytestmark = pytest.mark.services

SITE = 1_700_000_000.0


class Machine(FakeClock):
    """A machine whose wall clock somebody sets."""

    set_by_s = 0.0

    def now(self):
        return super().now() + timedelta(seconds=self.set_by_s)


class Broker:
    """Answers what the site's clock says, after a way of some milliseconds."""

    def __init__(self, machine, way_s):
        self.machine, self.way_s = machine, way_s

    def time(self):
        self.machine.sleep(self.way_s)
        told = SITE + self.machine.monotonic()
        self.machine.sleep(self.way_s)
        return int(told), round(told % 1 * 1e6)


@pytest.fixture
def machine():
    return Machine()


@pytest.fixture
def station(machine, tmp_path):
    who = Identity("anna", "http://127.0.0.1:9", "127.0.0.1", 9, "v-anna", "pw")
    found = VantageClient(who, tmp_path, machine)
    found.client = Broker(machine, 0.01)
    return found


def off_s(station, machine):
    """How far its idea of the site's time is wrong."""
    return station.now() - SITE - machine.monotonic()


def test_a_clock_that_is_set_moves_nothing_and_is_told_at_once(station, machine):
    station.measure_clock()
    before = station.clock[1]
    assert off_s(station, machine) == pytest.approx(0, abs=0.001)
    for step_s in (5.0, -3_600.0, 86_400.0):
        machine.set_by_s = step_s
        assert station.clock[1] - before == pytest.approx(step_s, abs=0.001)
        assert off_s(station, machine) == pytest.approx(0, abs=0.001)


def test_a_machine_that_slept_knows_the_time(station, machine):
    station.measure_clock()
    machine.sleep(7_200)
    assert off_s(station, machine) == pytest.approx(0, abs=0.001)


def test_the_surest_answer_is_believed_and_old_ones_are_forgotten(station, machine):
    station.measure_clock()
    assert station.clock[0] == pytest.approx(0.01)
    station.client.way_s = 0.002
    station.measure_clock()
    assert station.clock[0] == pytest.approx(0.002)
    station.client.way_s = 0.05
    for _ in range(9):
        station.measure_clock()
    assert station.clock[0] == pytest.approx(0.05)


def test_a_station_that_heard_nothing_has_its_own_time(station, machine):
    assert station.clock == (0.0, 0.0)
    assert station.now() == machine.now().timestamp()


def test_the_counter_of_a_machine_goes_on():
    clock = BootTimeClock()
    assert clock.monotonic() <= clock.monotonic()
