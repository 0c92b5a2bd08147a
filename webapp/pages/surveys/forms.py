"""The form of a new survey: a pasted list or a file."""

from typing import Any

from django import forms


class SurveyForm(forms.Form):
    """A name and a domain list; exactly one way of giving the list is needed."""

    name = forms.CharField(max_length=200, required=False, strip=True)
    domains = forms.CharField(required=False, widget=forms.Textarea)
    file = forms.FileField(required=False, allow_empty_file=True)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        typed, sent = cleaned.get("domains", "").strip(), cleaned.get("file")
        if typed and sent:
            self.add_error("file", "Give the list once: clear the text above or the file here.")
        if not typed and not sent and not self.errors:
            self.add_error("domains", "Paste at least one domain, or choose a file.")
        return cleaned

    def read_list(self) -> bytes:
        """The list as bytes, whichever way it came."""
        sent = self.cleaned_data.get("file")
        if sent:
            return bytes(sent.read())
        return str(self.cleaned_data["domains"]).encode()
