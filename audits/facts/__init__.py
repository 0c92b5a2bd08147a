"""Facts: aggregates of the lake tables of a survey for each domain, by DuckDB.

Takes a lake folder and a survey, gives one ``DomainFacts`` per listed domain. Imports ``analysis``
for the definitions of cloud and region, ``lake`` for the tables.
"""
