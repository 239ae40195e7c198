"""Evidence: a finished report in the formats that other tools read, with the digest of every file."""

from pytest_factorfair.exports.evidence.consistency import check
from pytest_factorfair.exports.evidence.folder import Evidence, Publication, evidence

__all__ = ["Evidence", "Publication", "check", "evidence"]
