"""Punycode (RFC 3492): labels of any script as letters, digits and hyphens.

The codec of the standard library gives the same and takes several times as long, which counts in
lists of a hundred thousand international names.
"""

from bisect import bisect_left
from functools import cache, lru_cache

_DIGITS = "abcdefghijklmnopqrstuvwxyz0123456789"
# Parameters of RFC 3492, section 5.
_BASE, _TMIN, _TMAX, _SKEW, _DAMP = 36, 1, 26, 38, 700
_INITIAL_BIAS, _INITIAL_N = 72, 128
_LARGEST_KEPT = (_BASE - _TMIN) * _TMAX // 2
# No delta of a label is longer: each digit divides the rest by ten at least.
_MOST_DIGITS = 16
# A character and its place in a label are one sort key of 30 bits, which Python handles fastest.
_PLACE_BITS = 9
_PLACES = 2**_PLACE_BITS - 1


def encode(label: str) -> str:
    """Return the encoded form of a label, without the prefix ``xn--``."""
    if len(label) > _PLACES:
        return label.encode("punycode").decode("ascii")
    basic = label.encode("ascii", "ignore").decode("ascii")
    digits = [basic, "-"] if basic else []
    # Places of the characters that a decoder has so far.
    decoded = [p for p, character in enumerate(label) if character <= "\x7f"] if basic else []
    handled, n, expected, steps = len(basic), _INITIAL_N, 0, _steps(_INITIAL_BIAS)
    damp = _DAMP
    for key in sorted([ord(c) << _PLACE_BITS | p for p, c in enumerate(label) if c > "\x7f"]):
        code, place = key >> _PLACE_BITS, key & _PLACES
        index = bisect_left(decoded, place)
        decoded.insert(index, place)
        handled += 1
        delta = rest = (code - n) * handled + index - expected
        for threshold, divisor in steps:
            if rest < threshold:
                break
            rest, digit = divmod(rest - threshold, divisor)
            digits.append(_DIGITS[threshold + digit])
        digits.append(_DIGITS[rest])
        delta //= damp
        steps = _steps_after(delta + delta // handled)
        n, expected, damp = code, index + 1, 2
    return "".join(digits)


@cache
def _steps(bias: int) -> tuple[tuple[int, int], ...]:
    """The threshold of each digit (section 3.3), and what the rest is divided by."""
    every = (
        min(max(k - bias, _TMIN), _TMAX) for k in range(_BASE, (_MOST_DIGITS + 1) * _BASE, _BASE)
    )
    return tuple((threshold, _BASE - threshold) for threshold in every)


@lru_cache(2**14)
def _steps_after(delta: int) -> tuple[tuple[int, int], ...]:
    """The steps for the next integer (section 6.1), from the damped delta of the one before."""
    k = 0
    while delta > _LARGEST_KEPT:
        delta //= _BASE - _TMIN
        k += _BASE
    return _steps(k + (_BASE - _TMIN + 1) * delta // (delta + _SKEW))
