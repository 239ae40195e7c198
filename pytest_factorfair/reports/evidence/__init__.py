"""Evidence: a finished report in the formats that other tools read, with the digest of every file."""

from pytest_factorfair.reports.evidence.consistency import check
from pytest_factorfair.reports.evidence.folder import Evidence, Publication, evidence

__all__ = ["Evidence", "Publication", "check", "evidence"]
