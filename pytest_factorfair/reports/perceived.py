"""What must be said wherever a person reads labels that a detector gave to faces."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_factorfair.domain import Summary


def attribute(name: str, summary: Summary) -> str:
    """An attribute as reports call it: of pictures only the perceived one is known."""
    return f"perceived {name}" if summary.fingerprint.detector else name


def detector_lines(summary: Summary) -> Iterator[str]:
    """Who read the pictures, and what such labels are; nothing in a run of language models."""
    told = summary.fingerprint.detector
    if told:
        # The option is about the four races of statistics; other sets of groups have one mapping each.
        races = f", races by '{told['races']}'" if "races" in told and summary.topics else ""
        yield (
            f"faces were read by the detector {told.get('detector', told)}{races}: its labels say how a face "
            "is perceived, not who anyone is, and it errs"
        )
