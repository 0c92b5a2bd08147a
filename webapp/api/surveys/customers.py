"""REST API v1: countries of customers of a survey's domains."""

from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Field, Status

from tasks.surveys import derived_tasks
from webapp.api.framework.routers import ACCOUNT, Router
from webapp.api.framework.strict_bodies import Body
from webapp.api.surveys.lookup import get_ended_own_survey, get_survey
from webapp.store.access.visibility import may_manage
from webapp.store.models import Survey
from webapp.store.surveys import uploads

router = Router(tags=["evidence"])


class CustomersIn(Body):
    """A file as a text: CSV with a header, JSON Lines or JSON; domain, country and weight."""

    name: Annotated[str, Field(max_length=200)] = ""
    text: Annotated[str, Field(min_length=1, max_length=derived_tasks.MAX_CUSTOMER_BYTES)]


@router.get(
    "/surveys/{slug}/customers",
    response={200: "surveys.CustomerFile"},
    operation_id="get_survey_customers",
)
def get_customers(request: HttpRequest, slug: str) -> Any:
    """What was uploaded about customers, and whether the report has it yet."""
    survey = get_survey(request, slug)
    return _document(survey, may_manage(survey, request.user))


@router.post(
    "/surveys/{slug}/customers",
    response={202: "surveys.CustomerFile"},
    operation_id="add_survey_customers",
    openapi_extra=ACCOUNT,
)
def add_customers(request: HttpRequest, slug: str, given: CustomersIn) -> Any:
    """Upload countries of customers in place of those before; the report is computed again."""
    survey = get_ended_own_survey(request, slug)
    derived_tasks.add_customers(survey, given.name, given.text.encode())
    return Status(202, _document(survey, is_own=True))


@router.delete(
    "/surveys/{slug}/customers",
    response={202: "surveys.CustomerFile"},
    operation_id="remove_survey_customers",
    openapi_extra=ACCOUNT,
)
def remove_customers(request: HttpRequest, slug: str) -> Any:
    """Remove the countries of customers; the report is computed again."""
    survey = get_ended_own_survey(request, slug)
    derived_tasks.remove_customers(survey)
    return Status(202, _document(survey, is_own=True))


def _document(survey: Survey, is_own: bool) -> dict[str, Any]:
    row = uploads.customer_file(survey)
    return {
        "survey": survey.slug,
        "state": row.state if row else "none",
        "error": row.error if row else "",
        "name": row.name if row and is_own else "",
        "rows": row.rows if row else 0,
        "requested_at": row.requested_at if row else None,
        "finished_at": row.finished_at if row else None,
    }
