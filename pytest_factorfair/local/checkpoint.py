"""Folders of checkpoints and pipelines, and GGUF files: validation, a digest of the weights, and loading."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from pytest_factorfair.domain import plural
from pytest_factorfair.errors import FatalModelError, InputError
from pytest_factorfair.local.model import LocalArguments, chosen_device
from pytest_factorfair.models.spec import ModelSpec

HUB_ID = re.compile(r"\w[\w.-]*/\w[\w.-]*")
_WEIGHTS = ".safetensors"
GGUF = ".gguf"
_PICKLED = f"contains no *{_WEIGHTS}; pickled weights are not loaded because they can run code"
_HASHED = (_WEIGHTS, ".json", ".jinja", ".model", ".txt")
_SAMPLES, _SAMPLE = 64, 2**16


def weights(spec: ModelSpec) -> Path | None:
    """The spec's checkpoint folder or GGUF file; None if the spec is the id of a model on the hub.

    Raises:
        InputError: there is neither, or the folder contains no checkpoint or several GGUF files.
    """
    path = Path(spec.target).expanduser()
    if path.suffix == GGUF and path.is_file():
        return path
    folder = _place(spec)
    if folder is None or any(folder.glob(f"*{_WEIGHTS}")):
        if folder:
            _check_index(folder / "config.json", _where(spec), "checkpoint of a model")
        return folder
    files = sorted(folder.glob(f"*{GGUF}"))
    if len(files) > 1:
        names = ", ".join(file.name for file in files)
        raise InputError(f"{_where(spec)} contains several GGUF files ({names}); name one of them")
    if not files:
        _check_index(folder / "config.json", _where(spec), "checkpoint of a model")
        raise InputError(f"{_where(spec)} {_PICKLED}")
    return files[0]


def pipeline(spec: ModelSpec) -> Path | None:
    """The folder of the spec's diffusers pipeline; None if the spec is the id of a pipeline on the hub.

    Raises:
        InputError: there is no such folder, or it contains no pipeline.
    """
    path = _place(spec)
    if path:
        _check_index(path / "model_index.json", _where(spec), "pipeline of diffusers")
        if not any(path.glob(f"*/*{_WEIGHTS}")):
            raise InputError(f"{_where(spec)} {_PICKLED}")
    return path


def check_on_this_machine(spec: ModelSpec, revision: str | None) -> None:
    """Check that a pipeline from the hub has been downloaded to this machine.

    Raises:
        InputError: it has not; the message says how to download it.
    """
    from huggingface_hub import try_to_load_from_cache

    if not isinstance(try_to_load_from_cache(spec.target, "model_index.json", revision=revision), str):
        raise InputError(
            f"model '{spec.text}': no such pipeline on this machine; "
            "--factorfair-model-arg download=true fetches it from the hub"
        )


def digest(path: Path) -> str:
    """A SHA-256 of all small files and, for each file of weights, of its name, size and 64 samples of 64 KB.

    The samples are spread evenly over the file, so a change in one layer is detected. Reading a large
    checkpoint completely would take minutes. A GGUF file is complete in itself, so its name is ignored.
    """
    if path.is_file():
        return hashlib.sha256(b"".join((f"{path.stat().st_size}\n".encode(), *_samples(path)))).hexdigest()
    sha = hashlib.sha256()
    for file in sorted(path.iterdir()):
        if file.suffix in _HASHED and file.is_file():
            sha.update(f"{file.name}:{file.stat().st_size}\n".encode())
            sha.update(b"".join(_samples(file)) if file.suffix == _WEIGHTS else file.read_bytes())
    return sha.hexdigest()


def pipeline_digest(path: Path) -> str:
    """A SHA-256 of the digests of a pipeline's parts."""
    parts = [path, *(part for part in sorted(path.iterdir()) if part.is_dir())]
    digests = [f"{part.name if part != path else ''}:{digest(part)}" for part in parts]
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()


def _samples(file: Path) -> Iterator[bytes]:
    step = max(_SAMPLE, (file.stat().st_size - _SAMPLE) // (_SAMPLES - 1))
    with file.open("rb") as content:
        for number in range(_SAMPLES):
            content.seek(number * step)
            yield content.read(_SAMPLE)


def _where(spec: ModelSpec) -> str:
    return f"model '{spec.text}': '{spec.target}'"


def _place(spec: ModelSpec) -> Path | None:
    path = Path(spec.target).expanduser()
    if path.is_dir():
        return path
    if path.exists():
        raise InputError(f"{_where(spec)} is a file; name the folder of the checkpoint")
    if not HUB_ID.fullmatch(spec.target):
        raise InputError(
            f"{_where(spec)} is not a folder in {Path.cwd()}; write a model of the hub as organisation/name"
        )
    return None


def _check_index(index: Path, where: str, kind: str) -> None:
    """Check the index early: the libraries check it only after seconds, and with many lines of output."""
    if not index.is_file():
        raise InputError(f"{where} contains no {index.name}, so it is not a {kind}")
    try:
        json.loads(index.read_bytes())
    except (OSError, ValueError) as error:
        raise InputError(f"{index}: cannot be read as JSON: {error}") from None


class CheckpointFiles:
    """The files of a checkpoint, in a folder or on the hub, as transformers reads them."""

    def __init__(
        self, source: str, asked: LocalArguments, device_map: str | None, *, is_local: bool, **options: str
    ) -> None:
        import_module("transformers.utils.logging").disable_progress_bar()
        self._source = source
        self._asked = asked
        self._device_map = device_map
        revision = {"revision": asked.revision} if asked.revision else {}
        self._common = {"trust_remote_code": False, "local_files_only": is_local, **revision, **options}

    def read(self, kind: str, **options: Any) -> Any:
        """Load the files with the transformers class of this name."""
        return getattr(import_module("transformers"), kind).from_pretrained(
            self._source, **self._common, **options
        )

    def model(self, kind: str, name: str) -> Any:
        """The model, on its device; it is not moved later, because many quantised models cannot be.

        Raises:
            FatalModelError: the checkpoint lacks weights.
        """
        model, loaded = self.read(
            kind,
            dtype=self._asked.dtype,
            use_safetensors=True,
            output_loading_info=True,
            device_map=self._device_map or {"": chosen_device(self._asked.device)},
        )
        if missing := sorted(loaded["missing_keys"]):  # transformers draws these at random, with a warning
            raise FatalModelError(
                f"{name}: the checkpoint lacks {plural(len(missing), 'weight')}, such as {missing[0]}"
            )
        return model.eval()


def end_tokens(model: Any, tokenizer: Any) -> list[int]:
    """The tokens that end a text, of the model first; those of the tokenizer may differ."""
    ends = model.generation_config.eos_token_id, tokenizer.eos_token_id
    listed = [token for end in ends for token in (end if isinstance(end, list) else [end])]
    return list(dict.fromkeys(token for token in listed if token is not None))
