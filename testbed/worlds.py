"""Worlds: a description, a scale and a seed become concrete zones whose truth is known."""

import random
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from core.errors import BadInput
from testbed.addresses import COMPUTE, EDGE, AddressBook, Blocks, Dealer, Truth, invent_blocks
from testbed.apportion import apportion, draw_counts
from testbed.fronts import FrontMaker
from testbed.names import LabelMaker, invent_domains, rank_positions
from testbed.plan import DomainPlan, Spec, plan_provider, scaled

WORLDS_DIR = Path(__file__).resolve().parent.parent / "fixtures" / "worlds"


@dataclass(slots=True)
class Name:
    """One name: its CNAME chain, its addresses, and the features that it was built with."""

    host: str
    chain: tuple[str, ...]
    addresses: tuple[str, ...]
    features: tuple[tuple[str, str], ...] = ()  # (provider, label)
    hidden: bool = False


@dataclass(slots=True)
class Zone:
    """One listed domain."""

    domain: str
    rank: int
    names: list[Name] = field(default_factory=list)
    servers: tuple[str, ...] = ()
    transfer: str = "refused"  # refused | allowed | cut
    wildcard: str = ""  # "" | static | rotating | cname | second
    wildcard_addresses: tuple[str, ...] = ()
    fault: str = ""  # "" | silent | servfail


@dataclass(slots=True)
class World:
    """A concrete world."""

    id: str
    name: str
    scale: Fraction
    seed: int
    date: str
    zones: list[Zone]
    hosts: dict[str, str]  # name server host -> address
    truth: dict[str, Truth]
    blocks: Blocks
    faults: dict[str, float]
    notes: list[str]


def load_world(name: str) -> Spec:
    """A world's description by name or path; raises ``BadInput`` that lists the known ones."""
    path = Path(name) if name.endswith(".toml") else WORLDS_DIR / f"{name}.toml"
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in WORLDS_DIR.glob("*.toml")))
        raise BadInput(f"there is no world {name!r}; known worlds: {known}", field="world")
    try:
        return tomllib.loads(path.read_text())
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{path.name}: {error}", field="world") from error


@dataclass(frozen=True, slots=True)
class Making:
    """What makes a world concrete; ``domains`` in rank order replace invented ones."""

    scale: Fraction = Fraction(1, 1000)
    seed: int = 1
    labels: tuple[str, ...] = ("www", "mail", "ftp", "m", "blog", "dev", "api", "shop")
    domains: tuple[str, ...] = ()
    blocks: Blocks | None = None


def build_world(spec: Spec, making: Making) -> World:
    """Build the world; the same arguments give the same world."""
    if not 0 < making.scale <= 1:
        raise BadInput("must be more than 0 and at most 1", field="scale")
    return _Builder(spec, making).build()


class _Builder:
    """Builds one world, step by step, from one seeded generator."""

    def __init__(self, spec: Spec, making: Making) -> None:
        self.spec = spec
        self.making = making
        self.scale = making.scale
        n_cloud = sum(spec["domains"].values())
        per_cloud = 1 + spec["list"]["background_per_cloud_domain"]
        if making.domains:
            self.scale = Fraction(len(making.domains)) / Fraction(n_cloud * per_cloud)
        self.rng = random.Random(f"{spec['name']}/{making.scale}/{making.seed}")
        regions = {p: [r["code"] for r in spec[p]["regions"]] for p in ("aws", "azure")}
        self.book = AddressBook(making.blocks or invent_blocks(regions), self.rng)
        self.labels = LabelMaker(making.labels, self.rng)
        self.n_total = len(making.domains) or round(n_cloud * self.scale * per_cloud)

    def build(self) -> World:
        classes = self._classes()
        zones = self._zones(classes)
        self._fill_clouds(zones, classes)
        self._add_others(zones, classes)
        self._label(zones)
        self._add_hidden(zones)
        background = self._background(len(zones))
        every = self._rank(zones, background)
        hosts = self._serve(every)
        self._fault(every, background)
        return World(
            id=f"{self.spec['name']}@{self.making.scale}#{self.making.seed}",
            name=self.spec["name"],
            scale=self.making.scale,
            seed=self.making.seed,
            date=str(self.spec["date"]),
            zones=every,
            hosts=hosts,
            truth=self.book.truth,
            blocks=self.book.blocks,
            faults=self.spec["faults"],
            notes=self.book.notes,
        )

    def _classes(self) -> list[str]:
        spec = self.spec["domains"]
        total = max(2, scaled(sum(spec.values()), self.scale))
        parts = apportion(min(total, self.n_total), list(spec.values()))
        return [c for c, n in zip(spec, parts, strict=True) for _ in range(n)]

    def _zones(self, classes: list[str]) -> list[Zone]:
        return [Zone("", 0) for _ in classes]

    def _fill_clouds(self, zones: list[Zone], classes: list[str]) -> None:
        """Deal the providers' plans to the domains of the right class."""
        names = self.spec["subdomains"]
        both = names["aws_azure"]
        for provider in ("aws", "azure"):
            own = [i for i, c in enumerate(classes) if provider in c]
            # Domains without other hosting first in no case: the order is random.
            self.rng.shuffle(own)
            total = names[f"{provider}_only"] + names[f"{provider}_other"] + both
            plans = plan_provider(
                self.spec[provider], len(own), scaled(total, self.scale), self.rng
            )
            maker = FrontMaker(provider, self.spec[provider], self.scale, self.book, self.rng)
            for i, plan in zip(own, plans, strict=False):
                zones[i].names += self._names(plan, maker)
        self._mix_clouds(zones, classes, max(1, scaled(both, self.scale)))

    def _names(self, plan: DomainPlan, maker: FrontMaker) -> list[Name]:
        made = []
        for name in plan.names:
            chain, addresses = maker.make(name)
            features = () if name.feature == "unclassified" else ((maker.provider, name.feature),)
            made.append(Name("", chain, addresses, features))
        return made

    def _mix_clouds(self, zones: list[Zone], classes: list[str], wanted: int) -> None:
        """Let some names stand in both clouds: a direct name of each becomes one."""
        for zone in (z for z, c in zip(zones, classes, strict=True) if c == "aws_azure"):
            vm = [n for n in zone.names if n.features == (("aws", "vm"),)]
            cs = [n for n in zone.names if n.features == (("azure", "cs"),) and not n.chain]
            if wanted <= 0 or not vm or not cs or len(zone.names) < 3:
                continue
            vm[0].addresses += cs[0].addresses
            vm[0].features += cs[0].features
            zone.names.remove(cs[0])
            wanted -= 1

    def _add_others(self, zones: list[Zone], classes: list[str]) -> None:
        """Names elsewhere, and cloud names that also have an address elsewhere (Table 5)."""
        mean = self.spec["list"]["other_names_mean"]
        for zone, kind in zip(zones, classes, strict=True):
            if not kind.endswith("_only"):
                count = 1 + int(self.rng.expovariate(1 / mean)) if kind != "aws_azure" else 1
                zone.names += [Name("", (), (self.book.other(),)) for _ in range(count)]
        for provider in ("aws", "azure"):
            kind = f"{provider}_other"
            wanted = scaled(self.spec["subdomains"][kind], self.scale)
            allowed = [
                n
                for z, c in zip(zones, classes, strict=True)
                if c in (kind, "aws_azure")
                for n in z.names
                if len({self.book.truth[a].provider for a in n.addresses if a in self.book.truth})
                == 1
                and self.book.truth[n.addresses[0]].provider == provider
            ]
            for name in self.rng.sample(allowed, min(wanted, len(allowed))):
                name.addresses += (self.book.other(),)

    def _add_hidden(self, zones: list[Zone]) -> None:
        share = self.spec["list"]["hidden_share"]
        total = round(sum(len(z.names) for z in zones) * share)
        pool = self.book.pool(
            "aws", self.spec["aws"]["regions"][0]["code"], COMPUTE, total // 4 + 1
        )
        dealer = Dealer(pool)
        # What a transfer shows is found, so only zones that refuse one can hide a name.
        aws = [
            z
            for z in zones
            if z.transfer == "refused" and any(f[0] == "aws" for n in z.names for f in n.features)
        ]
        for _ in range(total if aws else 0):
            name = Name("", (), dealer.deal(1), (("aws", "vm"),), hidden=True)
            self.rng.choice(aws).names.append(name)

    def _label(self, zones: list[Zone]) -> None:
        """Domain names, transferability and labels; large zones must be transferable."""
        invented = invent_domains(self.n_total, self.rng)
        self.invented = list(self.making.domains) or invented
        transferable = self._choose_transferable(zones)
        for i, zone in enumerate(zones):
            zone.transfer = "allowed" if i in transferable else "refused"
        self._apexes = self.spec["list"]["apex_share"]

    def _choose_transferable(self, zones: list[Zone]) -> set[int]:
        limit = len(self.making.labels) // 2
        large = {i for i, z in enumerate(zones) if len(z.names) > limit}
        rest = [i for i in range(len(zones)) if i not in large]
        wanted = round(len(zones) * self.spec["faults"]["transferable_domains"])
        more = self.rng.sample(rest, min(len(rest), max(1, wanted - len(large))))
        return large | set(more)

    def _background(self, n_cloud: int) -> list[Zone]:
        zones = []
        for _ in range(self.n_total - n_cloud):
            count = 1 + int(self.rng.expovariate(1 / 4))
            names = [Name("", (), (self.book.other(),)) for _ in range(count)]
            zones.append(Zone("", 0, names))
        return zones

    def _rank(self, cloud: list[Zone], background: list[Zone]) -> list[Zone]:
        """Give ranks by the published skew, then domain names and labels in rank order."""
        quarters = self.spec["list"]["rank_quarters"]
        positions = rank_positions(len(cloud), self.n_total, quarters, self.rng)
        every: list[Zone | None] = [None] * self.n_total
        mixed = list(cloud)
        self.rng.shuffle(mixed)
        for position, zone in zip(positions, mixed, strict=True):
            every[position] = zone
        spare = iter(background)
        ranked = [zone or next(spare) for zone in every]
        for i, zone in enumerate(ranked):
            zone.rank = i + 1
            zone.domain = self.invented[i]
            self._name_hosts(zone)
        return ranked

    def _name_hosts(self, zone: Zone) -> None:
        shown = [n for n in zone.names if not n.hidden]
        self.rng.shuffle(shown)
        apex = self.rng.random() < self._apexes
        hosts = self.labels.hosts(zone.domain, len(shown), apex, zone.transfer == "allowed")
        for name, host in zip(shown, hosts, strict=True):
            name.host = host
        for name in zone.names:
            if name.hidden:
                name.host = f"{self.labels.unguessable()}.{zone.domain}"

    def _serve(self, zones: list[Zone]) -> dict[str, str]:
        """Name servers: operators with hosts in the published places, shared by domains."""
        spec = self.spec["name_servers"]
        dealers = {}
        for place, published in spec["hosts"].items():
            n = max(1, scaled(published, self.scale))
            dealers[place] = self._hosts(place, n)
        hosts: dict[str, str] = {}
        places = apportion(len(zones), list(spec["hosts"].values()))
        order = [p for p, c in zip(spec["hosts"], places, strict=True) for _ in range(c)]
        self.rng.shuffle(order)
        counts = draw_counts(len(zones), spec["per_domain"], self.rng)
        for zone, place, count in zip(zones, order, counts, strict=True):
            dealt = dealers[place].deal(count)
            chosen = dict(item.split(" ") for item in dealt)
            hosts |= chosen
            zone.servers = tuple(sorted(chosen))
        return hosts

    def _hosts(self, place: str, n: int) -> Dealer:
        if place == "other":
            addresses = [self.book.other() for _ in range(n)]
        elif place == "cloudfront":
            addresses = self.book.pool("aws", "", EDGE, n)
        else:
            code = self.spec[place]["regions"][0]["code"]
            addresses = self.book.pool(place, code, COMPUTE, n)
        stem = {"cloudfront": "awsdns", "aws": "ec2dns", "azure": "azuredns"}.get(place, "dns")
        return Dealer([f"ns-{i}.{stem}-{i % 97:02d}.net {a}" for i, a in enumerate(addresses)])

    def _fault(self, zones: list[Zone], background: list[Zone]) -> None:
        faults = self.spec["faults"]
        dead = self.rng.sample(background, round(len(background) * faults["dead_background_zones"]))
        for i, zone in enumerate(dead):
            zone.fault = ("silent", "servfail")[i % 2]
        refused = [z for z in zones if z.transfer == "refused" and not z.fault]
        for zone in self.rng.sample(refused, round(len(refused) * faults["cut_transfers"])):
            zone.transfer = "cut"
        wild = self.rng.sample(refused, round(len(zones) * faults["wildcard_zones"]))
        region = self.spec["aws"]["regions"][0]["code"]
        for i, zone in enumerate(wild):
            zone.wildcard = ("static", "rotating", "cname", "second")[i % 4]
            # Every other wildcard points into a cloud, where an unfiltered crawl would count it.
            zone.wildcard_addresses = (
                tuple(self.book.pool("aws", region, COMPUTE, 4))
                if i % 2
                else tuple(self.book.other() for _ in range(4))
            )


def domain_list(world: World) -> Sequence[tuple[int, str]]:
    """(rank, domain) of every zone, in rank order."""
    return [(z.rank, z.domain) for z in world.zones]
