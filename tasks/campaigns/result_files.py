"""Read files that others measured, in any supported form, into tables of the lake.

The form is detected from the contents: JSON of three networks, matrices, pairs, speed tests.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from analysis.campaigns.importers import public_matrices
from analysis.campaigns.importers.globalping import read_globalping
from analysis.campaigns.importers.imported_tables import Imported
from analysis.campaigns.importers.mlab import read_mlab
from analysis.campaigns.importers.ripe_atlas import AtlasFiles
from analysis.campaigns.importers.sanity import drop_impossible_values
from analysis.campaigns.importers.scamper import read_scamper
from analysis.campaigns.importers.wondernetwork import read_city_pings
from core.errors import BadInput
from core.files import open_text
from lake.campaigns import CAMPAIGN_SCHEMAS
from tasks.campaigns import isp_report

# Thousandths of a second in each unit in which others publish.
UNITS = {"ms": 1.0, "s": 1e3, "us": 1e-3}
# Letters of the first line of a table: two million numbers.
_LONGEST_LINE = 1 << 24
# What a heading of speed tests holds, and one of pings between cities.
_SPEEDS, _CITIES = ("mbps", "throughput", "download"), ("source", "destination")


@dataclass(frozen=True, slots=True)
class Asked:
    """How files are to be read; an empty form is detected from their contents."""

    form: str = ""
    round_s: int = 900
    unit: str = "ms"
    provider: str = "aws"
    regions: tuple[str, ...] = ()
    servers: Path | None = None


def read_files(files: Sequence[Path], asked: Asked) -> tuple[str, Imported]:
    """The form of some files, which must be one, and what they hold; raises ``BadInput``."""
    if not files:
        raise BadInput("name at least one file")
    if asked.unit not in UNITS:
        raise BadInput(
            f"{asked.unit!r} is not a unit; there are {', '.join(UNITS)}", field="--unit"
        )
    forms = {asked.form or form_of(path) for path in files}
    if len(forms) > 1:
        raise BadInput(f"these are files of several forms: {', '.join(sorted(forms))}")
    form = forms.pop()
    if form not in READERS:
        raise BadInput(f"{form!r} is not a form; there are {', '.join(READERS)}", field="--form")
    try:
        return form, drop_impossible_values(READERS[form](files, asked))
    except BadInput as error:
        if asked.form or form != "cloudping":
            raise
        raise BadInput(f"{_NONE}, if none is named: {error}", field="--form") from error


def form_of(path: Path) -> str:
    """What a file holds, by its beginning; raises ``BadInput``."""
    with public_matrices.read_errors_as_bad_input(path), open_text(path) as stream:
        lines = iter(lambda: stream.readline(_LONGEST_LINE), "")
        line = next((line.strip() for line in lines if line.strip()), "")
    if line[:1] in "[{":
        return _form_of_json(path, line)
    if len(line) >= _LONGEST_LINE - 1:
        raise BadInput(f"{path.name} begins with a line of more than {_LONGEST_LINE:,} letters")
    low = line.lower()
    if all(word in low for word in _CITIES):
        return "wondernetwork"
    if any(word in low for word in _SPEEDS):
        return "mlab"
    return _form_of_rows(path, low)


def _form_of_rows(path: Path, line: str) -> str:
    """What a file with such a first line holds: names, or nothing but numbers."""
    words = line.replace(",", " ").replace(";", " ").split()
    if line.startswith(",") or (words and not _is_number(words[-1]) and "," in line):
        return "cloudping"
    if line.startswith("node ") or (len(words) == 3 and not _is_square(path)):
        return "pairs"
    if all(map(_is_number, words)):
        return "square"
    raise BadInput(f"{path.name} is {_NONE}", field="--form")


def _form_of_json(path: Path, line: str) -> str:
    try:
        return isp_report.form_of(path)
    except BadInput:
        if '"type":"ping"' in line.replace(" ", ""):
            return "scamper"
        return "cloudping"


def _is_square(path: Path) -> bool:
    with open_text(path) as stream:
        return sum(bool(line.strip()) for line in stream) == 3


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _atlas(files: Sequence[Path], asked: Asked) -> Imported:
    """Pings and traceroutes; what is neither is of another kind."""
    reader = AtlasFiles(files, asked.round_s)
    tables: dict[str, list[pa.Table]] = {"samples": [], "paths": []}
    for kind, table in reader.tables():
        tables[kind].append(table)
    samples, paths = (_joined(kind, own) for kind, own in tables.items())
    return Imported(samples, paths, reader.reasons)


def _scamper(files: Sequence[Path], asked: Asked) -> Imported:
    return read_scamper(files, asked.round_s)


def _globalping(files: Sequence[Path], asked: Asked) -> Imported:
    return read_globalping(files, asked.round_s)


def _square(files: Sequence[Path], asked: Asked) -> Imported:
    return _samples([public_matrices.read_planetlab(files, scale=UNITS[asked.unit])])


def _pairs(files: Sequence[Path], asked: Asked) -> Imported:
    return _samples([public_matrices.read_pairs(p, scale=UNITS[asked.unit]) for p in files])


def _cities(files: Sequence[Path], asked: Asked) -> Imported:
    return _samples(
        [read_city_pings(p, asked.servers, asked.regions, asked.round_s) for p in files]
    )


def _cloudping(files: Sequence[Path], asked: Asked) -> Imported:
    return _samples([public_matrices.read_cloudping(p, asked.provider) for p in files])


def _mlab(files: Sequence[Path], asked: Asked) -> Imported:
    return _samples([table for p in files for table in read_mlab(p, asked.round_s)])


def _samples(tables: Sequence[pa.Table]) -> Imported:
    return Imported(_joined("samples", tables), _joined("paths", ()), Counter())


def _joined(kind: str, tables: Sequence[pa.Table]) -> pa.Table:
    """All rows by vantage point, so that who asks for one finds its rows together."""
    empty = CAMPAIGN_SCHEMAS[kind].empty_table()
    whole = pa.concat_tables([empty, *tables]).unify_dictionaries().combine_chunks()
    return whole.take(pc.sort_indices(whole["vantage"].cast(pa.string())))


READERS: dict[str, Callable[[Sequence[Path], Asked], Imported]] = {
    "atlas": _atlas,
    "scamper": _scamper,
    "globalping": _globalping,
    "square": _square,
    "pairs": _pairs,
    "wondernetwork": _cities,
    "cloudping": _cloudping,
    "mlab": _mlab,
}
_NONE = f"of no form that is known ({', '.join(READERS)})"
