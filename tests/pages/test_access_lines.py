"""The web server's log tells who read what, and opens nothing."""

import logging

import pytest

from webapp.access_lines import Discreet, hide

TOKEN = "Zk3-v_9aQ1bW2cE3dR4fT5gY6hU7jI8k"


@pytest.mark.parametrize(
    ("address", "line"),
    [
        (f"/shared/{TOKEN}/s/spring/?page=2", "/shared/…/s/spring/?page=2"),
        (f"/screening/shared/{TOKEN}/", "/screening/shared/…/"),
        (f"/recommendations/{TOKEN}/share/", "/recommendations/…/share/"),
        (f"/recommendations/shared/{TOKEN}/sets.csv", "/recommendations/shared/…/sets.csv"),
        (f"/account/welcome/MQ/{TOKEN}/", "/account/welcome/MQ/…/"),
        ("/s/spring/domains/example.org/", "/s/spring/domains/example.org/"),
        ("/recommendations/new/", "/recommendations/new/"),
    ],
)
def test_what_opens_something_is_left_out(address, line):
    assert hide(address) == line


def test_the_rest_of_the_line_stays():
    args = ("192.0.2.1:5", "GET", f"/shared/{TOKEN}/", "1.1", 200)
    record = logging.LogRecord("uvicorn.access", 20, "", 0, '%s - "%s %s HTTP/%s" %d', args, None)
    assert Discreet().filter(record)
    assert record.getMessage() == '192.0.2.1:5 - "GET /shared/…/ HTTP/1.1" 200'
