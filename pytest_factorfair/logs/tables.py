"""Replies in JSON lines, JSON arrays or CSV files with named columns: ``prompt`` and ``text``, or as named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Annotated, Any, get_args

from pydantic import ConfigDict, Field

from pytest_factorfair.domain.exchange import Finish
from pytest_factorfair.errors import InputError, nearest
from pytest_factorfair.logs.items import item_in
from pytest_factorfair.logs.log import Log, LoggedReply
from pytest_factorfair.logs.messages import Conversation, conversation, plain, settings_in
from pytest_factorfair.logs.reading import Entry, Source, sha256
from pytest_factorfair.models.arguments import AcceptedValues, Arguments, check_line
from pytest_factorfair.redaction import fit
