"""The forms that invite a vantage point, and that look for probes of public networks."""

from typing import Any

from django import forms

from tasks.networks.enlistment import MOST_PLACES, Wanted
from tasks.vantage.quotas import Limits

CONTINENTS = (
    ("", "not given"),
    ("AF", "Africa"),
    ("AN", "Antarctica"),
    ("AS", "Asia"),
    ("EU", "Europe"),
    ("NA", "North America"),
    ("OC", "Oceania"),
    ("SA", "South America"),
)
_PLACE = ("city", "country", "continent", "lat", "lon", "provider", "asn")
_DEFAULT = Limits()
_GB = 1_000_000_000


class InviteForm(forms.Form):
    """Name, place to the city, and limits; bytes are written in gigabytes."""

    name = forms.RegexField(
        "^[a-z0-9][a-z0-9-]{0,23}$",
        error_messages={"invalid": "Use up to 24 of a–z, 0–9 and -; a letter or digit first."},
    )
    city = forms.CharField(max_length=80, required=False)
    country = forms.RegexField(
        "^[A-Za-z]{2}$",
        required=False,
        error_messages={"invalid": "Two letters, such as NO for Norway."},
    )
    continent = forms.ChoiceField(choices=CONTINENTS, required=False)
    lat = forms.FloatField(min_value=-90, max_value=90, required=False)
    lon = forms.FloatField(min_value=-180, max_value=180, required=False)
    provider = forms.CharField(max_length=120, required=False)
    asn = forms.IntegerField(min_value=1, max_value=2**32 - 1, required=False)
    probes_per_s = forms.FloatField(min_value=0.1, max_value=100_000, initial=_DEFAULT.probes_per_s)
    gigabytes_per_day = forms.FloatField(
        min_value=0, max_value=1_000_000, initial=_DEFAULT.bytes_per_day / _GB
    )
    from_hour = forms.IntegerField(min_value=0, max_value=23, initial=_DEFAULT.from_hour)
    to_hour = forms.IntegerField(min_value=0, max_value=24, initial=_DEFAULT.to_hour)

    def clean(self) -> dict[str, Any]:
        given = super().clean() or {}
        if (given.get("lat") is None) != (given.get("lon") is None):
            self.add_error("lon", "Give both, latitude and longitude, or neither.")
        if given.get("from_hour") == given.get("to_hour"):
            self.add_error("to_hour", "It would never measure; 0 to 24 is always.")
        return given

    @property
    def place(self) -> dict[str, Any]:
        """Location fields."""
        return {name: self.cleaned_data[name] for name in _PLACE}

    @property
    def limits(self) -> dict[str, Any]:
        """What it may do."""
        data = self.cleaned_data
        return {
            "probes_per_s": data["probes_per_s"],
            "bytes_per_day": round(data["gigabytes_per_day"] * _GB),
            "from_hour": data["from_hour"],
            "to_hour": data["to_hour"],
        }


class EnlistForm(forms.Form):
    """Which probes of which public network; only the network and the number are required."""

    network = forms.ChoiceField(
        choices=(("globalping", "Globalping"), ("atlas", "RIPE Atlas")), initial="globalping"
    )
    country = forms.RegexField(
        "^[A-Za-z]{2}$",
        required=False,
        error_messages={"invalid": "Two letters, such as NO for Norway."},
    )
    city = forms.CharField(max_length=80, required=False)
    asn = forms.IntegerField(min_value=1, max_value=2**32 - 1, required=False)
    count = forms.IntegerField(min_value=1, max_value=MOST_PLACES, initial=20)

    @property
    def wanted(self) -> Wanted:
        """The search that the form asks for."""
        data = self.cleaned_data
        return Wanted(
            data["network"], data["country"], data["city"].strip(), data["asn"] or 0, data["count"]
        )
