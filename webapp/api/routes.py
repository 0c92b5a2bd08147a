"""REST API v1: surveys, their tables and evidence."""

from dataclasses import asdict
from operator import attrgetter
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from ninja import Field, Query, Status
from ninja.errors import HttpError

from tasks.resolution.engine_factory import count_words
from tasks.resolution.options import resolving_from
from tasks.surveys import export
from tasks.surveys.submission import submit
from webapp.api.accounts import routes, sharing
from webapp.api.accounts.sharing import get_own_or_error
from webapp.api.audits import lists, policies
from webapp.api.audits import routes as audit_routes
from webapp.api.campaigns import scheduling, tables
from webapp.api.framework import problem_types, problems
from webapp.api.framework.documents import survey_json, tagged
from webapp.api.framework.events import event_stream, stream_survey
from webapp.api.framework.files import download, table_file
from webapp.api.framework.openapi import DescribedAPI, DocsWithProblems
from webapp.api.framework.paging import Page, paginate
from webapp.api.framework.routers import ACCOUNT, Router
from webapp.api.framework.strict_bodies import Body, Domains, list_bytes
from webapp.api.recommendations import beacons
from webapp.api.recommendations import routes as recommendation_routes
from webapp.api.schedules import alert_endpoints, schedules
from webapp.api.screening import instances, pools, shared_pools
from webapp.api.simulations import routes as simulation_routes
from webapp.api.surveys import comparison, customers, packages, studies, zones
from webapp.api.surveys.studies import HostedQuery
from webapp.api.traffic import captures
from webapp.api.vantages import networks
from webapp.api.vantages import routes as vantage_routes
from webapp.store.access import quotas
from webapp.store.access.sharing import may_change
from webapp.store.access.visibility import owner_of, visible
from webapp.store.accounts import deletion
from webapp.store.models import RangeTable, Survey
from webapp.store.requests.body_progress import get_body_progress
from webapp.store.surveys import evidence, selectors, services, snapshots

router = Router()
api = DescribedAPI(
    title="Nephoscope",
    version="1",
    description="Measurements of where domains are hosted in the cloud. Errors are problem "
    "details (RFC 9457).",
    docs=DocsWithProblems(),
    docs_url="/docs",
    urls_namespace="api-v1",
    default_router=router,
)
problems.register(api)
api.add_router("", problem_types.router)
api.add_router("/compare", comparison.router)
api.add_router("", studies.router)
api.add_router("", packages.router)
api.add_router("", zones.router)
api.add_router("", customers.router)
api.add_router("", captures.router)
api.add_router("", routes.router)
api.add_router("", sharing.router)
api.add_router("", recommendation_routes.router)
api.add_router("", beacons.router)
api.add_router("", vantage_routes.router)
api.add_router("", networks.router)
api.add_router("", tables.router)
api.add_router("", scheduling.router)
api.add_router("", audit_routes.router)
api.add_router("", schedules.router)
api.add_router("", alert_endpoints.router)
api.add_router("", simulation_routes.router)
api.add_router("", lists.router)
api.add_router("", policies.router)
api.add_router("/screening", pools.router)
api.add_router("/screening", instances.router)
api.add_router("/screening", shared_pools.router)


class SurveyIn(Body):
    """A survey to run: domain names, or the text of a list in any form that a page takes.

    With an account it is private unless ``public``; without one it always is public.
    """

    domains: Domains
    name: str = ""
    axfr: bool = True
    aaaa: bool = True
    public: bool = False


def _known(request: HttpRequest, slug: str) -> selectors.SurveyRow:
    row = selectors.read_survey(request, slug)
    if row is None:
        raise Http404(f"there is no survey {slug!r}")
    return row


@router.post(
    "/surveys",
    response={202: "surveys.Survey"},
    tags=["surveys"],
)
def create_survey(request: HttpRequest, survey: SurveyIn, response: HttpResponse) -> Any:
    """Start a survey; poll or stream ``Location``. ``Idempotency-Key`` makes a retry safe."""
    user = owner_of(request.user)
    if user is None and not settings.ANONYMOUS_SURVEYS:
        raise HttpError(401, "send a token: here only people with an account start surveys")
    options = resolving_from({"no_axfr": not survey.axfr, "no_aaaa": not survey.aaaa})
    row = services.create_survey(
        list_bytes(survey.domains),
        name=survey.name,
        options=options.as_json(),
        n_words=count_words(options),
        idempotency_key=request.headers.get("Idempotency-Key"),
        maker=services.Requester(
            user=user, is_public=survey.public, gone=get_body_progress(request).gone
        ),
    )
    submit(row)
    response["Location"] = f"/api/v1/surveys/{row.slug}"
    return Status(202, survey_json(selectors.row_of(row)))


@router.post(
    "/plan",
    response={200: "surveys.SurveyPlan"},
    operation_id="plan_survey",
    tags=["surveys"],
)
def plan(request: HttpRequest, survey: SurveyIn) -> Any:
    """Predict the cost of a survey of these domains; no query is sent."""
    options = resolving_from({})
    gone = get_body_progress(request).gone
    return asdict(services.plan_survey(list_bytes(survey.domains), count_words(options), gone)[0])


@router.get(
    "/surveys",
    response={200: "Page[surveys.Survey]"},
    tags=["surveys"],
)
def list_surveys(request: HttpRequest, page: Query[Page]) -> Any:
    """Surveys, newest first."""
    rows = list(visible(Survey.objects.prefetch_related("range_tables"), request.user))
    return paginate(rows, page, attrgetter("slug"), _shown)


def _shown(survey: Survey) -> dict[str, Any]:
    return survey_json(selectors.row_of(survey))


@router.get(
    "/surveys/{slug}",
    response={200: "surveys.Survey", 304: None},
    tags=["surveys"],
)
def get_survey(request: HttpRequest, slug: str) -> Any:
    """State and counters; ``ETag`` changes when they do."""
    return tagged(request, survey_json(_known(request, slug)))


@router.post(
    "/surveys/{slug}/cancel",
    response={200: "surveys.Survey"},
    tags=["surveys"],
)
def cancel_survey(request: HttpRequest, slug: str) -> Any:
    """Cancel a survey; stored results are kept."""
    survey = Survey.objects.get(pk=_known(request, slug).id)
    if not may_change(request.user, survey):
        raise HttpError(403, "only the owner of this survey may stop it")
    services.cancel(survey)
    return survey_json(_known(request, slug))


@router.delete(
    "/surveys/{slug}",
    response={204: None},
    openapi_extra=ACCOUNT,
    tags=["surveys"],
)
def delete_survey(request: HttpRequest, slug: str) -> Any:
    """Cancel and delete a survey with its results; its creator only."""
    deletion.remove(get_own_or_error(request, "survey", slug), request.user)
    return Status(204, None)


@router.get(
    "/surveys/{slug}/events",
    response={200: "text/event-stream"},
    operation_id="stream_survey_events",
    tags=["surveys"],
)
def survey_events(request: HttpRequest, slug: str) -> Any:
    """Server-sent events: the survey document about once a second until it has ended."""
    _known(request, slug)
    address = str(request.META.get("REMOTE_ADDR", ""))
    return event_stream(address, stream_survey(slug, request.user))


@router.get(
    "/surveys/{slug}/report.json",
    response={200: "surveys.SurveyReport"},
    operation_id="get_survey_report",
    tags=["reports"],
)
def get_report(request: HttpRequest, slug: str) -> Any:
    """The whole report, as ``manage.py survey --json`` gives it."""
    _known(request, slug)
    return export.survey_document(slug)


@router.get(
    "/surveys/{slug}/names.csv",
    response={200: "text/csv"},
    operation_id="export_survey_names",
    tags=["reports"],
)
def get_names(request: HttpRequest, slug: str) -> Any:
    """One row per cloud-using subdomain."""
    _known(request, slug)
    return download(f"{slug}-names.csv", "text/csv", "".join(export.names_csv(slug)))


@router.get(
    "/surveys/{slug}/tables",
    response={200: "Page[surveys.TableSummary]"},
    operation_id="list_survey_tables",
    tags=["reports"],
)
def list_tables(request: HttpRequest, slug: str, page: Query[Page]) -> Any:
    """The survey's tables with their headlines."""
    _known(request, slug)
    found = list(selectors.reports(slug).values())
    return paginate(found, page, attrgetter("table_id"), _about_table)


def _about_table(row: selectors.ReportRow) -> dict[str, Any]:
    return {"id": row.table_id, "title": row.title, "headline": row.headline, "n": row.n}


@router.get(
    "/surveys/{slug}/tables/{table}",
    response={200: "surveys.Table"},
    operation_id="get_survey_table",
    tags=["reports"],
)
def get_table(
    request: HttpRequest, slug: str, table: str, format: str = "", snapshot: str = ""
) -> Any:
    """One table as ``ID.json``, ``ID.csv``, ``ID.jsonl`` or ``ID.parquet`` (or ``?format=``).

    With ``snapshot`` the table as it was when it was pinned.
    """
    table_id, _, ending = table.partition(".")
    survey = _known(request, slug)
    if snapshot:
        row = (snapshots.open_snapshot(slug, snapshot) or {}).get(table_id)
    else:
        row = selectors.report(slug, table_id)
    if row is None:
        raise Http404(f"survey {slug!r} has no table {table_id!r}")
    kind = ending or format or "json"
    if kind != "json":
        return table_file(f"{slug}-{table_id}", kind, row.columns, row.rows)
    return {
        "id": table_id,
        "world": survey.world,
        "columns": row.columns,
        "rows": row.rows,
        "n": row.n,
        "headline": row.headline,
        "method": row.method,
        "source": row.source,
        "computed_at": row.computed_at,
        "checks": row.checks,
    }


@router.get(
    "/surveys/{slug}/regions.geojson",
    response={200: "surveys.RegionFeatures"},
    operation_id="get_survey_regions",
    tags=["reports"],
)
def get_regions(request: HttpRequest, slug: str) -> Any:
    """Regions as GeoJSON points; regions without a known place have no geometry."""
    _known(request, slug)
    return {
        "type": "FeatureCollection",
        "features": [
            {
                "type": "Feature",
                "geometry": None
                if r["latitude"] is None
                else {"type": "Point", "coordinates": [r["longitude"], r["latitude"]]},
                "properties": {k: v for k, v in r.items() if k not in ("latitude", "longitude")},
            }
            for r in selectors.map_regions(slug)
        ],
    }


class DomainQuery(HostedQuery):
    """Filter and page of the domain list; ``cursor`` is the ``next`` of the page before.

    ``provider``, alone or with one of its regions and a zone of it, keeps the domains that have a
    name there.
    """

    page: int = 1
    cursor: str = Field("", pattern="^([1-9][0-9]{0,5})?$")


@router.get(
    "/surveys/{slug}/domains",
    response={200: "evidence.Domains"},
    operation_id="list_survey_domains",
    tags=["evidence"],
)
def list_domains(request: HttpRequest, slug: str, query: Query[DomainQuery]) -> Any:
    """List domains of the survey in rank order."""
    _known(request, slug)
    wanted = int(query.cursor) if query.cursor else query.page
    hosted = evidence.hosted_in(query.provider, query.region, query.zone)
    found = evidence.domains(slug, query.q, min(max(wanted, 1), 100_000), hosted)
    more = found["page"] < found["pages"]
    return {**found, "next": str(found["page"] + 1) if more else None}


@router.get(
    "/surveys/{slug}/domains/{domain}",
    response={200: "evidence.Domain"},
    operation_id="get_survey_domain",
    tags=["evidence"],
)
def get_domain(request: HttpRequest, slug: str, domain: str) -> Any:
    """Return the profile of one domain."""
    _known(request, slug)
    found = evidence.domain(slug, domain)
    if found is None:
        raise Http404(f"{domain!r} is not in this survey")
    return found


@router.get(
    "/surveys/{slug}/names/{name}",
    response={200: "evidence.Name"},
    operation_id="get_survey_name",
    tags=["evidence"],
)
def get_name(request: HttpRequest, slug: str, name: str) -> Any:
    """Return all answers, placements and labels of one name."""
    _known(request, slug)
    found = evidence.name(slug, name)
    if found is None:
        raise Http404(f"{name!r} was not found by this survey")
    return found


@router.get(
    "/range-tables",
    response={200: "Page[service.RangeTable]"},
    tags=["service"],
)
def list_range_tables(request: HttpRequest, page: Query[Page]) -> Any:
    """Imported range tables, those of each provider together."""
    return paginate(list(RangeTable.objects.all()), page, attrgetter("pk"), selectors.table_row)


@router.get(
    "/limits",
    response={200: "service.Limits"},
    tags=["service"],
)
def get_limits(request: HttpRequest) -> Any:
    """Return the limits of this installation."""
    user = owner_of(request.user)
    return {
        "active_surveys": {
            "limit": settings.MAX_ACTIVE_SURVEYS,
            "used": quotas.active_surveys(),
        },
        "active_surveys_of_yours": {
            "limit": settings.MAX_ACTIVE_SURVEYS_PER_USER,
            "used": quotas.active_surveys(user) if user else 0,
        },
        "domains_per_survey": settings.MAX_SURVEY_DOMAINS,
    }
