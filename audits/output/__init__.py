"""Formats of a report: JSON, SARIF 2.1.0, JUnit XML, GitLab Code Quality, Markdown and CSV.

Takes an ``AuditReport``, gives text. ``audits.output.registry`` names the formats.
"""
