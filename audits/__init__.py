"""Audits: rules of a policy over what a survey and a campaign observed, as findings with evidence.

Takes lake tables (``audits.facts``) and a policy (``audits.policy``), gives an ``AuditReport``
(``audits.evaluation``) in several formats (``audits.output``). May import ``analysis``, ``lake``
and ``core``; knows neither Django nor Celery. Example::

    report = evaluate(read_facts(lake, "shop", shards), policy, Context(now=now))
"""

# Raised whenever a rule judges differently: a report names the rule set that it was made with.
RULE_SET_VERSION = 1
