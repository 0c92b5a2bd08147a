"""The grade of one domain: points by rule, letters by points, and nothing for what is unknown."""

from audits.findings import Judgement, Outcome
from audits.grades import LETTERS, SEVERITIES, card_policy, grade


def judged(**outcomes: str) -> list[tuple[str, Judgement]]:
    return [
        (rule.replace("_", "-"), Judgement("shop.example", Outcome(outcome), "said", n=3))
        for rule, outcome in outcomes.items()
    ]


def test_it_works():
    found = grade(judged(single_region="finding", single_dns_operator="finding", no_ipv6="pass"))
    assert (found.letter, found.points, found.decided, found.changes) == ("C", 63, 3, 2)
    assert [r.rule for r in found.results] == ["single-region", "single-dns-operator", "no-ipv6"]


def test_what_is_not_judged_is_no_pass():
    found = grade(judged(single_region="pass", no_caa="not-judged", no_dnssec="not-judged"))
    assert (found.letter, found.decided) == ("", 1)
    mixed = [*judged(dangling_name="pass"), *judged(dangling_name="not-judged")]
    assert grade(mixed).results[0].outcome == "not-judged"


def test_many_findings_of_a_rule_cost_once():
    once = judged(dangling_name="finding", no_ipv6="pass", single_region="pass")
    assert grade([*once, *judged(dangling_name="finding")]).points == grade(once).points == 88


def test_each_rule_of_the_card_is_applied_and_the_worst_is_an_e():
    assert set(card_policy().rules) == set(SEVERITIES)
    worst = grade((rule, Judgement("a", Outcome.FINDING, "")) for rule in SEVERITIES)
    assert (worst.letter, worst.points) == ("E", 0)
    assert [letter for letter, _ in LETTERS] == ["A", "B", "C", "D"]
