"""From records to what people read: the summary, tables, files, and the self-contained HTML report."""

from vlassess.report.comparison import render_comparison
from vlassess.report.comparison_page import write_comparison
from vlassess.report.exports import summary_csv, summary_json
from vlassess.report.formats import FORMATS
from vlassess.report.html import write_report
from vlassess.report.rows import attempt_rows
from vlassess.report.summary import summarise
from vlassess.report.tables import render_table

__all__ = [
    "FORMATS",
    "attempt_rows",
    "render_comparison",
    "render_table",
    "summarise",
    "summary_csv",
    "summary_json",
    "write_comparison",
    "write_report",
]
