"""Method notes: how each table is made, its readings, and what its source contradicts.

The long form of each note is a page in ``docs/methods``.
"""

from analysis.reporting.registry import TABLE_BY_ID

# Of every table of a survey.
COMMON_NOTE = (
    "A name counts when it answers with an address or an alias. Addresses are matched against the "
    "providers' published ranges by longest prefix; the whole CNAME chain is followed."
)


def method_note(table_id: str) -> str:
    """The note of one table; raise ``KeyError`` for a table that is not known."""
    return f"{TABLE_BY_ID[table_id].note} {COMMON_NOTE}"
