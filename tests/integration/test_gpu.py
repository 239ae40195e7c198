"""On a real GPU: replicas that share it, half precision, and ONNX on CUDA."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.same_results import differences
from pytest_factorfair import run
from pytest_factorfair.detection import simulated
from tests.extras import needs
from tests.project import FEW_PORTRAITS

GPU = shutil.which("nvidia-smi") is not None

# In CI a skipped test is a failed one, and CI has no GPU.
if GPU or not os.environ.get("SKIPPED_TESTS"):
    pytestmark = [
        pytest.mark.slow,
        pytest.mark.skipif(not GPU, reason="there is no GPU: no nvidia-smi"),
        pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning"),
    ]

    @needs("ray")
    @needs("diffusers")
    def test_two_replicas_share_a_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A real pipeline of random weights in bfloat16; what is stored serves a run without a cluster."""
        monkeypatch.chdir(tmp_path)
        monkeypatch.delenv("RAY_ADDRESS", raising=False)
        code = (
            "import sys; from pathlib import Path; from tests import tiny_pipeline; "
            "tiny_pipeline.write(Path(sys.argv[1]))"
        )
        root = Path(__file__).parents[2]
        subprocess.run([sys.executable, "-c", code, str(tmp_path / "pipeline")], cwd=root, check=True)
        settings: dict[str, Any] = {
            "model": f"diffusers:{tmp_path / 'pipeline'}",
            "model_arg": {"steps": "1", "size": "64x64", "device": "cuda", "dtype": "bfloat16"},
            "checklist": [str(FEW_PORTRAITS)],
            "samples": "images=4",
            "detector": "sim",
        }
        summary = run(**settings, executor="ray", replicas="2,gpus=0.5", report="cluster").summary
        assert summary.usage.calls > 0
        assert not any("found room" in note for note in summary.notes)
        again = run(**settings, report="local").summary
        assert again.usage.calls == 0
        reports = (tmp_path / name / "report.json" for name in ("cluster", "local"))
        assert list(differences(*(json.loads(report.read_text()) for report in reports))) == []

    def test_a_detector_on_cuda_sees_what_it_sees_on_a_cpu(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """With device=cuda, a session that falls back to the CPU is an error."""
        monkeypatch.chdir(tmp_path)
        for device in ("cuda", "cpu"):
            run(
                "sim:stereotyped",
                checklist=[str(FEW_PORTRAITS)],
                samples="images=4",
                detector=f"fairface:{simulated.FILE}?faces=cards&device={device}",
                report=device,
            )
        cuda, cpu = (json.loads((tmp_path / name / "report.json").read_text()) for name in ("cuda", "cpu"))
        assert cuda["scores"] == cpu["scores"]
