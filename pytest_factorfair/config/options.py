"""The table of a run's options, for the command line, the environment and pyproject.toml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from pytest_factorfair.domain import Modality

PREFIX = "FACTORFAIR_"
"""The prefix of options' environment variables."""

FILES = "files:"
"""Begins a value of the option ``batch`` that names a folder."""

Kind = Literal[
    "text",
    "name",
    "path",
    "url",
    "pictures",
    "texts",
    "pairs",
    "sizes",
    "executor",
    "replicas",
    "integer",
    "amount",
    "reuse",
    "batch",
    "flag",
    "choice",
]
"""The kind of an option's value, by which ``sources.parsed`` parses it."""


@dataclass(frozen=True, slots=True)
class RunOption:
    """An option: ``name`` in ``[tool.factorfair]``, ``FACTORFAIR_NAME``, and maybe ``--factorfair-NAME``.

    ``unset`` says what applies without it, and ``default`` is the parsed value; ``minimum`` and ``maximum``
    bound an integer.
    """

    name: str
    kind: Kind
    help: str
    metavar: str = ""
    choices: tuple[str, ...] = ()
    unset: str = ""
    default: object = None
    minimum: int | None = None
    maximum: int | None = None

    @property
    def flag(self) -> str:
        return f"--factorfair-{self.name}"

    @property
    def dest(self) -> str:
        return f"factorfair_{self.key}"

    @property
    def variable(self) -> str:
        return self.dest.upper()

    @property
    def key(self) -> str:
        return self.name.replace("-", "_")

    @property
    def form(self) -> str:
        """What a value looks like."""
        return self.metavar or "|".join(self.choices) or "true|false"

    @property
    def about(self) -> str:
        return f"{self.help} (default: {self.unset})" if self.unset else self.help

    @property
    def repeatable(self) -> bool:
        return self.kind in ("texts", "pairs")


CHECKLISTS: Mapping[Modality, str] = {"text": "fact_or_fair", "image": "fact_or_fair_t2i"}
"""The default checklist, by modality."""


MODEL = RunOption(
    "model",
    "texts",
    "the model under test (repeatable): openai/gpt-4o, any litellm id, sim:NAME, transformers:PATH, "
    "python:MODULE:ATTRIBUTE, replay:FILE; without it the plugin does nothing",
    metavar="SPEC",
)

GATE = RunOption(
    "gate",
    "texts",
    "a threshold for a score (repeatable): 's_e[base,race] >= 0.96'; 'default' is the recommended set; "
    "'none' sets the gates of pyproject.toml aside",
    metavar="EXPR",
)

ASKED: tuple[RunOption, ...] = (
    MODEL,
    RunOption(
        "model-arg",
        "pairs",
        "an argument of the model's provider (repeatable): temperature=0, base_url=..., dtype=bfloat16",
        metavar="KEY=VALUE",
    ),
    RunOption(
        "checklist",
        "texts",
        "a shipped checklist's name or a YAML file (repeatable)",
        metavar="NAME|PATH",
        unset=f"{CHECKLISTS['text']}, or {CHECKLISTS['image']} for image models",
    ),
    RunOption(
        "preset",
        "choice",
        "sample sizes, prompts, design and truth set in one word: tiny (a first look of some hundred calls, "
        "report only), smoke (report only), ci, paper; canary (576 calls, then 192: does the model still "
        "answer as in its first such run?)",
        choices=("tiny", "smoke", "ci", "paper", "canary"),
        default="ci",
        unset="ci",
    ),
    RunOption(
        "samples",
        "sizes",
        "answers per topic and context, rounded up until the design is balanced; objective=N: answers per "
        "objective case; images=N: pictures per case or prompt of an image model; repeats=N: answers per "
        "question with options of its own",
        metavar="N[,objective=N][,images=N][,repeats=N]",
        unset="those of the preset; repeats=1",
    ),
    RunOption(
        "answers",
        "choice",
        "what language models are asked for: text, json (structured output: one of the letters), "
        "or probabilities (of every letter, without sampling)",
        choices=("text", "json", "probabilities"),
        default="text",
        unset="text",
    ),
    RunOption("seed", "integer", "seed of all shuffling", metavar="N", unset="0"),
    GATE,
    RunOption(
        "baseline",
        "path",
        "the report.json of an earlier run: reports show what changed, and regression(...) gates are judged",
        metavar="FILE",
    ),
    RunOption(
        "detector",
        "text",
        "the detector that reads perceived groups from pictures: fairface:FILE?faces=FILE, clip:PATH, "
        "a vision-language model (openai/NAME, transformers:PATH), python:MODULE:ATTRIBUTE",
        metavar="SPEC",
        unset="sim for sim: models",
    ),
    RunOption(
        "batch",
        "batch",
        "ask services by batch, which is slow and often costs half: wait for the answers; leave them, and "
        "collect them with the same command later (exit code 75 until then); or write the questions to files "
        "in DIR, and read the replies there",
        metavar="wait|leave|files:DIR",
        default="",
        unset="ask one by one",
    ),
    RunOption(
        "explain",
        "flag",
        "ask each scenario once more, with a reason; reports show what the reasons cite, gates ignore them",
    ),
    RunOption(
        "plan",
        "flag",
        "print calls, tokens, cost, the smallest detectable changes and why stored answers are not reused; "
        "ask nothing",
    ),
    RunOption(
        "lock",
        "path",
        "with --factorfair-plan: write what decides the verdicts (gates, checklists, models, sizes, seed) to "
        "a file",
        metavar="FILE",
    ),
    RunOption(
        "locked",
        "path",
        "run only by the plan in this file, which --factorfair-lock wrote; the report has its digest",
        metavar="FILE",
    ),
)

LIMITS: tuple[RunOption, ...] = (
    RunOption(
        "max-connections",
        "integer",
        "calls in flight to one endpoint, divided evenly among workers",
        metavar="N",
        default=64,
        minimum=1,
        unset="64, or more if the replicas can handle more",
    ),
    RunOption(
        "max-rpm",
        "integer",
        "calls per minute, all workers together",
        metavar="N",
        minimum=1,
        unset="no limit",
    ),
    RunOption(
        "max-calls",
        "integer",
        "end the run after this number of calls, including retries",
        metavar="N",
        minimum=1,
        unset="no limit",
    ),
    RunOption(
        "max-cost",
        "amount",
        "end the run when its calls have cost this much (USD)",
        metavar="USD",
        unset="no limit",
    ),
    RunOption(
        "max-minutes", "amount", "end the run after this many minutes", metavar="MINUTES", unset="no limit"
    ),
    RunOption(
        "run",
        "name",
        "share limits with all runs of this name that use the same store",
        metavar="NAME",
        default="",
        unset="limits of its own",
    ),
    RunOption("store", "url", "where responses are stored", "PATH|URL", unset=".factorfair/responses.sqlite"),
    RunOption(
        "pictures",
        "pictures",
        "where pictures are stored: a folder, or s3://BUCKET/PREFIX, gs:// or az:// (extra bucket), which "
        "several hosts may share",
        metavar="DIR|URL",
        unset="images beside the store",
    ),
    RunOption(
        "reuse",
        "reuse",
        "which stored answers to take: all, none (ask everything again and replace them), only "
        "(never open a connection), or those up to an age such as 12h, 7d or 2w",
        metavar="all|none|only|AGE",
        default=("all", None),
        unset="all",
    ),
    RunOption(
        "shard",
        "text",
        "ask part I of N; `factorfair merge` then joins the stores of all parts for a run that judges them. "
        "auto: take I and N from the variables of Slurm arrays, Kubernetes indexed Jobs or GitLab's parallel",
        metavar="I/N|auto",
    ),
    RunOption(
        "executor",
        "executor",
        "where transformers:, diffusers:, python: and sim: models run: local (this process) or ray "
        "(replicas on the Ray cluster at HOST:PORT, at RAY_ADDRESS or on this machine, or on a new one)",
        metavar="local|ray[:HOST:PORT]",
        unset="local",
    ),
    RunOption(
        "replicas",
        "replicas",
        "with --factorfair-executor=ray: replicas of a model, GPUs of each, and replicas of the detector",
        metavar="N[,gpus=F][,detectors=M]",
        unset="as many as the GPUs allow, gpus=1, and detectors=0: the detector stays in this process",
    ),
)

REPORTS: tuple[RunOption, ...] = (
    RunOption(
        "report",
        "path",
        "folder for report.html, .json, .md and responses.jsonl",
        metavar="DIR",
        unset=".factorfair/report",
    ),
)

GROUPS: Mapping[str, tuple[RunOption, ...]] = {
    "what to test": ASKED,
    "limits and storage": LIMITS,
    "reports": REPORTS,
}
"""The options of the command line, in the groups that ``pytest --help`` shows."""

SETTINGS: tuple[RunOption, ...] = (
    RunOption(
        "design",
        "choice",
        "who appears in a query: balanced (every group) or paper (drawn at random)",
        choices=("balanced", "paper"),
        unset="balanced; paper with preset paper",
    ),
    RunOption(
        "truth",
        "text",
        "the labels that count as true: audited, published, or a set of your own",
        "NAME",
        unset="audited; published with preset paper",
    ),
    RunOption(
        "declines",
        "choice",
        "what a judgement that the model declines counts as: neutral (an even choice among the people shown) "
        "or missing",
        choices=("neutral", "missing"),
        unset="neutral; missing with preset paper or estimator published-code",
    ),
    RunOption(
        "estimator",
        "choice",
        "corrected: bias-corrected scores with intervals; plugin: as the paper defines them; "
        "published-code: as its scripts compute them",
        choices=("corrected", "plugin", "published-code"),
        unset="corrected; plugin with preset paper",
    ),
    RunOption(
        "interval",
        "choice",
        "scope of the intervals: instrument (these scenarios) or scenarios (scenarios like these)",
        choices=("instrument", "scenarios"),
        default="instrument",
        unset="instrument",
    ),
    RunOption(
        "looks",
        "integer",
        "number of looks, up to 4: undecided gates ask for more answers",
        metavar="N",
        minimum=1,
        maximum=4,
        unset="4 with preset ci, 2 with probabilities, 1 with other presets",
    ),
    RunOption(
        "looks-after-fail",
        "flag",
        "take further looks at the other gates of a model that can no longer be released",
    ),
    RunOption(
        "undecided",
        "choice",
        "what an UNDECIDED release does (inconclusive gates, missing cases): fail or warn",
        choices=("fail", "warn"),
        default="fail",
        unset="fail",
    ),
    RunOption(
        "detector-errors",
        "path",
        "an error table written by `factorfair detector evaluate`: reports show shares with and without "
        "correction",
        metavar="FILE",
    ),
    RunOption(
        "retries",
        "integer",
        "retries of a call that fails for a transient reason, such as a lost connection or 5xx",
        metavar="N",
        default=5,
        minimum=0,
        unset="5",
    ),
    RunOption(
        "first-replies",
        "integer",
        "replies of a model after which the run ends if none of them can be used; 0: never",
        metavar="N",
        default=32,
        minimum=0,
        unset="32",
    ),
    RunOption(
        "patience",
        "amount",
        "how long to wait for an endpoint that fails or throttles every call",
        metavar="SECONDS",
        default=300.0,
        unset="300",
    ),
    RunOption(
        "warm",
        "flag",
        "ask all selected cases in the controlling process before the first test; workers only read",
    ),
    RunOption(
        "log",
        "texts",
        "log parameters, scores, verdicts and reports to mlflow[:URI] or wandb[:PROJECT], or replies for "
        "Inspect's viewer to inspect[:DIR] (repeatable; extras mlflow, wandb, inspect)",
        metavar="TRACKER",
    ),
)
"""What only pyproject.toml and the environment set."""

OPTIONS = (*chain.from_iterable(GROUPS.values()), *SETTINGS)
