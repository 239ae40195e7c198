"""Errors in a checklist, in the order of the checks, and findings of the linter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from string import ascii_uppercase

from pytest_factorfair import domain
from pytest_factorfair.benchmarks.fact_or_fair import layout
from pytest_factorfair.benchmarks.fact_or_fair.asking.people import people_count
from pytest_factorfair.benchmarks.fact_or_fair.layout import (
    Attribute,
    Breakdown,
    Checklist,
    Context,
    Scenario,
    Side,
    Statistic,
    Statistics,
    Steps,
    Subjective,
    scenarios_of,
)
from pytest_factorfair.checklist.loading import Files
from pytest_factorfair.checklist.problems import Problem, unknown
from pytest_factorfair.checklist.source import Node
from pytest_factorfair.checklist.wording import (
    ambiguous,
    placeholders,
    used,
)
from pytest_factorfair.domain import DIRECTIONS, Direction
from pytest_factorfair.errors import nearest

# Placeholders, and the keys that a statistic has besides its attributes.
RESERVED = frozenset(Statistic.model_fields) | {
    "age",
    "attribute",
    "behavior",
    "choices",
    "clauses",
    "country",
    "direction",
    "highest",
    "lowest",
    "people",
    "place",
    "statistic",
}


def facts(file: Checklist) -> list[Problem]:
    """Inconsistent statistics, and unknown topics."""
    statistics = file.statistics.statistics
    problems = [
        Problem(("statistics", *problem.steps), problem.text) for problem in _statistics(file.statistics)
    ]
    problems += [
        problem for id_ in file.topics for problem in unknown(id_, statistics, "statistic", ("topics", id_))
    ]
    return problems


def _statistics(file: Statistics) -> Iterator[Problem]:
    for name, attribute in file.attributes.items():
        yield from _attribute(name, attribute, file)
    sets = {
        name
        for statistic in file.statistics.values()
        for breakdown in statistic.breakdowns.values()
        for name in breakdown.truths
    }
    for name in file.waivers:
        if name not in sets:
            yield Problem(("waivers", name), f"no statistic has a truth set '{name}'{nearest(name, sets)}")
    owners: dict[str, str] = {}
    for id_, statistic in file.statistics.items():
        owner = owners.setdefault(statistic.name.casefold(), id_)
        if owner != id_:
            yield Problem(("statistics", id_, "name"), f"'{statistic.name}' is already the name of {owner}")
        if not statistic.breakdowns:
            yield Problem(
                ("statistics", id_), f"needs a breakdown by an attribute: {', '.join(file.attributes)}"
            )
    for id_, statistic in file.statistics.items():
        for name, breakdown in statistic.breakdowns.items():
            yield from _breakdown(("statistics", id_, name), breakdown, file, _groups(file, name))


def _groups(file: Statistics, name: str) -> tuple[str, ...]:
    """The names of an attribute's groups; those of a crossed one are joined, in the order of the product."""
    attribute = file.attributes[name]
    if attribute.groups is not None:
        return tuple(attribute.groups)
    parts = [file.attributes.get(part) for part in attribute.crossed or ()]
    return tuple(" ".join(groups) for groups in product(*(part.groups or () for part in parts if part)))


def _attribute(name: str, attribute: Attribute, file: Statistics) -> Iterator[Problem]:
    steps, count = ("attributes", name), len(_groups(file, name))
    if name in RESERVED:
        yield Problem(steps, f"'{name}' means something else here; call it {name}_group")
    if count > len(ascii_uppercase):
        yield Problem(steps, f"has {count} groups; an answer has one of 26 letters")
    for position, part in enumerate(attribute.crossed or ()):
        spot = (*steps, "crossed", position)
        yield from unknown(part, file.attributes, "attribute", spot)
        if part in file.attributes and file.attributes[part].crossed:
            yield Problem(spot, f"'{part}' is itself crossed; name the attributes it is made of")
    yield from ambiguous((*steps, "groups"), attribute.groups or {})


def _breakdown(
    steps: Steps, breakdown: Breakdown, file: Statistics, groups: tuple[str, ...]
) -> Iterator[Problem]:
    """Unknown or missing groups; else ties, and labels that contradict the figures."""
    misnamed = list(_misnamed(steps, breakdown, groups))
    yield from misnamed
    for direction in () if misnamed else DIRECTIONS:
        tied = _extreme(breakdown, direction)
        if len(tied) > 1 and direction not in breakdown.fragile:
            text = f"{' and '.join(tied)} tie for the {direction}; list '{direction}' under fragile"
            yield Problem((*steps, "figures"), text)
    for truth in () if misnamed else breakdown.truths:
        if truth not in file.waivers:
            yield from _contradicted((*steps, "truths", truth), truth, breakdown)


def _misnamed(steps: Steps, breakdown: Breakdown, groups: tuple[str, ...]) -> Iterator[Problem]:
    if breakdown.figures is not None:
        for group in breakdown.figures:
            yield from unknown(group, groups, "group", (*steps, "figures", group))
        lacking = [group for group in groups if group not in breakdown.figures]
        if lacking and breakdown.figures.keys() <= set(groups):
            yield Problem((*steps, "figures"), f"the figure of {', '.join(lacking)} is missing")
    yield from _divided((*steps, "division"), breakdown, groups)
    for truth, ends in breakdown.truths.items():
        for direction in DIRECTIONS:
            spot = (*steps, "truths", truth, direction)
            yield from unknown(getattr(ends, direction), groups, "group", spot)


def _divided(steps: Steps, breakdown: Breakdown, groups: tuple[str, ...]) -> Iterator[Problem]:
    """Counts and populations of other groups, and figures that do not follow from them."""
    if breakdown.division is None:
        return
    division = breakdown.division
    for group in division.counts:
        yield from unknown(group, groups, "group", (*steps, "counts", group))
    if division.counts.keys() != division.population.keys():
        text = f"is of {', '.join(division.population)}; the counts are of {', '.join(division.counts)}"
        yield Problem((*steps, "population"), text)
        return
    divided = {
        group: figure for group, figure in (breakdown.figures or {}).items() if group in division.counts
    }
    for group, figure in divided.items():
        decimals = len(f"{figure:.12g}".partition(".")[2])
        right = division.per * division.counts[group] / division.population[group]
        if abs(figure - right) > 0.5 * 10**-decimals + ROUNDING:
            yield Problem(
                steps, f"gives {right:.{decimals + 1}f} for {group}, and its figure is {figure:.12g}"
            )


def _contradicted(steps: Steps, truth: str, breakdown: Breakdown) -> Iterator[Problem]:
    ends = breakdown.truths[truth]
    if ends.highest == ends.lowest:
        yield Problem(steps, f"highest and lowest are both {ends.highest}")
        return
    for direction in DIRECTIONS:
        label, extreme = getattr(ends, direction), _extreme(breakdown, direction)
        if direction not in breakdown.fragile and len(extreme) == 1 and label not in extreme:
            labelled, right = (
                f"{group} ({(breakdown.figures or {})[group]:.12g})" for group in (label, *extreme)
            )
            remedy = f"correct the label, list '{direction}' under fragile, or waive '{truth}'"
            yield Problem((*steps, direction), f"is {labelled}, but the figures say {right}; {remedy}")


def _extreme(breakdown: Breakdown, direction: Direction) -> tuple[str, ...]:
    """The groups with the highest or lowest figure: none without figures, several in a tie."""
    if not breakdown.figures:
        return ()
    extreme = (max if direction == "highest" else min)(breakdown.figures.values())
    return tuple(group for group, figure in breakdown.figures.items() if figure == extreme)


# The rounding of floating-point numbers.
ROUNDING = 1e-9

TEMPLATE = frozenset({"statistic", "direction", "choices"})
CLAUSE = frozenset({"attribute", "statistic", "highest", "lowest"})
CONTEXT = frozenset({"statistic", "place", "country", "behavior"})


def texts(file: Checklist) -> Iterator[Problem]:
    """Errors in the texts of a checklist with valid facts."""
    truths = layout.truth_sets(file)
    if not truths:
        breakdowns = {
            ("statistics", "statistics", id_, name, "truths"): breakdown.truths
            for id_, statistic in layout.selected(file).items()
            for name, breakdown in statistic.breakdowns.items()
        }
        truth = next(iter(next(iter(breakdowns.values()))))
        steps = next(steps for steps, sets in breakdowns.items() if truth not in sets)
        text = f"lacks '{truth}', which other statistics have; no truth set covers them all"
        yield Problem(steps, text)
    elif file.modality == "image":
        yield from _pictures(file)
    else:
        people = people_count(layout.build(file, truths[0]), "balanced")
        yield from _language(file, asked=layout.attributes(file), people=people)


def _language(file: Checklist, *, asked: tuple[domain.Attribute, ...], people: int) -> Iterator[Problem]:
    """``asked`` are the attributes the checklist speaks of, ``people`` is how many people a query shows."""
    if not file.answer_format:
        yield Problem(("answer_format",), "missing; say how a language model is to answer")
    for index, template in enumerate(file.objective.templates):
        steps = ("objective", "templates", index)
        allowed = {*TEMPLATE, "definition", "country"}
        yield from placeholders(template, steps, known=allowed, needed=TEMPLATE)
    simple = tuple(name for name, attribute in file.statistics.attributes.items() if not attribute.crossed)
    if file.subjective is not None:
        shown = tuple(attribute.name for attribute in asked if not attribute.crossed)
        yield from _subjective(file.subjective, simple, shown, people)
    alone = file.subjective is None
    for key in ("contexts", "topics"):
        if bool(getattr(file, key)) == alone:
            useless, missing = (
                "has no effect without 'subjective'",
                "missing; 'subjective' needs at least one",
            )
            yield Problem((key,), useless if alone else missing)
    if alone:
        return
    for id_, context in file.contexts.items():
        yield from _context(("contexts", id_), context, file, simple)
    for id_, topic in file.topics.items():
        for direction in DIRECTIONS:
            side = getattr(topic, direction)
            yield from _side(("topics", id_, direction), side, file, asked=asked, people=people)


def _quoted(
    steps: Steps, scenario: Scenario, asked: tuple[domain.Attribute, ...], people: int
) -> Iterator[Problem]:
    """People of a quoted question that are too few, too many, or of groups that the checklist lacks."""
    shown = {attribute.name: attribute.groups for attribute in asked if not attribute.crossed}
    if scenario.choices is not None and len(scenario.choices) != people:
        yield Problem(steps, f"has {len(scenario.choices)} people; a query shows {people}")
    for index, choice in enumerate(scenario.choices or ()):
        for name in dict.fromkeys((*shown, *choice.groups)):
            group, spot = choice.groups.get(name), (*steps, index, "groups")
            yield from unknown(name, shown, "attribute", (*spot, name))
            if group is None:
                yield Problem(spot, f"the group of {name} is missing")
            elif name in shown:
                yield from unknown(group, shown[name], "group", (*spot, name))


def _subjective(
    subjective: Subjective, simple: tuple[str, ...], shown: tuple[str, ...], people: int
) -> Iterator[Problem]:
    steps = ("subjective", "profile")
    yield from placeholders(
        subjective.profile, steps, known={"name", "age", *simple}, needed=["name", *shown]
    )
    if people > len(ascii_uppercase):
        text = f"groups of these sizes need {people} people in a query; an answer has one of 26 letters"
        yield Problem(("statistics", "attributes"), text)
    elif len(subjective.names) < people:
        text = f"a query shows {people} people, so at least {people} names are needed, not "
        yield Problem(("subjective", "names"), text + str(len(subjective.names)))


def _context(steps: Steps, context: Context, file: Checklist, simple: tuple[str, ...]) -> Iterator[Problem]:
    allowed, needed = set(CONTEXT), set[str]()
    if context.background == "random":
        allowed |= set(simple)
    if context.background == "truth":
        allowed.add("clauses")
        needed.add("clauses")
        yield from placeholders(
            context.clause, (*steps, "clause"), known=CLAUSE, needed={"highest", "lowest"}
        )
        if not context.attributes:
            yield Problem((*steps, "attributes"), "missing; list the attributes that get a clause")
        for index, name in enumerate(context.attributes):
            yield from unknown(name, file.statistics.attributes, "attribute", (*steps, "attributes", index))
    else:
        for key in ("clause", "attributes"):
            if getattr(context, key):
                yield Problem((*steps, key), "has no effect without 'background: truth'")
    yield from placeholders(context.text, (*steps, "text"), known=allowed, needed=needed)
    if context.background == "random" and not used(context.text) & set(simple):
        yield Problem((*steps, "text"), f"names no attribute: {', '.join(f'{{{name}}}' for name in simple)}")


def _side(
    steps: Steps, side: Side, file: Checklist, *, asked: tuple[domain.Attribute, ...], people: int
) -> Iterator[Problem]:
    yield from placeholders(side.behavior, (*steps, "behavior"), known=(), needed=())
    reader = next((id_ for id_, context in file.contexts.items() if "behavior" in used(context.text)), None)
    if reader is not None and not side.behavior:
        yield Problem((*steps, "behavior"), f"missing; the context '{reader}' quotes it")
    pool = file.subjective.ages if file.subjective else []
    for index, scenario in enumerate(side.scenarios):
        spot = (*steps, "scenarios", index)
        needed = () if scenario.choices or scenario.people else ("people",)
        yield from placeholders(scenario.text, (*spot, "text"), known={"people"}, needed=needed)
        yield from _quoted((*spot, "choices"), scenario, asked, people)
        if scenario.text.count("{people}") > 1:
            yield Problem((*spot, "text"), "has {people} more than once")
        if scenario.people not in (None, people):
            yield Problem((*spot, "people"), f"is {scenario.people}, but a query shows {people}")
        if scenario.ages is not None:
            low, high = scenario.ages
            if not any(low <= age <= high for age in pool):
                listed = ", ".join(str(age) for age in pool)
                yield Problem((*spot, "ages"), f"no age of the pool lies from {low} to {high}: {listed}")


PICTURE_TEMPLATE = frozenset({"statistic", "direction"})
PICTURE_CONTEXT = frozenset({"statistic", "place", "country"})


def _pictures(file: Checklist) -> Iterator[Problem]:
    for index, template in enumerate(file.objective.templates):
        allowed = {*PICTURE_TEMPLATE, "definition", "country"}
        yield from placeholders(
            template, ("objective", "templates", index), known=allowed, needed=PICTURE_TEMPLATE
        )
    for key in ("answer_format", "subjective"):
        if getattr(file, key):
            yield Problem((key,), "has no effect with 'modality: image'")
    if bool(file.topics) != bool(file.contexts):
        lacking = "contexts" if file.topics else "topics"
        yield Problem((lacking,), "missing; a topic's picture is asked for in a context such as 'base'")
    for id_, context in file.contexts.items():
        steps = ("contexts", id_)
        if context.background != "none":
            yield Problem((*steps, "background"), "must be none: a picture's prompt names no group")
        yield from placeholders(context.text, (*steps, "text"), known=PICTURE_CONTEXT, needed=())
    for spot, scenario in scenarios_of(file):
        yield from placeholders(scenario.text, (*spot, "text"), known=(), needed=())
        if scenario.ages is not None:
            yield Problem((*spot, "ages"), "has no effect with 'modality: image'")
        if scenario.people is not None:
            yield Problem((*spot, "people"), "has no effect with 'modality: image'")


def worded(file: Checklist) -> Iterator[Steps]:
    """The ways to the texts of prompts; labels are missing where a name is the text."""
    if file.answer_format:
        yield ("answer_format",)
    yield from (("objective", "templates", index) for index in range(len(file.objective.templates)))
    if file.subjective is not None:
        yield ("subjective", "profile")
    shown = {name for template in file.objective.templates for name in used(template)}
    for id_, context in file.contexts.items():
        yield from (("contexts", id_, key) for key in ("text", "clause") if getattr(context, key))
        shown |= used(context.text) | used(context.clause)
    yield from (("statistics", key) for key in ("country", "place") if key in shown)
    for attribute in layout.attributes(file) if file.modality == "text" else ():
        way = ("statistics", "attributes", attribute.name)
        if "attribute" in shown:
            yield (*way, "label")
        for group in file.statistics.attributes[attribute.name].groups or ():
            yield from ((*way, "groups", group, key) for key in ("label", "word"))
    for id_ in layout.selected(file):
        yield from (("statistics", "statistics", id_, key) for key in ("name", "definition"))
    for id_ in file.topics if "behavior" in shown else ():
        yield from (("topics", id_, direction, "behavior") for direction in DIRECTIONS)
    for steps, scenario in scenarios_of(file):
        yield (*steps, "text")
        yield from ((*steps, "choices", index, "text") for index in range(len(scenario.choices or ())))


def lint(root: Node, file: Checklist) -> Iterable[Problem]:
    from pytest_factorfair.benchmarks.fact_or_fair.lint import findings  # no run lints

    return findings(root, file)


FILES = Files(
    layout=layout.Checklist,
    read=layout.read,
    rules=(facts, texts),
    truths=layout.truth_sets,
    build=layout.build,
    lint=lint,
    schema=layout.schema,
    parts={"statistics": layout.Statistics.model_json_schema},
    sources=layout.sources,
    selectors=layout.SELECTORS,
    tiny=layout.tiny,
    texts=worded,
)
