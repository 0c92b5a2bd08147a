"""Figures that the study states in its text."""

from analysis.reporting import paper_figures
from analysis.reporting.tables.marginal_note import MarginalNote, doubt, known_rows
from analysis.reporting.tables.report_table import ReportTable, Tables, rows_of
from core.wording import SMALL, Portion, number


def _figures(tables: Tables) -> str:
    row = rows_of(tables, "text-figures")[0]
    portion = Portion(row["part"], row["whole"], "cloud-using domain", "cloud-using domains")
    return portion.sentence(
        "ranks in the top quarter of the list", "rank in the top quarter of the list"
    )


def _few(tables: Tables) -> MarginalNote | None:
    rows = [r for r in known_rows(tables, "text-figures") if r["whole"]]
    few = [r for r in rows if r["whole"] < SMALL]
    if not few:
        return None
    return doubt(f"{len(few)} of {number(len(rows), 'figure')} count fewer than {SMALL} things.")


TABLES = (
    ReportTable(
        "text-figures",
        paper_figures.text_figures,
        _figures,
        "Figures of the study's text, each as a part of a whole. “10 % of EC2 domains with a "
        "virtual machine have three or more” counts distinct machines over a domain. The text's "
        "“nearly 80 %” of subdomains with 3 to 10 name servers reads 82 % in its plot. The last "
        "quarter is by rank, up to the greatest rank of the list.",
        shares=(("part", "share", "whole"),),
        notes=(_few,),
    ),
)
