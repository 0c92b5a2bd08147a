"""The report tables by subject: builder, headline, note on method and checks of each.

Takes a connection prepared by ``analysis.reporting.survey_tables``; every module has ``TABLES``,
which ``analysis.reporting.registry`` finds. May import ``core`` and ``analysis.deployment``.
Example: ``registry.TABLE_BY_ID["zone-usage"].headline(tables)``.
"""
