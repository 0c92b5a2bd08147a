"""The queue of a port as boxes: the still that a page shows, and the data of its animation."""

from typing import Any

# Units of a drawing: boxes of waiting packets end at the port, behind which is the wire.
WIDTH, HEIGHT, PORT_X, BOX, STEP = 360.0, 30.0, 300.0, 14.0, 17.0
SHORT = -1
# What the still shows: just after the first short packets arrived.
STILL_US = 151.0


def describe(ports: list[dict[str, Any]]) -> dict[str, Any]:
    """Return lanes with their boxes at one moment, and the data of the animation."""
    lanes = [
        {
            "name": port["name"],
            "boxes": draw_boxes(port["packets"], STILL_US),
            "wait_us": port["longest_wait_us"],
        }
        for port in ports
    ]
    ahead = count_ahead(ports[0]["packets"], STILL_US)
    return {
        "lanes": lanes,
        "ahead": ahead,
        "still_us": STILL_US,
        "end_us": max(port["packets"][-1][3] for port in ports),
        "view_box": f"0 0 {WIDTH:g} {HEIGHT:g}",
        "data": [{"name": port["name"], "packets": port["packets"]} for port in ports],
    }


def draw_boxes(packets: list[list[float]], now_us: float) -> list[dict[str, Any]]:
    """Boxes of the packets that wait or are on the wire, those next to leave at the port."""
    found, waiting = [], 0
    for flow, arrived, sent, left in packets:
        if arrived > now_us or left <= now_us:
            continue
        if sent <= now_us:
            x = PORT_X + (WIDTH - BOX - PORT_X) * (now_us - sent) / (left - sent)
        else:
            waiting += 1
            x = PORT_X - STEP * waiting
        found.append({"x": round(x, 1), "kind": "short" if flow == SHORT else f"bulk-{flow:.0f}"})
    return found


def count_ahead(packets: list[list[float]], now_us: float) -> int:
    """Count the bulk packets that are at the port at a moment."""
    return sum(flow != SHORT and arrived <= now_us < left for flow, arrived, _, left in packets)
