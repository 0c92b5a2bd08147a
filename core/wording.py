"""How findings are worded: figures as a reader expects them, singular and plural right."""

from collections.abc import Callable
from dataclasses import dataclass

from core.providers import PROVIDER_BY_ID

# Below this a percentage would promise more precision than so few have; the two counts are shown
# alone.
SMALL = 30
NO_DATA = "no data"


def percent(fraction: float) -> str:
    """Return ``97.2 %``, ``0.53 %`` below one: the rule of headlines, cells and charts.

    What is neither nothing nor all never reads as if it were: ``<0.01 %``, ``>99.9 %``.
    """
    if fraction == 0:
        return "0 %"
    if 0 < fraction < 0.0001:
        return "<0.01 %"
    if 0.9995 <= fraction < 1:
        return ">99.9 %"
    digits = 2 if 0 < fraction < 0.00995 else 1
    return f"{fraction * 100:.{digits}f} %"


def share_of(value: float | None, whole: int | None, form: Callable[[float], str] = percent) -> str:
    """A share of ``whole`` things: the two counts of few, ``no data`` of none, else per cent.

    ``whole`` is ``None`` where it is not known, and ``form`` words the percentage.
    """
    if value is None or whole == 0:
        return NO_DATA
    if whole is not None and whole < SMALL:
        return f"{_count(value * whole)} of {whole}"
    return form(value)


def span_of(
    low: float, high: float, whole: int | None, form: Callable[[float], str] = percent
) -> str:
    """An interval of a share by the same rule: ``1.2 to 3.4 of 10``, ``12.0 % to 34.0 %``."""
    if whole is not None and 0 < whole < SMALL:
        return f"{_count(low * whole)} to {_count(high * whole)} of {whole}"
    return NO_DATA if whole == 0 else f"{form(low)} to {form(high)}"


def _count(value: float) -> str:
    """A whole number; means and ends of intervals, which lie between two, keep one decimal."""
    return f"{value:.1f}".removesuffix(".0")


def number(count: int, one: str, many: str | None = None) -> str:
    """``1 domain``, ``1,234 domains``."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def p_text(value: float) -> str:
    """Format a p-value: ``p = 0.013``; below a thousandth it is a bound."""
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"


def provider_name(provider: str) -> str:
    """Return the company's name of a provider; an unknown id is capitalized."""
    known = PROVIDER_BY_ID.get(provider)
    return known.name if known else provider.capitalize()


@dataclass(frozen=True, slots=True)
class Portion:
    """``part`` of ``whole`` things; ``one`` and ``many`` name one and several of them."""

    part: int
    whole: int
    one: str
    many: str

    @property
    def is_small(self) -> bool:
        return self.whole < SMALL

    @property
    def value(self) -> str:
        """The figure alone: ``97.2 %``, or ``3 of 4`` of so few."""
        return share_of(self.part / self.whole if self.whole else None, self.whole)

    @property
    def is_singular(self) -> bool:
        """Whether a verb after the figure is in the singular."""
        return self.part == 0 or self.whole == 1 or (self.is_small and self.part == 1)

    def subject(self) -> str:
        """The portion as the subject of a sentence."""
        if self.whole == 0:
            return f"No {self.one}"
        if self.whole == 1:
            return f"The only {self.one}" if self.part else f"No {self.one}"
        if self.part == 0:
            return f"None of the {self.whole:,} {self.many}"
        if self.part == self.whole:
            return f"Both {self.many}" if self.whole == 2 else f"All {self.whole:,} {self.many}"
        if self.is_small:
            return f"{self.part} of the {self.whole} {self.many}"
        return f"{self.value} of {self.many}"

    def sentence(self, singular: str, plural: str) -> str:
        """A sentence without its full stop, the verb phrase in the right number."""
        return f"{self.subject()} {singular if self.is_singular else plural}"

    def tail(self, singular: str, plural: str) -> str:
        """Return the sentence after a separate ``value``, with its full stop."""
        if not self.is_small:
            return f"of {self.many} {plural}."
        noun = self.one if self.whole == 1 else self.many
        return f"{noun} {singular if self.is_singular else plural}."
