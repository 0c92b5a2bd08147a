"""The atlas of the cast a year later: what moved, came, went and failed is known name by name."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pyarrow.parquet as pq
from django.conf import settings

from analysis.reporting.headlines import headline
from core.records import Answer, Lookup
from core.statuses import DnsStatus, SurveyState, Technique
from lake.parts import part_path, write_part
from tests.pages import cast
from webapp.store.models import Survey
from webapp.store.surveys import services

WORLD = "imc2013 testbed, scale 1/100"
# (dimension, before, after) of every name that changed.
MOVED = {
    "api.linkedin.com": ("regions", "aws us-west-1", "aws us-east-1"),
    "www.linkedin.com": ("patterns", "aws elb", "aws heroku"),
    "labs.linkedin.com": ("providers", "azure", "absent"),
    "blog.linkedin.com": ("providers", "aws", "failed"),
    "linkedin.com": ("providers", "outside", "azure"),
    "shop.linkedin.com": ("providers", "absent", "aws"),
}


def after(name: str = "A year later") -> Survey:
    """A finished survey of two of its domains and a new one; regions hold 10 % fewer subdomains."""
    survey = cast._survey(name, SurveyState.FINISHED, world=WORLD)
    found = cast.tables()
    regions = found["regions"]
    rows = tuple((*r[:3], int(int(r[3] or 0) * 0.9), *r[4:]) for r in regions.rows)
    found["regions"] = replace(regions, rows=rows, n=int(regions.n * 0.9))
    lines = {table_id: headline(table_id, found) for table_id in found}
    services.save_reports(survey, found, lines, [])
    cast._store(survey, [_linkedin(), cast._plain("hao123.com", 51), cast._plain("new.com", 7)])
    _relabel(survey, "www.linkedin.com", "heroku")
    services.finish(survey, cast._summary())
    # The newest survey is the front door, and that is the atlas.
    then = cast.THEN
    Survey.objects.filter(pk=survey.pk).update(
        created_at=then - timedelta(days=1), finished_at=then + timedelta(days=365)
    )
    survey.refresh_from_db()
    return survey


def _relabel(survey: Survey, name: str, label: str) -> None:
    path = part_path(Path(settings.LAKE_DIR), survey.slug, "fronts", "s0")
    rows = pq.read_table(path).to_pylist()
    for row in rows:
        if row["name"] == name:
            row |= {"label": label, "rule": f"aws-{label}"}
    write_part(path, "fronts", rows)


def _linkedin() -> cast.Domain:
    domain = "linkedin.com"
    rows = [
        (domain, cast._AZURE, ()),
        (f"www.{domain}", cast._EAST, ("proxy.heroku.com",)),
        (f"cdn.{domain}", cast._EDGE, ("d1.cloudfront.net",)),
        (f"api.{domain}", cast._EAST, ()),
        (f"shop.{domain}", cast._WEST, ()),
    ]
    lookups = [
        Lookup(domain, Technique.WORDLIST, cast._answer(name, place, aliases))
        for name, place, aliases in rows
    ]
    lost = Answer(f"blog.{domain}", "A", DnsStatus.TIMEOUT)
    lookups.append(Lookup(domain, Technique.WORDLIST, lost))
    _, _, servers = cast._linkedin()
    return cast._outcome(domain, 13, 5, failed=(("TIMEOUT", 1),)), lookups, servers[:1]
