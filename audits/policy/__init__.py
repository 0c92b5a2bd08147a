"""Policies: which rules an audit applies, with severities, thresholds and suppressions.

Takes TOML or JSON, gives a ``Policy``; raises ``BadInput`` naming field and line. Imports
``audits.rules`` for the parameters of each rule.
"""
