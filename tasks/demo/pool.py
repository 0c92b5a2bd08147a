"""A pool of emulated machines: five days of reports, with verdicts of every kind."""

import json
import random
import time

from tasks.screening import celery_tasks
from tasks.screening.emulated_reports import Report, build_calls, build_report
from webapp.store.access.visibility import OPERATOR
from webapp.store.models import Pool
from webapp.store.screening import ingest, selectors, services
from webapp.store.screening.services import PoolSettings

NAME = "Emulated web servers"
SETTINGS = PoolSettings(name=NAME, wanted=5, price=0.096, currency="USD")
_DAY_S = 86_400
# What troubles each machine in most of its reports.
MACHINES = {
    "web-01": "quiet",
    "web-02": "none",
    "web-03": "none",
    "web-04": "quiet",
    "web-05": "none",
    "web-06": "steal",
    "web-07": "steal",
    "web-08": "steal",
    "web-09": "quota",
    "web-10": "load",
    "web-11": "doubt",
}
# What is known of them: the verdicts are calibrated by it.
LABELS = {
    "quiet": "good",
    "none": "good",
    "steal": "bad",
    "quota": "bad",
    "load": "bad",
    "doubt": "",
}
# Where machines run, in turn.
_PLACEMENTS = tuple(
    {"provider": "aws", "region": zone[:-1], "zone": zone, "instance_type": name}
    for zone, name in (
        ("us-east-1a", "m5.large"),
        ("us-east-1b", "m5.large"),
        ("eu-west-1a", "c5.large"),
    )
)
# Hours (UTC) in which neighbours are busy, and how many hours all machines report.
_NIGHT = range(1, 4)
_HOURS = 5 * 24


def build_pool() -> Pool:
    """Make the pool again, of the operator and public, with its analysis."""
    for old in Pool.objects.filter(owner=None, name=NAME):
        if row := selectors.find_own_pool(OPERATOR, old.key):
            services.delete_pool(row)
    row = services.create_pool(OPERATOR, SETTINGS)
    token, secret = services.create_token(row, "demo")
    grant = ingest.find_grant(secret)
    reports = _reports(time.time(), random.Random(13))
    batch = [ingest.read_arrival(grant, json.dumps(one).encode()) for one in reports]
    for receipt in ingest.store_arrivals(batch):
        if not isinstance(receipt, ingest.Receipt):
            raise receipt
    services.revoke_token(row, token)
    for instance in Pool.objects.get(pk=row.id).instances.all():
        services.label_instance(row, instance.pk, LABELS[MACHINES[instance.name]])
    celery_tasks.analyse(row.id)
    return Pool.objects.get(pk=row.id)


def _reports(now: float, rng: random.Random) -> list[Report]:
    """A report of each machine every hour, then network tests between machines."""
    found = []
    begin = now - (_HOURS + 1) * 3600
    for hour in range(_HOURS):
        at_s = begin + hour * 3600
        is_night = int(at_s % _DAY_S // 3600) in _NIGHT
        for place, (name, usual) in enumerate(MACHINES.items()):
            kind = usual
            if usual in ("quiet", "none") and is_night:
                kind = "steal"
            elif usual == "steal" and rng.random() < 0.03:
                kind = "quiet"
            at = at_s + place
            host = _PLACEMENTS[place % len(_PLACEMENTS)]
            found.append(build_report(name, kind, at, rng, seconds=30, cpus=1, **host))
    names = [n for n, kind in MACHINES.items() if kind in ("quiet", "none", "steal")]
    bad = {n for n in names if MACHINES[n] == "steal"}
    for caller in names:
        found.append(build_calls(caller, [n for n in names if n != caller], bad, now - 600, rng))
    return found
