"""A session of ONNX Runtime on the device that was asked for, or one line on why there is none."""

from __future__ import annotations

import re
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

from pytest_factorfair.errors import DetectorError

_SOURCE = re.compile(r"^/\S+:\d+ .*?\) (?=[A-Z])")
_CUDA, _CPU = "CUDAExecutionProvider", "CPUExecutionProvider"


def session(path: Path, device: str) -> Any:
    """The loaded model. ``device`` is cpu, cuda, cuda:NUMBER, or auto: CUDA where it works, else the CPU.

    Raises:
        DetectorError: the file is no model this runtime can run, or CUDA was asked for and is not got.
    """
    onnxruntime = import_module("onnxruntime")
    has_cuda = _CUDA in onnxruntime.get_available_providers()
    if device.startswith("cuda") and not has_cuda:
        raise DetectorError(
            f"device={device}: this onnxruntime has no CUDA; "
            "install pytest-factorfair[images-gpu] in place of [images], never beside it"
        )
    wants_cuda = has_cuda and device != "cpu"
    if wants_cuda:
        onnxruntime.preload_dlls()
    made = _made(path, _providers(device) if wants_cuda else [_CPU])
    if wants_cuda and made.get_providers()[0] != _CUDA:  # the runtime itself goes on without a word
        if device != "auto":
            raise DetectorError(f"device={device}: CUDA could not be started; is there a GPU and its driver?")
        warnings.warn("the detector runs on the CPU: CUDA could not be started", stacklevel=2)
    return made


def _made(path: Path, providers: list[str | tuple[str, dict[str, str]]]) -> Any:
    onnxruntime = import_module("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # others need the cores
    options.log_severity_level = 4  # what goes wrong is said here, in one line
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=providers)
    except Exception as error:  # the runtime's classes of errors are made at run time
        raise DetectorError(f"'{path}' cannot be loaded as an ONNX model: {reason(error)}") from error


def reason(error: Exception) -> str:
    """What the runtime says, in one line and without the places in its own source."""
    told = " ".join(str(error).split())
    return _SOURCE.sub("", told.rpartition("failed:")[2]).strip()


def _providers(device: str) -> list[str | tuple[str, dict[str, str]]]:
    _, _, number = device.partition(":")
    return [(_CUDA, {"device_id": number or "0"}), _CPU]
