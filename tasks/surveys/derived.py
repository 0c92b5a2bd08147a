"""Build the files that pages read: the index of a survey, and changes between two surveys.

Reads surveys that have ended; writes folders of ``webapp.store.surveys.derived``. Making one twice
leaves one result.
"""

import json
import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from django.conf import settings

from analysis.index.diff import Side, compare
from analysis.index.indexing import index_shards
from analysis.index.outage_impact import affected_domains
from analysis.index.search import write_names
from lake.row_files import SUFFIX, paths_of, write_rows
from webapp.store.models import Survey
from webapp.store.surveys import derived, index, selectors

log = logging.getLogger(__name__)
# Shards that are indexed together: enough to be worth a connection, few enough for the memory.
SHARDS_AT_ONCE = 16
# A page reads one batch of rows: small batches are read fast, and too small ones compress badly.
BATCH_ROWS, DOMAIN_BATCH_ROWS = 512, 128
# The rows of a group that a page of a comparison reads.
GROUP_ROWS = 2_048


def index_survey(survey: Survey) -> None:
    """Make the index of a survey that has ended, unless it exists."""
    place = derived.index_of(survey)
    if place.is_ready:
        return
    shards = selectors.finished_shards(survey.slug)
    batches = [shards[i : i + SHARDS_AT_ONCE] for i in range(0, len(shards), SHARDS_AT_ONCE)]
    with place.build() as folder:
        tables = []
        for number, batch in enumerate(batches or [[]]):
            place.write_progress(derived.RUNNING, "reading names", number, len(batches) + 1)
            tables.append(_index_batch(folder, survey.slug, batch, number))
        _write_domains(folder, pa.concat_tables(tables))
        write_names(paths_of(folder, "names-"), folder / index.NAMES)
        place.write_progress(derived.RUNNING, "imagining outages", len(batches), len(batches) + 1)
        _write_outage_impact(folder, survey.slug, shards)


def try_index_survey(survey: Survey) -> None:
    """The same after a survey, which has ended well whatever becomes of its index."""
    survey.refresh_from_db()
    try:
        index_survey(survey)
    except Exception:
        log.exception("the index of survey %s could not be made", survey.slug)


def _index_batch(folder: Path, slug: str, shards: Sequence[str], number: int) -> pa.Table:
    domains, names = index_shards(Path(settings.LAKE_DIR), slug, shards)
    write_rows(folder / f"names-{number:05d}{SUFFIX}", names, BATCH_ROWS)
    return domains.append_column("part", pa.array([number] * len(domains), pa.int32()))


def _write_domains(folder: Path, table: pa.Table) -> None:
    """Domains by rank, and the sorted hashes of their names with the row of each."""
    table = table.sort_by([("rank", "ascending"), ("domain", "ascending")])
    hashes = table["hash"].to_numpy().astype(np.uint64)
    order = np.argsort(hashes, kind="stable")
    np.save(folder / "hashes.npy", hashes[order])
    np.save(folder / "rows.npy", order.astype(np.uint32))
    write_rows(folder / f"domains{SUFFIX}", table.drop_columns(["hash"]), DOMAIN_BATCH_ROWS)


def _write_outage_impact(folder: Path, slug: str, shards: Sequence[str]) -> None:
    table = affected_domains(Path(settings.LAKE_DIR), slug, shards)
    write_rows(folder / f"casualties{SUFFIX}", table, BATCH_ROWS)
    spans: dict[str, list[int]] = {}
    keys = zip(*(table[c].to_pylist() for c in ("kind", "provider", "target")), strict=True)
    for at, (kind, provider, target) in enumerate(keys):
        spans.setdefault(f"{kind}/{provider or ''}/{target}", [at, 0])[1] += 1
    (folder / "targets.json").write_text(json.dumps(spans), encoding="utf-8")


def compare_surveys(before: Survey, after: Survey) -> None:
    """Make the comparison of two surveys, with their indexes where those are missing."""
    place = derived.comparison_of(before, after)
    if place.is_ready:
        return
    with place.build() as folder:
        for step, survey in enumerate((before, after)):
            place.write_progress(derived.RUNNING, f"indexing {survey.name}", step, 3)
            index_survey(survey)
        place.write_progress(derived.RUNNING, "comparing names", 2, 3)
        found = compare(Path(settings.LAKE_DIR), _side(before), _side(after))
        pq.write_table(
            found.moves,
            folder / "moves.parquet",
            compression="zstd",
            write_page_checksum=True,
            row_group_size=GROUP_ROWS,
        )
        sums = {"population": found.population, "sums": found.sums}
        summary = sums | {"flows": found.flows, "members": found.members}
        (folder / "summary.json").write_text(json.dumps(summary), encoding="utf-8")


def _side(survey: Survey) -> Side:
    shards = selectors.finished_shards(survey.slug)
    return Side(survey.slug, shards, derived.index_of(survey).folder)
