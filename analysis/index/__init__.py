"""The index of a survey: domains and names with their evidence, for search and comparison.

Takes the lake's parts of a survey, gives rows of domains and names, their profiles, search results
and differences. May import ``analysis.deployment``, ``analysis.reporting``, ``core`` and ``lake``.
Example::

    page = domain_page(Path("var/lake"), "spring-2013", "example.com")
"""
