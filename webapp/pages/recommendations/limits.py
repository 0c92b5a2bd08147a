"""Constraints that a form takes before samples are known: residency, zones, ISPs, joint budget."""

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms

from core.errors import BadInput
from tasks.recommendations.client_latencies import ZONES_IN_USE, check_isps_known
from tasks.recommendations.from_domains import region_continents, region_countries
from webapp.pages.ui import formatting
from webapp.store.ranges.region_places import country_name, place_name

# The heading of a group, empty for none, with its values and texts.
Choices = tuple[str, list[tuple[str, str]]]
FIELDS = ("country", "continent", "min_zones", "min_isps", "joint_budget")


def _continents() -> list[tuple[str, str]]:
    return [(name, name.replace("-", " ").title()) for name in region_continents()]


def region_choices(names: Iterable[str]) -> list[Choices]:
    """Regions such as ``aws/us-east-1`` by the name of their provider, each with its place."""
    found: dict[str, list[tuple[str, str]]] = {}
    for name in names:
        provider, _, code = name.rpartition("/")
        place = place_name(name)
        text = f"{place} ({code})" if place else code
        found.setdefault(formatting.provider_name(provider) if provider else "", []).append(
            (name, text)
        )
    return [
        (title, sorted(choices, key=lambda choice: choice[1]))
        for title, choices in sorted(found.items())
    ]


def country_choices(codes: Iterable[str]) -> list[Choices]:
    """Countries by name."""
    named = [(code, country_name(code)) for code in codes if code]
    return [("", sorted(named, key=lambda choice: choice[1]))]


class LimitsForm(forms.Form):
    """Constraints on the regions of a recommendation, by their names in the API."""

    country = forms.CharField(required=False, max_length=400)
    continent = forms.MultipleChoiceField(required=False, choices=_continents)
    min_zones = forms.IntegerField(required=False, min_value=1, max_value=20)
    min_isps = forms.IntegerField(required=False, min_value=1, max_value=1000)

    @property
    def continents(self) -> list[tuple[str, str]]:
        """Values and labels of the choice."""
        return _continents()

    @property
    def countries(self) -> list[Choices]:
        """Codes and names of the countries that have a region."""
        return country_choices(region_countries())

    def clean_country(self) -> list[str]:
        names = [part.strip().upper() for part in self.cleaned_data["country"].split(",")]
        found = list(dict.fromkeys(name for name in names if name))
        known = region_countries()
        if strange := [name for name in found if name not in known]:
            raise forms.ValidationError(
                f"no region is in the country {strange[0]!r}: {', '.join(known)}"
            )
        return found

    def clean_min_zones(self) -> int | None:
        asked: int | None = self.cleaned_data["min_zones"]
        if asked and asked > ZONES_IN_USE:
            raise forms.ValidationError(
                f"zones are not known here, {ZONES_IN_USE} of each region are assumed; for more, "
                "give samples with a table of regions"
            )
        return asked

    def read_limits(self, source: str, user: Any) -> dict[str, Any]:
        """The options that are set; raises BadInput where the latency data cannot serve them."""
        found = {
            name: value for name in FIELDS if (value := self.cleaned_data.get(name)) is not None
        }
        found = {name: value for name, value in found.items() if value != []}
        if "min_isps" in found:
            check_isps_known(source, user)
        return found


def describe_limits(limits: Mapping[str, Any]) -> list[str]:
    """Return each constraint as a phrase for the plan."""
    found = []
    if places := [*limits.get("country", ()), *limits.get("continent", ())]:
        found.append(f"regions in {', '.join(places)} only")
    if "min_zones" in limits:
        found.append(f"at least {limits['min_zones']} zones in each region")
    if "min_isps" in limits:
        found.append(f"at least {limits['min_isps']} ISPs in each region")
    if "joint_budget" in limits:
        found.append(f"{limits['joint_budget']:,} regions in total over all domains")
    return found


def check_joint_budget(limits: Mapping[str, Any], n_domains: int) -> None:
    """Raise BadInput where domains would outnumber the regions that they share."""
    budget = limits.get("joint_budget")
    if budget is not None and budget < n_domains:
        raise BadInput(
            f"{n_domains:,} domains need {n_domains:,} regions at least, one each",
            field="joint_budget",
        )
