"""report.html: one file that needs no network, from the verdict down to single replies."""

from pytest_factorfair.reports.html.page import to_html

__all__ = ["to_html"]
