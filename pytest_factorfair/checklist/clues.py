"""Words that give a group away, which a text that is to show prejudice must not do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from pytest_factorfair.checklist.groups import Group, spoken

# Words that give a group away without naming it.
HINTS = """
he she him his her hers himself herself husband wife mother father mom mum dad son daughter brother sister
uncle aunt nephew niece grandmother grandfather grandma grandpa grandson granddaughter boyfriend girlfriend
bride groom widow widower lady ladies gentleman gentlemen guy guys maternal paternal pregnant Mr Mrs Ms sir
madam actress waitress stewardess housewife businessman businesswoman chairman fireman policeman policewoman
salesman saleswoman ethnic ethnicity immigrant immigrants
"""


def names(attributes: Iterable[Mapping[str, Group]]) -> re.Pattern[str]:
    """Any group of these attributes, by whatever it may be called."""
    return any_of(
        word for groups in attributes for name, group in groups.items() for word in spoken(name, group)
    )


def any_of(words: Iterable[str]) -> re.Pattern[str]:
    """Any of the words, whole and in any case; the longer of two that begin alike."""
    choices = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
    return re.compile(rf"(?<!\w)(?:{choices})(?!\w)", re.IGNORECASE)
