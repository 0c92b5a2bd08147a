"""Surveys: list, plan, reports, map, domains, evidence, comparisons."""
