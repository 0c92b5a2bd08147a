"""Many domain suffixes looked up at once: a name in, the numbers of all suffixes above it out."""

from collections.abc import Iterable


class SuffixIndex:
    """Suffixes of two labels and more; ``*`` represents one label that may vary.

    A name is looked up by its last two labels first, which almost no name shares with a suffix;
    then by one key per form (number of labels, place of the star) that occurs with them.
    """

    def __init__(self, suffixes: Iterable[tuple[str, int]]) -> None:
        forms: dict[str, dict[tuple[int, int], dict[str, tuple[int, ...]]]] = {}
        for suffix, number in suffixes:
            base, depth, star = form_of(suffix)
            keys = forms.setdefault(base, {}).setdefault((depth, star), {})
            keys[suffix] = (*keys.get(suffix, ()), number)
        self._forms = {
            base: [(depth, star, keys) for (depth, star), keys in found.items()]
            for base, found in forms.items()
        }

    def match(self, name: str) -> tuple[int, ...]:
        """Numbers of the suffixes that ``name`` (lower case) is, or lies below."""
        dot = name.rfind(".", 0, max(name.rfind("."), 0))
        forms = self._forms.get(name[dot + 1 :])
        if forms is None:
            return ()
        labels = name.split(".")
        found: tuple[int, ...] = ()
        for depth, star, keys in forms:
            if len(labels) < depth:
                continue
            tail = labels[-depth:]
            if star:
                tail[-star] = "*"
            found += keys.get(".".join(tail), ())
        return tuple(dict.fromkeys(found)) if len(found) > 1 else found


def form_of(suffix: str) -> tuple[str, int, int]:
    """Last two labels, number of labels, and place of the star from the right (0 for none)."""
    labels = suffix.split(".")
    star = labels[::-1].index("*") + 1 if "*" in labels else 0
    return ".".join(labels[-2:]), len(labels), star
