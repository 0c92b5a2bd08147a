"""Front ends: from a planned feature to a CNAME chain and addresses."""

import random
from fractions import Fraction
from typing import Any

from testbed.addresses import COMPUTE, EDGE, AddressBook, Dealer
from testbed.apportion import apportion
from testbed.plan import NamePlan, scaled

# Features whose published instance counts are distributed per name (Figure 10).
_COUNTED = {"beanstalk": "elb", "heroku-elb": "elb"}


class FrontMaker:
    """Makes the front ends of one provider; pools are shared by names, as published."""

    def __init__(
        self,
        provider: str,
        spec: dict[str, Any],
        scale: Fraction,
        book: AddressBook,
        rng: random.Random,
    ) -> None:
        self.provider = provider
        self.rng = rng
        self.number = 0
        self.counts = spec["instances"]
        self.extremes = list(self.counts.get("extremes", [])) if scale >= Fraction(1, 250) else []
        self.dealers: dict[tuple[str, str], Dealer] = {}
        codes = [r["code"] for r in spec["regions"]]
        weights = [r["subdomains"] for r in spec["regions"]]
        for feature in spec["features"]:
            total = max(len(codes), scaled(feature["instances"], scale))
            for code, size in zip(codes, apportion(total, weights), strict=True):
                # A pool holds as many as one name can need, so that no name gets too few.
                wide = code == codes[0] and self._of(feature["label"]) == "elb"
                need = max(self.extremes) if wide and self.extremes else 10
                pool = book.pool(provider, code, COMPUTE, max(size, need))
                self.dealers[feature["label"], code] = Dealer(pool)
        if provider == "aws":
            edge = max(4, scaled(2000, scale))
            self.edge = Dealer(book.pool("aws", "", EDGE, edge))

    def _of(self, feature: str) -> str:
        return _COUNTED.get(feature, feature)

    def make(self, plan: NamePlan) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """(CNAME chain, addresses) of one name."""
        self.number += 1
        count = max(self._count(plan), len(plan.regions))
        shares = apportion(count, [1] * len(plan.regions))
        addresses: list[str] = []
        for code, share in zip(plan.regions, shares, strict=True):
            addresses += self.dealers[plan.feature, code].deal(max(1, share))
        if plan.feature == "cloudfront":
            addresses += self.edge.deal(1 + self.number % 3)
        return self._chain(plan.feature, plan.regions[0]), tuple(dict.fromkeys(addresses))

    def _count(self, plan: NamePlan) -> int:
        feature = self._of(plan.feature)
        if feature == "elb" and self.extremes and plan.regions == (self._first_region(),):
            return int(self.extremes.pop())
        weights = self.counts.get(feature)
        if not weights:
            return 1
        return int(self.rng.choices(range(1, len(weights) + 1), weights)[0])

    def _first_region(self) -> str:
        return next(iter(self.dealers))[1]

    def _chain(self, feature: str, region: str) -> tuple[str, ...]:
        n = self.number
        balancer = f"lb-{n}.{region}.elb.amazonaws.com"
        chains: dict[str, tuple[str, ...]] = {
            "vm": (),
            "elb": (balancer,),
            "beanstalk": (f"env-{n}.elasticbeanstalk.com", balancer),
            "heroku-elb": (f"app-{n}.herokussl.com", balancer),
            # A third of Heroku's names share this one target (section 4.4.1).
            "heroku": ("proxy.heroku.com",) if n % 3 == 0 else (f"app-{n}.herokuapp.com",),
            "cloudfront": (f"d{n}.cloudfront.net",),
            "cs": () if n % 2 else (f"svc-{n % 997}.cloudapp.net",),
            "tm": (f"tm-{n}.trafficmanager.net",),
            "cdn": (f"az{n}.vo.msecnd.net",),
        }
        return chains.get(feature, (f"host-{n}.{self.provider}-tenant.net",))
