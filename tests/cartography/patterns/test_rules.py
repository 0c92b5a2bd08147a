from datetime import date

import pytest

from cartography.patterns import label_fronts, load_rules, read_rules
from cartography.patterns.fronts import own_matcher
from core.errors import BadInput
from core.records import Answer, Front, Placement, Record
from core.statuses import AddressKind, DnsStatus

DAY = date(2013, 3, 29)
CLOUD, CDN = AddressKind.CLOUD, AddressKind.CDN


def answer_of(text):
    """``name type data; name type data`` as one answer about the first name."""
    records = [Record(*part.split()[:2], 60, part.split()[2]) for part in text.split("; ")]
    return Answer(records[0].name, "A", DnsStatus.NOERROR, tuple(records))


def place(address, provider="aws", service="EC2", kind=CLOUD, region="here"):
    return Placement(
        address,
        provider,
        service,
        (service,),
        region,
        prefix="198.51.100.0/24",
        as_of=DAY,
        kind=kind,
    )


def fronts_of(text, *places):
    return label_fronts([answer_of(text)], {p.address: p for p in places})


def labels_of(text, *places):
    return {(f.provider, f.label): f.instance for f in fronts_of(text, *places)}


EC2 = place("198.51.100.1")
CLOUDFRONT = place("198.51.100.9", service="CLOUDFRONT", kind=CDN)
AZURE = place("198.51.100.2", "azure", "AzureCloud")
GOOGLE = place("198.51.100.3", "google", "Google Cloud")


def test_it_works():
    assert fronts_of("shop.example.com A 198.51.100.1", EC2) == (
        Front(
            name="shop.example.com",
            provider="aws",
            label="vm",
            rule="aws-vm",
            evidence="198.51.100.1 in prefix 198.51.100.0/24 (EC2, table as of 2013-03-29)",
            instance="198.51.100.1",
        ),
    )


def places_of(rule, answer):
    """The example's addresses as the rule wants them: none where the name alone is enough."""
    if rule.by_name or rule.match == "network":
        return {}
    service = rule.values[0] if rule.match == "service" else "any"
    kind = rule.kind or (CDN if rule.match == "service" else CLOUD)
    region = None if rule.scope == "global" else "here"
    return {
        a: place(a, rule.provider, service, AddressKind(kind), region) for a in answer.addresses
    }


@pytest.mark.parametrize("rule", load_rules(), ids=lambda rule: rule.id)
def test_every_rule_labels_its_example_and_no_other_does(rule):
    answer = answer_of(rule.example)

    found = {front.rule: front for front in label_fronts([answer], places_of(rule, answer))}

    assert set(found) == {rule.id, *rule.also}
    assert (found[rule.id].provider, found[rule.id].label) == (rule.provider, rule.label)
    assert found[rule.id].name == answer.name
    assert rule.source


@pytest.mark.parametrize(
    "rule", [r for r in load_rules() if r.match == "cname_suffix"], ids=lambda rule: rule.id
)
def test_every_suffix_of_a_rule_is_found_by_itself(rule):
    matcher = own_matcher()
    for value in rule.values:
        for name in (value.replace("*", "eu-west-1"), f"a.b.{value.replace('*', 'eu-west-1')}"):
            found = {matcher.rules[n].id for n in matcher.match_name(name)}
            assert rule.id in found
        assert not matcher.suffixes.match(f"x{value.replace('*', 'y')}".replace(".", "-"))


def test_no_suffix_lies_below_another_of_its_rule():
    for rule in load_rules():
        if rule.match == "cname_suffix":
            assert not [v for v in rule.values for w in rule.values if v.endswith("." + w)], rule.id


def test_ids_and_examples_are_not_repeated():
    rules = load_rules()

    assert len({rule.example for rule in rules}) == len(rules) == len({r.id for r in rules})


def test_a_cname_is_the_evidence():
    text = "www.example.com CNAME lb.us-east-1.elb.amazonaws.com; lb A 198.51.100.1"

    (front,) = fronts_of(text, EC2)
    assert (front.label, front.instance) == ("elb", "198.51.100.1")
    assert front.evidence == "CNAME lb.us-east-1.elb.amazonaws.com (record 1 of the A answer)"


@pytest.mark.parametrize(
    ("cnames", "expected"),
    [
        ("", {"vm"}),
        ("x.elb.amazonaws.com", {"elb"}),
        ("X.ELB.AmazonAWS.com.", {"elb"}),
        ("elb.amazonaws.com.example.net", set()),
        ("notelb.amazonaws.com", set()),
        ("app.elasticbeanstalk.com", {"beanstalk"}),
        ("app.elasticbeanstalk.com x.elb.amazonaws.com", {"beanstalk", "elb"}),
        ("proxy.heroku.com", {"heroku"}),
        ("app.herokuapp.com", {"heroku"}),
        ("app.herokucom.example.net", {"heroku"}),
        ("app.herokussl.com x.elb.amazonaws.com", {"heroku-elb", "elb"}),
        ("elsewhere.example.net", set()),
    ],
)
def test_labels_on_ec2(cnames, expected):
    chain = ["www.example.com", *cnames.split()]
    text = "".join(f"{a} CNAME {b}; " for a, b in zip(chain, chain[1:], strict=False))

    assert {label for _, label in labels_of(f"{text}{chain[-1]} A 198.51.100.1", EC2)} == expected


def test_cloudfront_is_told_by_its_addresses():
    alone = "cdn.example.com A 198.51.100.9"
    behind = "cdn.example.com CNAME d1.cloudfront.net; d1.cloudfront.net A 198.51.100.9"

    assert labels_of(alone, CLOUDFRONT) == {("aws", "cloudfront"): "198.51.100.9"}
    assert labels_of(behind, CLOUDFRONT) == {("aws", "cloudfront"): "198.51.100.9"}


def test_a_name_may_carry_several_labels_and_only_their_own_addresses():
    text = "www.example.com A 198.51.100.1; www.example.com A 198.51.100.9"

    assert labels_of(text, EC2, CLOUDFRONT) == {
        ("aws", "vm"): "198.51.100.1",
        ("aws", "cloudfront"): "198.51.100.9",
    }


@pytest.mark.parametrize(
    ("cname", "label", "instance"),
    [
        ("", "cs", "198.51.100.2"),
        ("app.cloudapp.net", "cs", "app.cloudapp.net"),
        ("www.trafficmanager.net", "tm", "www.trafficmanager.net"),
        ("az1.vo.msecnd.net", "cdn", "az1.vo.msecnd.net"),
    ],
)
def test_labels_on_azure(cname, label, instance):
    chain = f"www.example.com CNAME {cname}; {cname}" if cname else "www.example.com"

    assert labels_of(f"{chain} A 198.51.100.2", AZURE) == {("azure", label): instance}


def test_traffic_manager_in_front_of_a_cloud_service_has_both_labels():
    text = (
        "www.example.com CNAME www.trafficmanager.net; www.trafficmanager.net CNAME a.cloudapp.net;"
        " a.cloudapp.net A 198.51.100.2"
    )

    assert set(labels_of(text, AZURE)) == {("azure", "tm"), ("azure", "cs")}


def test_a_machine_on_google():
    assert set(labels_of("app.example.com A 198.51.100.3", GOOGLE)) == {("google", "vm")}


def test_a_global_address_of_google_is_a_load_balancer():
    anycast = place("198.51.100.3", "google", "Google Cloud", region=None)

    assert set(labels_of("app.example.com A 198.51.100.3", anycast)) == {
        ("google", "load-balancing")
    }


def test_todays_platforms_are_told_by_their_names_alone():
    text = (
        "www.example.com CNAME shop.azurefd.net; shop.azurefd.net CNAME x.t-msedge.net;"
        " x.t-msedge.net A 192.0.2.1"
    )

    assert [(f.label, f.instance) for f in fronts_of(text)] == [
        ("front-door", "shop.azurefd.net"),
        ("front-door", "x.t-msedge.net"),
    ]


def test_the_address_tells_more_than_the_name():
    text = "www.example.com CNAME x.map.fastly.net; x.map.fastly.net A 198.51.100.7"
    known = place("198.51.100.7", "fastly", "CDN", CDN)

    assert [f.rule for f in fronts_of(text, known)] == ["fastly-address"]
    assert [f.rule for f in fronts_of(text)] == ["fastly-name"]


def test_published_addresses_of_a_platform_are_evidence():
    (front,) = fronts_of("example.com A 185.199.109.153")

    assert (front.provider, front.label, front.instance) == ("github", "pages", "185.199.109.153")
    assert fronts_of("example.com A 185.199.109.154") == ()
    assert [f.rule for f in fronts_of("example.com A 76.76.21.98")] == ["vercel-address"]
    assert [f.rule for f in fronts_of("example.com AAAA 2606:50c0:8003::153")] == [
        "github-pages-address"
    ]


def test_providers_are_labelled_side_by_side():
    text = "app.example.com A 198.51.100.1; app.example.com A 198.51.100.2"

    assert set(labels_of(text, EC2, AZURE)) == {("aws", "vm"), ("azure", "cs")}


def test_a_providers_cname_without_its_address_says_nothing():
    text = "www.example.com CNAME x.elb.amazonaws.com; x.elb.amazonaws.com A 198.51.100.2"

    assert labels_of(text, AZURE) == {}


def test_addresses_outside_the_cloud_have_no_label():
    own = place("8.8.8.8", "google", "Google", AddressKind.CORPORATE)

    assert labels_of("dns.example.com A 8.8.8.8", own) == {}
    assert labels_of("x.example.com A 192.0.2.1", Placement("192.0.2.1")) == {}
    assert labels_of("x.example.com A 192.0.2.1") == {}
    assert label_fronts([], {}) == ()


def test_both_address_types_count_together():
    old = answer_of("www.example.com A 198.51.100.1")
    new = Answer(
        "www.example.com",
        "AAAA",
        DnsStatus.NOERROR,
        (Record("www.example.com", "AAAA", 60, "2001:db8::1"),),
    )
    places = {"198.51.100.1": EC2, "2001:db8::1": place("2001:db8::1")}

    found = label_fronts([old, new, old], places)
    assert [f.instance for f in found] == ["198.51.100.1", "2001:db8::1"]


GOOD = {
    "id": "a",
    "provider": "aws",
    "label": "vm",
    "match": "direct",
    "instance": "address",
    "source": "s",
    "example": "e",
}


def toml(**changes):
    row = {k: v for k, v in (GOOD | changes).items() if v is not None}
    return "[[rule]]\n" + "\n".join(f'{k} = "{v}"' for k, v in row.items())


def test_a_sound_rule_is_read():
    assert [rule.id for rule in read_rules(toml())] == ["a"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[rule", "not TOML"),
        (toml(match="telepathy"), "pattern a: 'telepathy'"),
        (toml(instance="soul"), "'soul' is not known"),
        (toml(label=None), "pattern a: a field is missing"),
        (toml(colour="red"), "pattern a: a field is missing or unknown"),
        (toml(needs="b"), "pattern a: it refers to an unknown rule"),
        (toml(match="service"), "pattern a: values are for"),
        (toml() + "\nvalues = ['x.net']", "pattern a: values are for"),
        (toml(match="cname_suffix") + "\nvalues = ['X.net']", "'X.net' is not a suffix"),
        (toml(match="cname_suffix") + "\nvalues = ['net']", "'net' is not a suffix"),
        (toml(match="cname_suffix") + "\nvalues = ['a.*.net']", "'a.*.net' is not a suffix"),
        (toml(match="network") + "\nvalues = ['192.0.2.0/23']", "neither an address nor"),
        (toml(match="network") + "\nvalues = ['192.0.2']", "'192.0.2' is not a network"),
        (toml() + "\nby_name = true", "a rule by name counts"),
        (toml() + "\nclaimable = 'yes'", "claimable is of the wrong type"),
        (toml(kind="rain"), "'rain' is not known"),
        (toml() + "\n" + toml(), "two patterns have the same id"),
    ],
)
def test_a_rule_that_cannot_work_is_refused(text, message):
    with pytest.raises(BadInput) as caught:
        read_rules(text)

    assert message in str(caught.value)
