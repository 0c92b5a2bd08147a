"""Tags of the header: main navigation, sub-navigation, and the groups of a survey's pages."""

from typing import Any

from django import template

from webapp.pages.front import navigation

register = template.Library()


def _section(context: template.Context) -> str:
    return str(context.get("section") or "")


@register.simple_tag(takes_context=True)
def main_links(context: template.Context, slug: str) -> list[dict[str, Any]]:
    """The main navigation, for the survey shown or the front one."""
    return navigation.main_links(_section(context), slug)


@register.simple_tag(takes_context=True)
def section_links(context: template.Context, slug: str) -> list[dict[str, Any]]:
    """The sub-navigation of the section of this page."""
    request = context.get("request")
    match = getattr(request, "resolver_match", None)
    return navigation.section_links(
        _section(context),
        match.url_name if match else "",
        slug,
        # A page of a refused request has no reader.
        has_account=bool(getattr(getattr(request, "user", None), "is_authenticated", False)),
    )


@register.simple_tag(takes_context=True)
def survey_groups(context: template.Context) -> list[dict[str, Any]]:
    """The groups of the survey's pages."""
    request, family = context["request"], context.get("family")
    found = navigation.groups_of_survey(
        context["survey"].slug,
        _section(context),
        family.slug if family else "",
        is_shared=bool(getattr(request.user, "link", None)),
    )
    is_overview = bool(request.resolver_match) and request.resolver_match.url_name == "survey"
    found[0] = {**found[0], "is_here": is_overview}
    return found
