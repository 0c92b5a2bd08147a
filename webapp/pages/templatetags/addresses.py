"""The tag ``url`` of all templates: a page has two dozen addresses, which are composed once."""

from typing import Any

from django import template
from django.conf import settings
from django.template.base import Parser, Token
from django.template.defaulttags import URLNode
from django.template.defaulttags import url as parse_url
from django.urls import get_urlconf
from django.utils.html import conditional_escape

from webapp.pages.ui.links import path_with

register = template.Library()


class CachedURLNode(URLNode):
    """Django's node; routes with values by name that are texts are looked up in the cache."""

    def render(self, context: template.Context) -> str:
        """Return the address, or set the variable that is named."""
        route = self.view_name.resolve(context)
        values = {key: value.resolve(context) for key, value in self.kwargs.items()}
        is_plain = all(isinstance(value, str) for value in values.values())
        is_usual = get_urlconf() in (None, settings.ROOT_URLCONF)
        # The application of the request decides which of several namespaces is meant.
        if self.args or self.asvar or not is_plain or not is_usual or ":" in route:
            return str(super().render(context))
        path = path_with(route, values)
        return str(conditional_escape(path)) if context.autoescape else path


@register.tag
def url(parser: Parser, token: Token) -> Any:
    """Parse Django's tag ``url``."""
    node = parse_url(parser, token)
    return CachedURLNode(node.view_name, node.args, node.kwargs, node.asvar)
