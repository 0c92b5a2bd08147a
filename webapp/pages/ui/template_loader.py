"""Templates without their indentation, so that pages stay small however the files are laid out."""

import re

from django.template import Origin
from django.template.loaders.filesystem import Loader

# White space shows as it is written in these elements alone.
_KEPT = re.compile(r"(<(pre|textarea|script|style)\b.*?</\2>)", re.DOTALL)
# At the edges of a block no space is left: some blocks are in titles and attributes.
_EDGES = re.compile(r"(\{% block \w+ %\})\s*\n\s*|\s*\n\s*(?=\{% endblock)")
_INDENTATION = re.compile(r"\s*\n\s*")


def strip_indentation(source: str) -> str:
    """Return a template with each line break and the white space around it as one space."""
    parts = _KEPT.split(source)
    # Of each three parts the second is kept and the third is its element's name.
    return "".join(
        _INDENTATION.sub(" ", _EDGES.sub(r"\1", part)) if at % 3 == 0 else part
        for at, part in enumerate(parts)
        if at % 3 != 2
    )


class CompactLoader(Loader):
    """Django's loader of files, for templates with white space as layout."""

    def get_contents(self, origin: Origin) -> str:
        """Return the source of a template without its indentation."""
        return strip_indentation(super().get_contents(origin))
