"""Groups by attribute, as tens of thousands of answers have them and some dozens of mappings hold them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NoReturn, Self, TypeVar

V = TypeVar("V")


class Fixed(dict[str, V]):
    """A dict that cannot be changed, as others hold it too; JSON, pickle and copy take it for what it is."""

    __slots__ = ()

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("this is shared with other answers and cannot be changed: change a copy, dict(...)")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[type[Self], tuple[dict[str, V]]]:
        return type(self), (dict(self),)


@lru_cache(maxsize=4096)
def shared(items: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    """One mapping for all who have the same groups."""
    return Fixed(items)
