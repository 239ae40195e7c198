"""The recommended gates of a run: those that the protocols of its checklists recommend."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pytest_factorfair.domain import Checklist, Gate, Sampling
from pytest_factorfair.errors import InputError
from pytest_factorfair.gates.expression import parse
from pytest_factorfair.protocols.registry import of_checklist

DEFAULT = "default"


def expand(
    texts: Iterable[str], *, checklists: Sequence[Checklist], sampling: Sampling, baseline: bool = False
) -> tuple[Gate, ...]:
    """The gates of a run: each expression parsed, ``default`` replaced by the recommended set, no gate twice.

    ``baseline`` is whether there is a former run to compare with.

    Raises:
        InputError: an expression that does not parse.
    """
    gates = [
        gate
        for text in texts
        for gate in (
            defaults(checklists, sampling, baseline=baseline) if text.strip() == DEFAULT else (parse(text),)
        )
    ]
    return tuple(dict.fromkeys(gates))


def defaults(
    checklists: Sequence[Checklist], sampling: Sampling, *, baseline: bool = False
) -> tuple[Gate, ...]:
    """What ``default`` stands for: see ``recommended`` of each protocol.

    Gates name the checklist where there are several. Image models are judged by what changed since a
    former run.

    Raises:
        InputError: an image checklist without a baseline, or no checklist that has recommended gates.
    """
    gates = []
    for checklist in checklists:
        if checklist.modality == "image" and not baseline:
            raise InputError(
                f"gate 'default': pictures ('{checklist.name}') are judged by what changed since a former "
                "run; give --factorfair-baseline, or gates of your own"
            )
        prefix = (checklist.name,) if len(checklists) > 1 else ()
        for metric, own, bound in of_checklist(checklist).recommended(checklist, sampling, baseline=baseline):
            words = ",".join((*prefix, *own))
            gates.append(parse(f"{metric}[{words}] {bound}" if words else f"{metric} {bound}"))
    if not gates:
        names = ", ".join(f"'{one.name}'" for one in checklists)
        raise InputError(f"gate 'default': nothing is recommended for {names}; give gates of your own")
    return tuple(gates)
