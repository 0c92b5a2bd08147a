"""The drawing of a port: the still of a page, and the data that its script plays."""

import json
import re

import pytest

from tasks.simulations import catalogue
from webapp.pages.simulations import port_drawing

ONE_QUEUE, PRIORITIES = catalogue.record_two_ports()


def test_both_ports_serve_the_same_packets_and_priorities_serve_short_ones_sooner():
    for short in (True, False):
        counts = [
            sum((packet[0] == port_drawing.SHORT) == short for packet in port["packets"])
            for port in (ONE_QUEUE, PRIORITIES)
        ]
        assert counts[0] == counts[1] > 0
    assert PRIORITIES["longest_wait_us"] < ONE_QUEUE["longest_wait_us"] / 3


@pytest.mark.parametrize("port", [ONE_QUEUE, PRIORITIES])
@pytest.mark.parametrize("now_us", [0.0, 151.0, 400.0])
def test_boxes_wait_in_a_row_and_one_at_most_is_on_the_wire(port, now_us):
    boxes = port_drawing.draw_boxes(port["packets"], now_us)
    places = sorted(box["x"] for box in boxes)
    assert sum(x >= port_drawing.PORT_X for x in places) == 1
    waiting = [x for x in places if x < port_drawing.PORT_X]
    assert waiting[0] >= 0
    steps = {round(b - a, 6) for a, b in zip(waiting, waiting[1:], strict=False)}
    assert steps == {port_drawing.STEP}


@pytest.mark.django_db
def test_the_list_and_the_experiments_on_ports_show_it_with_words_and_data(client):
    for address in ("/inside/", "/inside/switch-priority/"):
        html = client.get(address).content.decode()
        assert "It waits for all of them in one queue" in html
        assert html.count('class="packet packet--short"') == 4
        (data,) = re.findall(r'<script id="port-data" type="application/json">(.*?)</script>', html)
        assert [port["name"] for port in json.loads(data)] == ["One queue", "Two priorities"]
        assert "data-controls" in html
        assert "data-ready" not in html  # a script sets it, and shows them
    assert "data-port-drawing" not in client.get("/inside/topology/").content.decode()
