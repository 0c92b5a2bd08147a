"""Vantage points inside the emulated cloud of the demo, from which zones of surveys are measured.

They are synthetic and labelled so; their accounts name the same zones differently.
"""

from cartography.ranges.regions import region as region_of
from tasks.campaigns import synthetic
from testbed.campaigns.zone_probes import EmulatedCloud
from testbed.truth.observations import zone_rows
from testbed.world.model import World
from webapp.store.models import VantagePoint

REGION, PROVIDER = "us-east-1", "aws"
ACCOUNTS = ("first", "second")


def store_vantages(world: World) -> int:
    """Store the vantage points and the true zones that their round trips follow."""
    truth = {r["address"]: (r["region"], r["zone"]) for r in zone_rows(world)}
    synthetic.save_emulated_zones(truth)
    zones = {pair for pair in truth.values() if pair[0] == REGION}
    place = region_of(PROVIDER, REGION)
    rows = [
        VantagePoint(
            name=p.name,
            source=VantagePoint.Source.SYNTHETIC,
            state=VantagePoint.State.JOINED,
            city=place.place if place else "",
            country=place.country if place else "",
            lat=place.latitude if place else None,
            lon=place.longitude if place else None,
            detail={
                "cloud": {
                    "provider": PROVIDER,
                    "region": p.region,
                    "zone": p.label,
                    "account": p.account,
                },
                synthetic.ZONE: p.zone,
            },
        )
        for p in EmulatedCloud(zones, ACCOUNTS).probes()
    ]
    VantagePoint.objects.bulk_create(rows, ignore_conflicts=True)
    return len(rows)
