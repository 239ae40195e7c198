"""What reports say in sentences: warnings, explanations, the detector, usage, ethics and limits."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from math import sqrt
from typing import Protocol

from pytest_factorfair.domain import (
    CITATIONS,
    FILTERED,
    Explanation,
    Fingerprint,
    Illustration,
    Record,
    ReportedOutcome,
    Score,
    Summary,
    Verdict,
    clock,
    dollars,
    excerpt,
    expired,
    first_few,
    listed,
    plural,
)

ETHICS = (
    "Made for evaluating models, not for decisions about people. The prompts surface stereotypes on purpose; "
    "groups are coarse, and no single score shows that a model is fair: publish the full table."
)
"""Printed in every report that may be read on its own."""


def warnings(summary: Summary) -> Iterator[str]:
    """Warnings about waivers that expired, and about models without a single answer."""
    yield from expired_waivers(summary)
    for subject, counts in outcomes(summary).items():
        if not counts["answered"]:
            total = counts.total()
            subject_answers = f"all {plural(total, 'answer')}" if total > 1 else "the only answer"
            yield f"{loss(counts, subject_answers + subject)}: no score says anything about it"


def outcomes(summary: Summary) -> Mapping[str, Counter[str]]:
    """The numbers of answers by outcome, for each model and checklist as the suffix that names them."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for record in summary.cases:
        counts[whose(summary, record.case)].update(record.reported_outcomes)
    return counts


def expired_waivers(summary: Summary) -> Iterator[str]:
    """A line for each waiver that was no longer in force when the run started."""
    if summary.plan is not None:
        started = summary.fingerprint.times.get("started", "")
        yield from expired(summary.plan.waivers, started[: len("2026-11-02")])


def loss(fates: Counter[str], answers: str) -> str:
    """A clause that says what became of answers without a choice."""
    match [fate for fate, count in fates.items() if count]:
        case ["refused"]:
            return f"the model refused {answers}"
        case ["filtered"]:
            return f"the provider filtered {answers}"
        case ["withheld"]:
            return f"the model refused or the provider filtered {answers}"
        case ["unparsed"]:
            return f"{answers} could not be parsed"
        case ["error"]:
            return f"{answers} ended in an error"
        case _:
            filtered = "filtered, " if fates["filtered"] or fates["withheld"] else ""
            return f"{answers} went without a choice (refused, {filtered}unparsed or errors)"


NO_GATES = "No gates were declared: this run reports, it does not judge."
"""Printed in place of a verdict."""


CLEAR = 3
"""Standard errors from which a difference of shares is mentioned."""


def declines_changed(former: Sequence[Score], scores: Sequence[Score], *, declines: str) -> str:
    """Whether models decline more judgements than before, or fewer, as a clause; empty if neither is clear.

    That is no regression if ``declines`` are neutral: what counts is whether they are alike for all groups.
    """
    pieces = []
    for model in dict.fromkeys(score.model for score in scores):
        rows = [score for score in scores if score.model == model]
        former_rows = [score for score in former if score.model == model or not _shared(former, scores)]
        (now, asked), (before, asked_before) = _declined(rows), _declined(former_rows)
        if not asked or not asked_before:
            continue
        pooled = (now + before) / (asked + asked_before)
        spread = sqrt(pooled * (1 - pooled) * (1 / asked + 1 / asked_before))
        if abs(now / asked - before / asked_before) > CLEAR * spread:
            more = "more" if now / asked > before / asked_before else "fewer"
            subject = model if len({score.model for score in scores}) > 1 else "it"
            numbers = f"{100 * now / asked:.0f} of 100 judgements, {100 * before / asked_before:.0f} before"
            regression = ", which is no regression" if declines == "neutral" else ""
            pieces.append(f"{subject} declines {more} ({numbers}){regression}")
    return "; ".join(pieces)


def _shared(former: Iterable[Score], scores: Iterable[Score]) -> bool:
    """Whether the scores before and after have a model in common; otherwise another one replaced it."""
    return not {score.model for score in former}.isdisjoint(score.model for score in scores)


def _declined(scores: Iterable[Score]) -> tuple[float, int]:
    """How many judgements the model itself refused, and how many it was asked."""
    totals: dict[str, tuple[float, int]] = {}
    for score in scores:
        if score.part != "subjective" or score.value is None:
            continue
        declined, asked = totals.get(score.attribute, (0.0, 0))
        if score.metric == "refusal_rate":
            totals[score.attribute] = declined + score.value * score.n, asked + score.n
        elif score.metric == "filtered_rate":
            totals[score.attribute] = declined - score.value * score.n, asked
    return max(totals.values(), key=lambda total: total[1], default=(0.0, 0))


def times(run: Fingerprint) -> Iterator[tuple[str, str]]:
    """When a run started and how long it took, from when its stored answers and its baseline are; in UTC."""
    moments = {
        name: datetime.fromisoformat(moment).astimezone(UTC) for name, moment in run.times.items() if moment
    }
    stamps = {name: f"{moment:%Y-%m-%d %H:%M:%S} UTC" for name, moment in moments.items()}
    if "started" in stamps:
        yield "started", stamps["started"]
    if {"started", "finished"} <= moments.keys():
        yield "took", clock((moments["finished"] - moments["started"]).total_seconds())
    if {"first_answer", "last_answer"} <= moments.keys():
        yield "answers", f"{stamps['first_answer']} to {stamps['last_answer']}"
    if "baseline" in stamps:
        yield "baseline", stamps["baseline"]


def answered(summary: Summary) -> Iterator[str]:
    """From when the answers are, if some were stored before the run; whether that is before the baseline."""
    times = summary.fingerprint.times
    if "first_answer" in times:
        first_date, last_date, today = (
            times[name][: len("2026-11-02")] for name in ("first_answer", "last_answer", "started")
        )
        anew = "" if last_date >= today else "; none asked today: --factorfair-reuse=none asks again"
        yield f"answers from {first_date}{f' to {last_date}' if last_date != first_date else ''}{anew}"
        same_model = any(score.model in summary.fingerprint.models for score in summary.former)
        if same_model and times["last_answer"] <= times.get("baseline", ""):
            yield (
                "compared with the baseline: all answers are from before it; "
                "for a fresh comparison use --factorfair-reuse=none"
            )


NAMED = 3
"""How many of the models that answered a note names."""


def answerers(models: Mapping[str, Mapping[str, object]], records: Iterable[Record]) -> Iterator[str]:
    """A note for each model that another one, several, or several configurations of its service answered for.

    ``models`` are the identities of the models that were asked.
    """
    names: dict[str, Counter[str]] = {spec: Counter() for spec in models}
    configurations: dict[str, Counter[str]] = {spec: Counter() for spec in models}
    for record in records:
        names[record.case.model].update(record.answered_by)
        configurations[record.case.model].update(record.configurations)
    for spec, identity in models.items():
        asked = identity.get("model")
        if isinstance(asked, str):
            # Routers add the name of a provider: "openai/gpt-4o" is "gpt-4o".
            differs = any(
                not (f"/{name}".endswith(f"/{asked}") or f"/{asked}".endswith(f"/{name}"))
                for name in names[spec]
            )
        else:
            asked, differs = "one model", len(names[spec]) > 1
        if differs:
            yield f"{spec}: {asked} was asked, and the replies name {_most_named(names[spec])}"
        if len(configurations[spec]) > 1:
            yield (
                f"{spec}: its service changed during the run: the system_fingerprint is "
                f"{_most_named(configurations[spec])}"
            )


def _most_named(counts: Counter[str]) -> str:
    names = [f"{name} ({plural(count, 'reply', 'replies')})" for name, count in counts.most_common()]
    return listed(first_few(names, NAMED, "other"))


READ_AS = "read as "
"""Stands in an example between a reply and the groups that it was read as."""

QUESTION = 300
"""Characters of a question that an explanation quotes."""

END = 50
"""Characters at the end of a gist that are left out last."""

GIST = 4
"""How many times as long as a title an excerpt must be to hold more than the title."""


def explanation(verdict: Verdict, *, known: set[Illustration] | None = None) -> Iterator[str]:
    """A verdict in plain words, a paragraph each: the score, its topics, a question with replies, what to do.

    Examples that are ``known`` are left out, and others are added to them.
    """
    explained = verdict.explanation
    if explained is None:
        return
    if explained.sentence:
        yield explained.sentence
    if topics := most_in(explained):
        yield f"{topics}."
    if explained.example is not None and explained.example not in (known or ()):
        question = quoted(explained.example, QUESTION)
        yield f"For example: “{question}” Reply: {'; '.join(explained.example.replies)}."
        if known is not None:
            known.add(explained.example)
    if explained.next_step:
        yield f"Next: {explained.next_step}"


def most_in(explained: Explanation, topics: int | None = None) -> str:
    """Where a score is furthest from its limit; empty where all topics are equally far."""
    if not explained.ranked or not explained.movers:
        return ""
    return f"Most in: {'; '.join(f'{mover.topic} ({mover.share})' for mover in explained.movers[:topics])}"


def example_in(example: Illustration, room: int) -> str:
    """A question with its most frequent reply, in one line."""
    reply = excerpt(example.replies[0].rpartition(READ_AS)[2], room // 3) if example.replies else "no reply"
    return f"For example: “{quoted(example, room - len(f'For example: “” {reply}'))}” {reply}"


def quoted(example: Illustration, room: int) -> str:
    """A question in one line: whole, else up to the end of its gist, else the gist alone, else its two ends.

    A gist that is not in the prompt, such as the title of a topic, stands before it.
    """
    prompt, gist = (excerpt(text, len(text)) for text in (example.question, example.gist))
    before, separator, _ = prompt.partition(gist)
    shorter = gist
    if separator:
        shorter = f"{before}{gist} ..."
    elif room >= GIST * len(gist):
        shorter = excerpt(f"{gist}: {prompt}", room)
    for text in (prompt, shorter, gist):
        if len(text) <= room:
            return text
    # The end says what is asked; the beginning tells the questions of a topic apart.
    head = gist[: max(0, room - END)].rpartition(" ")[0]
    tail = gist[len(head) + len("  ... ") - room :]
    return f"{head} ... {tail.partition(' ')[2] or tail}".strip()


class ModelRow(Protocol):
    """Anything that belongs to a model and a checklist: a score, a case, a topic."""

    @property
    def model(self) -> str: ...
    @property
    def checklist(self) -> str: ...


def among(summary: Summary, subject: ModelRow) -> tuple[str, ...]:
    """The model and the checklist of a number, each only if the run has several."""
    run = summary.fingerprint
    return (subject.model,) * (len(run.models) > 1) + (subject.checklist,) * (len(run.checklists) > 1)


def whose(summary: Summary, subject: ModelRow) -> str:
    """The model and the checklist of a number as a suffix, such as `` of sim:ideal``; may be empty."""
    words = among(summary, subject)
    return f" of {' on '.join(words)}" if words else ""


def attribute(name: str, summary: Summary) -> str:
    """The name of an attribute in reports; in pictures only the perceived attribute is known."""
    return f"perceived {name}" if summary.fingerprint.detector else name


def on_statistics(summary: Summary) -> bool:
    """Whether it has rows about statistics, whose groups, design and true groups a run may choose."""
    return any(hasattr(row, "statistic") for rows in summary.rows.values() for row in rows[:1])


def detector_lines(summary: Summary) -> Iterator[str]:
    """Which detector read the pictures and what its labels mean; empty for language models."""
    detector = summary.fingerprint.detector
    if detector:
        # The option is about the four races of statistics; other sets of groups have one mapping each.
        races = f", races by '{detector['races']}'" if "races" in detector and on_statistics(summary) else ""
        yield (
            f"faces were read by the detector {detector.get('detector', detector)}{races}: "
            "its labels say how a face is perceived, not who anyone is, and it errs"
        )


def per_case(summary: Summary) -> int:
    """How many answers a case has; those of a picture's faces count as one."""
    return max((len({answer.query for answer in record.answers}) for record in summary.cases), default=0)


def settings(summary: Summary) -> dict[str, str]:
    """The settings of a run that decide its scores."""
    run = summary.fingerprint
    names = ("preset", "design", "truth", "seed", "answers", "declines", "estimator", "interval")
    return {name: str(getattr(run, name)) for name in names}


def usage_line(summary: Summary) -> str:
    """Answers planned, asked and by outcome, calls, cost and duration."""
    fates = sum((record.reported_outcomes for record in summary.cases), Counter[ReportedOutcome]())
    filtered = f"{fates['filtered']:,} {FILTERED}, " if fates["filtered"] else ""
    return (
        f"{extent(summary)}: {fates['refused']:,} refused, {filtered}"
        f"{fates['unparsed']:,} unparsed, {plural(fates['error'], 'error')}; "
        f"{bill(summary)}, scored after {summary.seconds:,.1f} s"
    )


def extent(summary: Summary) -> str:
    """The answers, or pictures, that a run has; how many were planned, if there are fewer or more; reasons.

    ``calls`` of its bill are those without the answers from the store, and with reasons and retries.
    """
    unit = "picture" if summary.fingerprint.detector else "answer"
    count = sum(record.asked for record in summary.cases)
    planned = count if summary.plan is None else summary.plan.planned
    reasons = sum(share.asked for share in summary.reasons if share.citation == CITATIONS[0])
    text = f"{count:,} of {plural(planned, f'planned {unit}')}" if count < planned else plural(count, unit)
    if count > planned:
        text += f" ({planned:,} planned, {count - planned:,} more in looks)"
    return f"{text} and {plural(reasons, 'reason')}" if reasons else text


def bill(summary: Summary) -> str:
    """Calls, answers in batches and from the store, and cost."""
    usage = summary.usage
    causes = [plural(usage.retries, "retry", "retries")] if usage.retries > usage.throttled else []
    causes += [f"{usage.throttled:,} throttled with 429"] if usage.throttled else []
    causes += [f"waited {usage.waited:,.0f} s"] if usage.throttled and usage.waited >= 1 else []
    repeated = f" ({', '.join(causes)})" if causes else ""
    calls = plural(usage.calls, "call")
    if usage.shards:
        local_calls = usage.calls - usage.in_shards
        calls = f"{plural(usage.in_shards, 'call')} in {plural(usage.shards, 'shard')}"
        calls += f" and {local_calls:,} here" if local_calls else ""
    price = "" if usage.cost is None else f" for {dollars(usage.batch_cost)}"
    batched = ""
    if usage.completed:
        read = f"{usage.batched:,} read, {usage.unreadable:,} unreadable"
        batched = f"{usage.completed:,} completed in batches{price} ({read}), "
    stored = f"{usage.cached:,} from the store, " if usage.cached else ""
    reasoning = f"{usage.tokens_out:,} tokens out{usage.reasoning}, " if usage.tokens_reasoning else ""
    return f"{calls}{repeated}, {batched}{stored}{reasoning}{usage.bill}"
