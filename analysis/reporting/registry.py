"""All report tables by id, from the modules of ``analysis.reporting.tables``."""

from importlib import import_module
from pkgutil import iter_modules

from analysis.reporting import tables
from analysis.reporting.tables.report_table import ReportTable
from core.report_tables import SPECS


def _find_tables() -> dict[str, ReportTable]:
    """Collect ``TABLES`` of every module; raise ValueError unless each table is declared once."""
    found = [
        table
        for module in iter_modules(tables.__path__, f"{tables.__name__}.")
        for table in getattr(import_module(module.name), "TABLES", ())
    ]
    by_id = {table.id: table for table in found}
    if len(by_id) != len(found) or by_id.keys() != {spec.id for spec in SPECS}:
        raise ValueError(
            "core.report_tables.SPECS and TABLES of analysis.reporting.tables differ: "
            f"{sorted(by_id.keys() ^ {spec.id for spec in SPECS})}"
        )
    return {spec.id: by_id[spec.id] for spec in SPECS}


TABLE_BY_ID = _find_tables()
