"""Audits: from a finished survey, a policy and perhaps a campaign to a report.

Takes a survey of the store, gives an ``AuditReport``; ``records`` asks the questions that a survey
does not ask (CAA, DS, MX). Imports ``audits``, ``lake``, ``tasks.resolution`` and the store.
"""
