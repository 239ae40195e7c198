"""Build a detector from a spec ``KIND:TARGET?name=value&...``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from pytest_factorfair.detection.protocol import Detector
from pytest_factorfair.errors import InputError, MissingExtraError, nearest
from pytest_factorfair.models.spec import options_in

_NEEDED = {"images": ("cv2", "onnxruntime", "PIL"), "transformers": ("torch", "transformers")}
_DEVICES = ("auto", "cpu", "cuda")
# By kind, the module whose ``build(spec) -> Detector`` creates the detector; imported only if it is used.
_KINDS = {
    "clip": "clip",
    "deepface": "deepface",
    "fairface": "fairface",
    "litellm": "vision",
    "python": "custom",
    "sim": "simulated",
    "transformers": "vision",
}


@dataclass(frozen=True, slots=True)
class DetectorSpec:
    """The spec of a detector as typed (``text``), and its parts; "?" starts the options.

    ``defaults`` are the run's defaults for options. ``asked`` is false if all detections come from the store,
    so that the detector needs no key.
    """

    text: str
    kind: str
    target: str
    options: Mapping[str, str]
    defaults: Mapping[str, str] = field(default_factory=dict)
    asked: bool = True

    def wrong(self, problem: str) -> InputError:
        return InputError(f"detector '{self.text}': {problem}")

    def allow(self, *names: str) -> None:
        """Raise InputError if the spec has an option other than these."""
        for name in self.options:
            if name not in names:
                raise self.wrong(f"'{self.kind}' has no option '{name}'{nearest(name, names)}")

    def need(self, *extras: str, modules: Sequence[str] = ()) -> None:
        """Raise MissingExtraError if one of the extras' ``modules``, by default all, is not installed."""
        for extra in extras:
            if not all(map(find_spec, modules or _NEEDED[extra])):
                raise MissingExtraError(f"detector '{self.text}'", extra)

    def choice(self, name: str, offered: Iterable[str]) -> str:
        """The value of an option with fixed choices; the default is the run's, otherwise the first choice."""
        choices = tuple(offered)
        value = self.options.get(name, self.defaults.get(name, choices[0]))
        if value not in choices:
            raise self.wrong(f"{name} cannot be '{value}'{nearest(value, choices)}")
        return value

    def number(self, name: str, default: float, *, least: float = 0, most: float = 1) -> float:
        """The value of an option that is a number from ``least`` to ``most``, both included."""
        try:
            value = float(self.options.get(name, default))
        except ValueError:
            value = float("nan")
        if not least <= value <= most:
            raise self.wrong(
                f"{name} must be a number from {least:g} to {most:g}, not '{self.options[name]}'"
            )
        return value

    def device(self) -> str:
        """The value of the option ``device``: auto, cpu, cuda or cuda:NUMBER."""
        name, colon, number = self.options.get("device", "auto").partition(":")
        if name not in _DEVICES or (colon and (name != "cuda" or not number.isdigit())):
            raise self.wrong(f"device must be auto, cpu, cuda or cuda:NUMBER, not '{self.options['device']}'")
        return name + colon + number

    def file(self, path: str) -> Path:
        """An existing file; the path is relative to the folder in which pytest was started."""
        expanded = Path(path).expanduser()
        if not path or not expanded.is_file():
            raise self.wrong(f"there is no file '{path}' in {Path.cwd()}")
        return expanded


Factory = Callable[[DetectorSpec], Detector]


def parse(text: str, defaults: Mapping[str, str] | None = None) -> DetectorSpec:
    """Parse a spec.

    Raises:
        InputError: an option is not ``name=value``, or is given twice.
    """
    head, _, query = text.partition("?")
    kind, _, target = head.partition(":")
    return DetectorSpec(text, kind, target, options_in(query, f"detector '{text}'"), defaults or {})


def build(
    text: str,
    *,
    custom: Mapping[str, Factory],
    defaults: Mapping[str, str] | None = None,
    asked: bool = True,
) -> Detector:
    """Build the detector of a spec, validated as far as possible without a heavy import.

    ``custom`` maps kinds ("acme" for "acme:large") or full specs to users' factories, which take precedence
    over built-in kinds. The id of a model gives a detector that asks this model. ``defaults`` are values for
    options that the detector has and the user did not give. ``asked`` is false if all detections come from
    the store.

    Raises:
        InputError: no detector has that name, or its file or options are wrong.
        MissingExtraError: it needs an optional dependency that is not installed.
    """
    spec = replace(parse(text, defaults), asked=asked)
    if factory := custom.get(text) or custom.get(spec.kind):
        try:
            made: object = factory(spec)
        except InputError:
            raise
        except Exception as error:  # a user's factory may raise anything
            raise spec.wrong(f"its factory raised {type(error).__name__}: {error}") from error
        coerced: Detector = import_module(f"{__package__}.custom").coerce(made, spec)
        return coerced
    is_id = "/" in spec.kind or "base_url" in spec.options
    if is_id or spec.kind in _KINDS:
        module = import_module(f"pytest_factorfair.detection.{'vision' if is_id else _KINDS[spec.kind]}")
        built: Detector = module.build(spec)
        return built
    kinds = {*_KINDS, *custom}
    if spec.kind in {"replay", "diffusers", "images"}:
        raise spec.wrong(f"that is a model, not a detector; detectors: {', '.join(sorted(kinds))}")
    raise spec.wrong(f"unknown detector '{spec.kind}'{nearest(spec.kind, kinds)}")
