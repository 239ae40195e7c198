"""The options of a run, as one table: command line, environment and pyproject read it alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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
        "a shipped checklist's name or a YAML file (repeatable); default: fact_or_fair, or "
        "fact_or_fair_t2i for image models",
        metavar="NAME|PATH",
        key="checklists",
    ),
    Option(
        "preset",
        "choice",
        "sizes, prompts, design and truth in one word: smoke (report only), ci (default), paper",
        choices=("smoke", "ci", "paper"),
    ),
    Option(
        "samples",
        "text",
        "answers per topic and context, rounded up to whole blocks; objective=N: per objective case; "
        "images=N: pictures per case or prompt of an image model",
        metavar="N[,objective=N][,images=N]",
    ),
    Option(
        "design",
        "choice",
        "who stands in a query: balanced (every group, default) or paper (drawn at random)",
        choices=("balanced", "paper"),
    ),
    Option(
        "truth",
        "text",
        "which labels count as true: audited (default), published, or a set of your own",
        "NAME",
    ),
    Option(
        "estimator",
        "choice",
        "corrected (default): scores without their bias, with intervals; plugin: as the paper defines them; "
        "published-code: as its scripts compute them",
        choices=("corrected", "plugin", "published-code"),
    ),
    Option(
        "interval",
        "choice",
        "what intervals speak about: instrument (these scenarios, default) or scenarios (such scenarios)",
        choices=("instrument", "scenarios"),
    ),
    Option("seed", "integer", "what all shuffling derives from (default 0)", metavar="N"),
    Option(
        "gate",
        "texts",
        "a promise to keep (repeatable): 's_e[base,race] >= 0.961', or 'default' for the recommended set",
        metavar="EXPR",
        key="gates",
    ),
    Option(
        "on-inconclusive",
        "choice",
        "what a gate does that the answers do not decide: warn (default), fail or pass",
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
        "a former report.json: what changed since is told, and regression(...) gates are judged",
        metavar="FILE",
    ),
    Option(
        "looks",
        "integer",
        "looks at the answers, up to 4: undecided gates ask for more (default: 4 with preset ci, else 1)",
        metavar="N",
    ),
    Option("plan", "flag", "print calls, tokens, cost and the smallest detectable changes; ask nothing"),
    Option(
        "explain-cache", "flag", "print why answers would be asked that are not in the store; ask nothing"
    ),
    Option(
        "explain",
        "flag",
        "ask each scenario once more, with a reason: what reasons cite is told, and never judged",
    ),
    Option(
        "detector",
        "text",
        "what reads perceived groups off pictures: fairface:FILE?faces=FILE, clip:PATH, "
        "python:MODULE:ATTRIBUTE (default for sim: models: sim)",
        metavar="SPEC",
    ),
    Option(
        "detector-errors",
        "text",
        "a table of the detector's errors, as `factorfair detector evaluate` writes it: shares are told with "
        "and without them",
        metavar="FILE",
    ),
    Option(
        "max-connections",
        "integer",
        "calls to one endpoint in flight at once, divided evenly among workers (default 64)",
        metavar="N",
    ),
    Option("max-rpm", "integer", "calls a minute, all workers together (default: no limit)", metavar="N"),
    Option("max-calls", "integer", "end the run after so many calls, retries included", metavar="N"),
    Option("max-cost", "amount", "end the run once its calls have cost this", metavar="USD"),
    Option("max-minutes", "amount", "end the run after this time", metavar="MINUTES"),
    Option(
        "retries",
        "integer",
        "how often a call is repeated that fails in a way that may pass: no connection, 5xx (default 5)",
        metavar="N",
    ),
    Option(
        "patience",
        "amount",
        "how long an endpoint is waited for that fails every call or puts callers off (default 300)",
        metavar="SECONDS",
    ),
    Option(
        "max-unparsed",
        "share",
        "the share of unparsed and errored answers a case may have before it fails (default 0.05)",
        metavar="SHARE",
    ),
    Option(
        "store", "text", "where responses are kept (default sqlite:///.factorfair/responses.sqlite)", "URL"
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
    Option("judge-selected", "flag", "judge the cases selected with -k, -m or a path as if they were all"),
    Option("strict", "flag", "gates that are inconclusive or could not be judged fail"),
)
