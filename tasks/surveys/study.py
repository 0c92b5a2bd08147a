"""Attach external data to a survey: zones of addresses, countries of customers.

Write lake tables from files, and recompute the report.
"""

import ipaddress
import re
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

from django.conf import settings

from analysis.reporting import paper_comparison, survey_tables
from analysis.reporting.sampling_error import populations
from cartography.zones.input_files import Row, rows_of
from core.errors import BadInput, MissingData
from lake.parts import part_path, write_part
from tasks.surveys import derived as survey_derived
from tasks.surveys import shard_run
from testbed.worlds.loading import named_domains
from webapp.store.models import Survey
from webapp.store.object_storage import files
from webapp.store.surveys import derived, selectors, services, waiting

# The one part of a table that is brought; a second import replaces it.
BROUGHT = "brought"
_COUNTRY = re.compile(r"[A-Za-z]{2}")


def attach_zones(slug: str, data: bytes) -> int:
    """Attach zones of addresses to a survey, in place of those before; raises ``BadInput``.

    Rows are ``target`` (or ``address``), ``region`` and ``zone``, as ``zones infer`` writes them.
    """
    rows = [_zone(row) for row in rows_of(data, "targets")]
    return _attach(slug, "zones", rows)


def _zone(row: Row) -> dict[str, Any]:
    fields = row.fields
    text = fields.get("target") or row.need("address")
    try:
        address = str(ipaddress.ip_address(text))
    except ValueError as error:
        raise BadInput(f"{text!r} is not an address", line=row.line) from error
    return {
        "address": address,
        "region": row.need("region"),
        "zone": fields.get("zone", ""),
        "method": fields.get("method", ""),
        "confidence": _number(row, "confidence") if fields.get("confidence") else None,
        "reason": fields.get("reason", ""),
    }


def _number(row: Row, name: str) -> float:
    try:
        value = float(row.need(name))
    except ValueError as error:
        raise BadInput(
            f"{row.fields[name]!r} is not a number", line=row.line, field=name
        ) from error
    if not 0 <= value < float("inf"):
        raise BadInput(f"{name} must not be negative or infinite", line=row.line)
    return value


def attach_customers(slug: str, data: bytes) -> int:
    """Attach countries of customers to a survey's domains; raises ``BadInput``.

    Rows are ``domain``, ``country`` (two letters) and ``weight`` (1 where it is left out).
    """
    survey = finished(slug)
    n = write_customers(survey, read_customers(data))
    recompute(survey)
    return n


def read_customers(data: bytes) -> list[dict[str, Any]]:
    """Rows of the lake table ``customers`` of a file; raises ``BadInput`` naming the line."""
    return [_customer(row) for row in rows_of(data, "customers")]


def write_customers(survey: Survey, rows: list[dict[str, Any]]) -> int:
    """Write countries of customers in place of those before, and return their number."""
    path = part_path(Path(settings.LAKE_DIR), survey.slug, "customers", BROUGHT)
    return write_part(path, "customers", rows)


def _customer(row: Row) -> dict[str, Any]:
    country = row.need("country")
    if not _COUNTRY.fullmatch(country):
        raise BadInput(f"{country!r} is not a country code of two letters", line=row.line)
    weight = _number(row, "weight") if row.fields.get("weight") else 1.0
    domain = row.need("domain").lower().rstrip(".")
    return {"domain": domain, "country": country.upper(), "weight": weight}


def _attach(slug: str, table: str, rows: list[dict[str, Any]]) -> int:
    survey = finished(slug)
    n = write_part(part_path(Path(settings.LAKE_DIR), slug, table, BROUGHT), table, rows)
    recompute(survey)
    return n


def finished(slug: str) -> Survey:
    """A survey that has ended; raises ``MissingData`` and ``BadInput``."""
    survey = Survey.objects.filter(slug=slug).first()
    if survey is None:
        raise MissingData(f"there is no survey {slug}")
    if not survey.is_final:
        raise BadInput(f"survey {slug} has not ended yet", field="survey")
    return survey


def recompute(survey: Survey) -> None:
    """Compute every table of an ended survey again, with its checks and headlines."""
    root, shards = Path(settings.LAKE_DIR), selectors.finished_shards(survey.slug)
    n_domains = survey.n_domains - waiting.lost_domains(survey)
    report = shard_run.compute_report(root, survey.slug, shards, n_domains)
    services.save_reports(survey, *report)
    _remove_derived(survey.slug)
    survey_derived.try_index_survey(survey)


def _remove_derived(slug: str) -> None:
    """Drop what pages read at once; comparisons are made again on request."""
    for folder in (derived.root() / slug, *derived.root().glob(f"*/against/{slug}")):
        shutil.rmtree(folder, ignore_errors=True)
        files.unregister(folder)
    files.unregister_containing(f"/against/{slug}/")


def compare(slug: str, scale: str | None = None) -> list[paper_comparison.ComparedCell]:
    """A survey's stored tables beside the published ones; raises ``MissingData``.

    Counts are expected at the scale of the survey's world, unless another is given, but for those
    of the domains that the world keeps at their published size.
    """
    survey = finished(slug)
    tables = selectors.as_tables(selectors.reports(slug).values())
    share = _scale(scale or _world_scale(survey.world))
    return paper_comparison.compare_tables(
        tables, share, _small_world(survey) if share != 1 else None
    )


def _small_world(survey: Survey) -> paper_comparison.SmallWorld | None:
    """What explains differences of a scaled world: its named domains, and how few others are."""
    world = re.match(r"(\S+) testbed", survey.world)
    domains = named_domains(world[1]) if world else ()
    if not domains:
        return None
    root, shards = Path(settings.LAKE_DIR), selectors.finished_shards(survey.slug)
    with survey_tables.open_study(root, survey.slug, shards) as connection:
        found = populations(connection)
    with survey_tables.open_study(root, survey.slug, shards, only=domains) as connection:
        return paper_comparison.SmallWorld(survey_tables.build_tables(connection), found)


def _world_scale(world: str) -> str:
    found = re.search(r"scale (\S+)$", world)
    return found[1] if found else "1"


def _scale(text: str) -> Fraction:
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError) as error:
        raise BadInput(f"{text!r} is not a fraction such as 1/100", field="scale") from error
