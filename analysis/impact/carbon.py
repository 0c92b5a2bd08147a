"""Carbon intensity of the electricity of regions, from a table that the user brings."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from analysis.impact.csv_tables import read_rows
from core.errors import BadInput

COLUMNS = ("region", "g_per_kwh", "date", "source")
# No electricity of today is near; a larger number is of another unit.
MAX_G_PER_KWH = 10_000.0


@dataclass(frozen=True, slots=True)
class CarbonIntensity:
    """Grams of CO2 equivalent per kWh, with the day and the source of the figure."""

    g_per_kwh: float
    as_of: date
    source: str


Carbon = Mapping[str, CarbonIntensity]


def read_carbon(data: bytes) -> Carbon:
    """Read a table of carbon intensities by region; raise BadInput naming the line or column."""
    found: dict[str, CarbonIntensity] = {}
    for row in read_rows(data, "carbon", COLUMNS, ()):
        region, day, source = row.need("region"), row.need("date"), row.need("source")
        row.need("g_per_kwh")
        value = row.number("g_per_kwh", 0.0, MAX_G_PER_KWH)
        if region in found:
            raise BadInput(f"carbon: a second row of {region!r}", line=row.line)
        try:
            as_of = date.fromisoformat(day)
        except ValueError as error:
            text = f"carbon: date {day!r} is not a day such as 2026-01-31"
            raise BadInput(text, line=row.line) from error
        found[region] = CarbonIntensity(value or 0.0, as_of, source)
    return found
