"""The options of a run, in one table that the command line, the environment and pyproject share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pytest_factorfair.domain import Modality

PREFIX = "FACTORFAIR_"
"""What the name of every variable of ours begins with, and of nobody else's."""

Kind = Literal["text", "texts", "integer", "amount", "share", "flag", "choice"]


@dataclass(frozen=True, slots=True)
class Option:
    """One option: ``--factorfair-NAME``, ``FACTORFAIR_NAME``, and ``key`` in ``[tool.factorfair]``."""

    name: str
    kind: Kind
    help: str
    metavar: str = ""
    choices: tuple[str, ...] = ()
    key: str = ""

    @property
    def flag(self) -> str:
        return f"--factorfair-{self.name}"

    @property
    def dest(self) -> str:
        return f"factorfair_{self.name.replace('-', '_')}"

    @property
    def variable(self) -> str:
        return self.dest.upper()

    @property
    def toml(self) -> str:
        return self.key or self.name.replace("-", "_")


CHECKLISTS: Mapping[Modality, str] = {"text": "fact_or_fair", "image": "fact_or_fair_t2i"}
"""The checklist of a run that names none."""


MODEL = Option(
    "model",
    "texts",
    "the model under test (repeatable): openai/gpt-4o, any litellm id, sim:NAME, transformers:PATH, "
    "python:MODULE:ATTRIBUTE, replay:FILE; without it the plugin does nothing",
    metavar="SPEC",
)

OPTIONS: tuple[Option, ...] = (
    MODEL,
    Option(
        "model-arg",
        "texts",
        "an argument for the model's provider (repeatable): temperature=0, base_url=..., dtype=bfloat16",
        metavar="KEY=VALUE",
        key="model_args",
    ),
    Option(
        "checklist",
        "texts",
        f"a shipped checklist's name or a YAML file (repeatable); default: {CHECKLISTS['text']}, or "
        f"{CHECKLISTS['image']} for image models",
        metavar="NAME|PATH",
        key="checklists",
    ),
    Option(
        "preset",
        "choice",
        "sizes, prompts, design and truth set at once: smoke (report only), ci (default), paper",
        choices=("smoke", "ci", "paper"),
    ),
    Option(
        "samples",
        "text",
        "answers per topic and context, rounded up to whole blocks; objective=N: answers per objective case; "
        "images=N: pictures per case or prompt of an image model",
        metavar="N[,objective=N][,images=N]",
    ),
    Option(
        "design",
        "choice",
        "who appears in a query: balanced (every group, default) or paper (drawn at random)",
        choices=("balanced", "paper"),
    ),
    Option(
        "truth",
        "text",
        "the labels that count as true: audited (default), published, or a set of your own",
        "NAME",
    ),
    Option(
        "estimator",
        "choice",
        "corrected (default): bias-corrected scores with intervals; plugin: as the paper defines them; "
        "published-code: as its scripts compute them",
        choices=("corrected", "plugin", "published-code"),
    ),
    Option(
        "interval",
        "choice",
        "scope of the intervals: instrument (these scenarios, default) or scenarios (scenarios like these)",
        choices=("instrument", "scenarios"),
    ),
    Option(
        "answers",
        "choice",
        "what language models are asked for: text (default), json (structured output: one of the letters), "
        "or probabilities (of every letter, without sampling)",
        choices=("text", "json", "probabilities"),
    ),
    Option("seed", "integer", "seed of all shuffling (default 0)", metavar="N"),
    Option(
        "gate",
        "texts",
        "a threshold for a score (repeatable): 's_e[base,race] >= 0.961'; 'default' is the recommended set",
        metavar="EXPR",
        key="gates",
    ),
    Option(
        "on-inconclusive",
        "choice",
        "outcome of inconclusive gates: warn (default), fail or pass",
        choices=("warn", "fail", "pass"),
    ),
    Option(
        "on-incomplete",
        "choice",
        "outcome of gates when cases were left out (a path, -k, -m, skipped tests): fail (default) or warn",
        choices=("fail", "warn"),
    ),
    Option(
        "baseline",
        "text",
        "the report.json of an earlier run: reports show what changed, and regression(...) gates are judged",
        metavar="FILE",
    ),
    Option(
        "looks",
        "integer",
        "number of looks, up to 4: undecided gates ask for more answers (default: 4 with preset ci, else 1)",
        metavar="N",
    ),
    Option("plan", "flag", "print calls, tokens, cost and the smallest detectable changes; ask nothing"),
    Option(
        "explain-cache", "flag", "print why answers that are not in the store would be asked; ask nothing"
    ),
    Option(
        "explain",
        "flag",
        "ask each scenario once more, with a reason; reports show what the reasons cite, gates ignore it",
    ),
    Option(
        "detector",
        "text",
        "reads perceived groups from pictures: fairface:FILE?faces=FILE, clip:PATH, "
        "python:MODULE:ATTRIBUTE (default for sim: models: sim)",
        metavar="SPEC",
    ),
    Option(
        "detector-errors",
        "text",
        "an error table written by `factorfair detector evaluate`: reports show shares with and without "
        "correction",
        metavar="FILE",
    ),
    Option(
        "max-connections",
        "integer",
        "calls in flight to one endpoint, divided evenly among workers (default 64)",
        metavar="N",
    ),
    Option("max-rpm", "integer", "calls per minute, all workers together (default: no limit)", metavar="N"),
    Option("max-calls", "integer", "end the run after this number of calls, including retries", metavar="N"),
    Option("max-cost", "amount", "end the run when its calls have cost this much", metavar="USD"),
    Option("max-minutes", "amount", "end the run after this time", metavar="MINUTES"),
    Option(
        "run",
        "text",
        "share the limits of the run of this name with every other controller that uses the same store "
        "(default: a run of its own)",
        metavar="NAME",
    ),
    Option(
        "retries",
        "integer",
        "retries of a call that fails for a transient reason: no connection, 5xx (default 5)",
        metavar="N",
    ),
    Option(
        "patience",
        "amount",
        "how long to wait for an endpoint that fails or throttles every call (default 300)",
        metavar="SECONDS",
    ),
    Option(
        "max-unparsed",
        "share",
        "a case fails if more than this share of its answers is unparsed or errored (default 0.05)",
        metavar="SHARE",
    ),
    Option(
        "store", "text", "where responses are stored (default sqlite:///.factorfair/responses.sqlite)", "URL"
    ),
    Option("replay", "flag", "take every answer from the store; never open a connection"),
    Option("refresh", "flag", "ask everything again and replace what the store has"),
    Option("warm", "flag", "ask all cases from one loop before the first test, so that workers only read"),
    Option(
        "report",
        "text",
        "folder for report.html, .json, .md and responses.jsonl (default .factorfair/report)",
        metavar="DIR",
    ),
    Option("judge-selected", "flag", "judge the cases selected by -k, -m or a path as if they were complete"),
    Option("strict", "flag", "fail the run if a gate is inconclusive or not judged"),
)
