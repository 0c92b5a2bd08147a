"""Rules: each decides about one domain from its facts.

A rule is a ``Rule`` with an id in kebab-case, a model of its parameters and a function that takes
``DomainFacts``, ``Context`` and parameters and returns judgements. ``audits.rules.registry`` lists
them. Imports ``audits.facts`` and ``audits.findings``.
"""
