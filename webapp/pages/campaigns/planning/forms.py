"""The form of a new measurement campaign, and what it asks for."""

from datetime import UTC, datetime
from typing import Any

from django import forms

from webapp.store.campaigns.plans import presets


class CampaignForm(forms.Form):
    """What to measure, from where, and how often; empty fields are those of the schedule."""

    name = forms.CharField(max_length=200, required=False, strip=True)
    preset = forms.ChoiceField(required=False)
    targets = forms.CharField(
        widget=forms.Textarea, error_messages={"required": "Name one target at least."}
    )
    vantages = forms.MultipleChoiceField(required=False)
    selection = forms.CharField(max_length=1_000, required=False, strip=True)
    rounds = forms.IntegerField(min_value=1, max_value=100_000, required=False)
    round_minutes = forms.FloatField(min_value=0.05, max_value=527_040, required=False)
    seed = forms.IntegerField(min_value=0, max_value=2**53, required=False)
    starts_at = forms.CharField(max_length=40, required=False)

    def __init__(self, data: Any = None, *, vantages: list[str], kept: bool = False) -> None:
        super().__init__(data)
        named = [(name, values["title"]) for name, values in presets().items()]
        own = [("", "The schedule of the campaign that is cloned")] if kept else []
        self.fields["preset"].choices = [*own, *named]  # type: ignore[attr-defined]
        self.fields["vantages"].choices = [  # type: ignore[attr-defined]
            (v, v) for v in vantages
        ]

    def clean(self) -> dict[str, Any]:
        """Require a vantage point by name or by place."""
        found: dict[str, Any] = super().clean() or self.cleaned_data
        if not found.get("vantages") and not found.get("selection") and not self.errors:
            self.add_error("vantages", "Choose one vantage point at least.")
        return found

    def clean_starts_at(self) -> str:
        """A moment in UTC, as browsers write it."""
        given = str(self.cleaned_data["starts_at"]).strip()
        if not given:
            return ""
        try:
            found = datetime.fromisoformat(given)
        except ValueError:
            raise forms.ValidationError("Write it like 2026-05-01T06:00.") from None
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).isoformat()

    def asked(self) -> dict[str, Any]:
        """The campaign as commands and the API ask for it."""
        data = self.cleaned_data
        minutes = data["round_minutes"]
        values = {
            "name": data["name"],
            "preset": data["preset"],
            "targets": data["targets"],
            "vantages": [*data["vantages"], *_entries(data["selection"])],
            "rounds": data["rounds"],
            "round_s": None if minutes is None else minutes * 60,
            "seed": data["seed"],
            "starts_at": data["starts_at"],
        }
        return {name: value for name, value in values.items() if value not in (None, "")}


def _entries(text: str) -> list[str]:
    """Return the entries of a selection, which commas separate."""
    return [entry.strip() for entry in text.split(",") if entry.strip()]
