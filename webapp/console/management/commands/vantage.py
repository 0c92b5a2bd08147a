"""``manage.py vantage``: invite, list, drain and revoke vantage points; collect what they send."""

import threading
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from core.errors import BadInput
from core.signals import STOPPING, caught
from tasks.vantage_admin import enrolment
from webapp.console.product_command import ProductCommand
from webapp.store.access.visibility import OPERATOR
from webapp.store.models import VantagePoint
from webapp.store.vantages import services
from webapp.store.vantages.documents import document

_LIMITS = {
    "probes_per_s": float,
    "bytes_per_day": int,
    "from_hour": int,
    "to_hour": int,
}
_PLACE = {
    "city": str,
    "country": str,
    "continent": str,
    "lat": float,
    "lon": float,
    "provider": str,
    "asn": int,
    "cloud": str,
}


class Command(ProductCommand):
    """Vantage points: places that measure, each joined by a one-time token."""

    help = "vantage points: list, show, invite, token, limits, drain, resume, revoke, collect"

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        subs = {
            name: actions.add_parser(name, help=text)
            for name, text in (
                ("list", "all of them"),
                ("show", "one of them"),
                ("invite", "make one and its one-time token"),
                ("token", "a new token for one that is not joined; older ones are void"),
                ("limits", "change its limits"),
                ("drain", "let it finish what it has, and take nothing new"),
                ("resume", "let it take work again"),
                ("revoke", "cut it off at once"),
                ("collect", "take in what they send, until stopped"),
            )
        }
        for name, sub in subs.items():
            sub.add_argument("--json", action="store_true")
            if name not in ("list", "collect"):
                sub.add_argument("name", metavar="NAME")
        _add_fields(subs["invite"], _PLACE)
        for name in ("invite", "limits"):
            _add_fields(subs[name], _LIMITS)
        for name in ("invite", "token"):
            subs[name].add_argument("--site", default=settings.SITE_URL, metavar="URL")

    def handle(self, *args: Any, **options: Any) -> None:
        getattr(self, f"_{options['action']}")(options)

    def _list(self, options: dict[str, Any]) -> None:
        rows = [document(p, operator=True) for p in services.points(OPERATOR)]
        if options["json"]:
            self.write_json({"count": len(rows), "results": rows})
            return
        for row in rows:
            age = "never" if row["age_s"] is None else f"{row['age_s']:,.0f} s ago"
            where = ", ".join(filter(None, (row["city"], row["country"], row["provider"])))
            self.stdout.write(f"{row['name']:24} {row['health']:9} {age:>14}  {where}")
        if not rows:
            self.write_note("no vantage point yet; make one with manage.py vantage invite NAME")

    def _show(self, options: dict[str, Any]) -> None:
        self._write_point(_known(options["name"]), options)

    def _invite(self, options: dict[str, Any]) -> None:
        point, token = enrolment.invite(
            options["name"], _select_options(options, _PLACE), _select_options(options, _LIMITS)
        )
        self._write_token(point, token, options)

    def _token(self, options: dict[str, Any]) -> None:
        point = _known(options["name"])
        self._write_token(point, services.new_token(point), options)

    def _write_token(self, point: VantagePoint, token: str, options: dict[str, Any]) -> None:
        command = f"python -m tasks.vantage.joining {options['site']} {token}"
        hours = services.TOKEN_LIFE.total_seconds() / 3600
        if options["json"]:
            invitation = {"token": token, "command": command, "hours": hours}
            self.write_json({**document(point, operator=True), **invitation})
            return
        self.write_note(
            f"run this on the machine that is to measure; it works once, within {hours:.0f} h"
        )
        self.stdout.write(command)

    def _limits(self, options: dict[str, Any]) -> None:
        point = _known(options["name"])
        enrolment.change_limits(point, _select_options(options, _LIMITS))
        self._write_point(point, options)

    def _drain(self, options: dict[str, Any]) -> None:
        self._act(enrolment.drain, options)

    def _resume(self, options: dict[str, Any]) -> None:
        self._act(enrolment.resume, options)

    def _revoke(self, options: dict[str, Any]) -> None:
        self._act(enrolment.revoke, options)

    def _act(self, act: Any, options: dict[str, Any]) -> None:
        point = _known(options["name"])
        act(point)
        self._write_point(point, options)

    def _collect(self, options: dict[str, Any]) -> None:
        from tasks.campaigns.results_collector import Collector  # noqa: PLC0415

        stop = threading.Event()
        collector = Collector()
        with caught(stop.set, *STOPPING):
            collector.run(stop)
        if options["json"]:
            self.write_json({"stored": collector.stored, "refused": collector.refused})

    def _write_point(self, point: VantagePoint, options: dict[str, Any]) -> None:
        shown = document(point, operator=True)
        if options["json"]:
            self.write_json(shown)
            return
        for key, value in shown.items():
            self.stdout.write(f"{key:16} {'' if value is None else value}")


def _add_fields(parser: CommandParser, fields: dict[str, Any]) -> None:
    for name, kind in fields.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=kind)


def _select_options(options: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
    return {name: options[name] for name in fields if options.get(name) is not None}


def _known(name: str) -> VantagePoint:
    point = services.point(name, OPERATOR)
    if point is None:
        raise BadInput(f"there is no vantage point {name!r}; see manage.py vantage list")
    return point
