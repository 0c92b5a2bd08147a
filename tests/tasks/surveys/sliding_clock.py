"""How many of a server's queries fall into one second, wherever that second begins."""

from collections import deque


def busiest_second(times_s):
    """The most times within any second."""
    window, most = deque(), 0
    for at in sorted(times_s):
        window.append(at)
        while at - window[0] >= 1:
            window.popleft()
        most = max(most, len(window))
    return most
