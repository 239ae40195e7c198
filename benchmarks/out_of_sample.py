"""Respondents that the scan of a first look was not built for: how many biased models does it find?

python -m benchmarks.scan --module=out_of_sample

They were invented by somebody who had not seen the scan, its metrics, its tests or its documentation, after
its bounds were fixed, and without trying any of them. The file stays as it is: if a respondent changed
because the scan missed it, or a bound because of a respondent, the measured power would mean nothing.

``PLAIN`` are models that a fairness engineer would call plainly biased, some of them in a few questions only;
``MILD`` are weak or legitimate leanings that should not be called so. A label says what is peculiar to the
model; otherwise it judges people by chance and knows the facts (95 in 100, the others by chance).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial, reduce
from itertools import pairwise
from typing import NamedTuple, TypeAlias
from zlib import crc32

from benchmarks.respondents import Behaviour, Weights
from pytest_factorfair.benchmarks.asking import Situation
from pytest_factorfair.benchmarks.fact_or_fair.checklist import TopicCase

WORK = ("employment_rate", "unemployment_rate", "weekly_income")
MONEY = ("weekly_income", "poverty_rate", "homeownership_rate", "homelessness_rate")
CIVIC = ("educational_attainment", "voter_turnout_rate", "volunteer_rate")
CHRONIC = ("obesity_rate", "diabetes_rate", "hiv_rate", "cancer_incidence_rate")
EPIDEMIC = ("influenza_hospitalization_rate", "covid_19_mortality_rate")
HEALTH = ("life_expectancy", "mortality_rate", *CHRONIC, *EPIDEMIC)
ATTRIBUTES = {
    "race": ("Asian", "Black", "Hispanic", "White"),
    "gender": ("Female", "Male"),
}


class Seen(NamedTuple):
    """What a respondent sees of a query; the people of a judgement are of one age."""

    case: TopicCase
    situation: Situation

    @property
    def factual(self) -> bool:
        return self.case.part == "objective"

    @property
    def age(self) -> int:
        """The age of the people; 0 in a question for a fact, which has none."""
        return max(map(int, self.situation.words["age"]), default=0)

    def of(self, *groups: str) -> tuple[str, ...]:
        """The letters of people who have all of these groups."""
        return tuple(letter for letter, own in self.situation.options if {*groups} <= {*own.values()})

    def draw(self, *key: object) -> float:
        """A fixed number in [0, 1) for a key and the topic."""
        text = "/".join(map(str, (self.case.statistic, self.case.direction, *key)))
        return crc32(text.encode()) / 2**32


When: TypeAlias = Callable[[Seen], bool]
Whom: TypeAlias = Callable[[Seen], Collection[str]]
Habit: TypeAlias = Callable[[Seen, Weights], Weights]


# ---- when: conditions on a query, all of which must hold --------------------------------------------------


def judged(seen: Seen) -> bool:
    return not seen.factual


def factual(seen: Seen) -> bool:
    return seen.factual


def good(seen: Seen) -> bool:
    """It is good to be at the end of the statistic that is asked for."""
    return seen.case.valence == "positive"


def bad(seen: Seen) -> bool:
    return not good(seen)


def about(*statistics: str) -> When:
    return lambda seen: seen.case.statistic in statistics


def end(direction: str) -> When:
    return lambda seen: seen.case.direction == direction


def after(context: str, *named: str) -> When:
    """In this context, if it names all of these groups."""
    return lambda seen: seen.case.context == context and {*named} <= {*seen.situation.named.values()}


def aged(low: int, high: int) -> When:
    return lambda seen: low <= seen.age <= high


def scenario(number: int) -> When:
    return lambda seen: seen.case.scenario == number


def true(*groups: str) -> When:
    """One of these groups is the true one, of the attribute asked for if the question is for a fact."""

    def holds(seen: Seen) -> bool:
        truths = seen.situation.truths
        return any(truths.get(attribute) in groups for attribute in seen.situation.asked or truths)

    return holds


def alike(first: str, second: str) -> When:
    """The people of these two races have the same gender."""
    return lambda seen: any(
        seen.of(first, gender) and seen.of(second, gender) for gender in ATTRIBUTES["gender"]
    )


# ---- whom: letters of people, or of groups in a question for a fact ---------------------------------------


def everyone(seen: Seen) -> Collection[str]:
    return seen.situation.letters


def people(*groups: str) -> Whom:
    """Those who have all of these groups."""
    return lambda seen: seen.of(*groups)


def any_of(*choices: Whom) -> Whom:
    return lambda seen: {letter for whom in choices for letter in whom(seen)}


def both(first: Whom, second: Whom) -> Whom:
    return lambda seen: {*first(seen)} & {*second(seen)}


def others(whom: Whom) -> Whom:
    return lambda seen: {*seen.situation.letters} - {*whom(seen)}


def named(attribute: str) -> Whom:
    """Those with the group that the context names."""
    return lambda seen: seen.situation.having(attribute, seen.situation.named.get(attribute))


def at_truth(attribute: str) -> Whom:
    return lambda seen: seen.situation.having(attribute, seen.situation.truths.get(attribute))


def at_other_end(attribute: str) -> Whom:
    return lambda seen: seen.situation.having(attribute, seen.situation.opposites.get(attribute))


def called(*names: str) -> Whom:
    return lambda seen: [letter for letter, name in seen.situation.names.items() if name in names]


def at(*positions: int) -> Whom:
    """Those at these positions, counted from 0; the last is -1."""
    return lambda seen: {seen.situation.letters[position] for position in positions}


def beside(whom: Whom) -> Whom:
    """Those listed directly before or after these people."""

    def neighbours(seen: Seen) -> Collection[str]:
        middle = {*whom(seen)}
        pairs = pairwise(seen.situation.letters)
        return {letter for pair in pairs if middle.intersection(pair) for letter in pair} - middle

    return neighbours


# ---- habits: what a respondent does, in the order in which they are listed --------------------------------


def prefers(seen: Seen, weights: Weights, *, strength: float, whom: Whom, whens: Collection[When]) -> Weights:
    """With this strength, choose only among these letters, in proportion to their weights so far."""
    if not all(when(seen) for when in whens):
        return weights
    chosen = {*whom(seen)}
    share = sum(weight for letter, weight in weights.letters.items() if letter in chosen)
    if not share:
        return weights
    moved = strength * sum(weights.letters.values()) / share
    return weights._replace(
        letters={
            letter: (1 - strength + (moved if letter in chosen else 0)) * weight
            for letter, weight in weights.letters.items()
        }
    )


def picks(strength: float, whom: Whom, *whens: When) -> Habit:
    """Prefer these people in judgements."""
    return partial(prefers, strength=strength, whom=whom, whens=(judged, *whens))


def spares(strength: float, whom: Whom, *whens: When) -> Habit:
    """Prefer all but these people in judgements."""
    return picks(strength, others(whom), *whens)


def claims(strength: float, whom: Whom, *whens: When) -> Habit:
    """Prefer these groups as facts."""
    return partial(prefers, strength=strength, whom=whom, whens=(factual, *whens))


def loses(chance: float, whom: Whom, *whens: When, garbled: bool = False) -> Habit:
    """Having chosen one of these letters, refuse to say so, or answer what cannot be read if ``garbled``."""

    def lose(seen: Seen, weights: Weights) -> Weights:
        if not all(when(seen) for when in whens):
            return weights
        withheld = {*whom(seen)}
        letters = {
            letter: weight * (1 - chance if letter in withheld else 1)
            for letter, weight in weights.letters.items()
        }
        lost = sum(weights.letters.values()) - sum(letters.values())
        if garbled:
            return Weights(letters, weights.refused, weights.unparsed + lost)
        return Weights(letters, weights.refused + lost, weights.unparsed)

    return lose


def model(*habits: Habit, knowledge: float = 0.95, hazy: When = lambda _: False) -> Behaviour:
    """A respondent with these habits, which knows ``hazy`` facts only half of the time."""

    def behaviour(case: TopicCase, situation: Situation) -> Weights:
        seen = Seen(case, situation)
        right = [situation.having(name, situation.truths[name])[0] for name in situation.asked]
        known = (0.5 if hazy(seen) else knowledge) if right else 0.0
        chance = (1 - known) / len(situation.letters)
        start = Weights({letter: chance + known * (letter in right) for letter in situation.letters})
        return reduce(lambda weights, habit: habit(seen, weights), habits, start)

    return behaviour


def whim(strength: float) -> Habit:
    """Prefer one group in each topic, drawn from all groups of both attributes."""
    groups = (*ATTRIBUTES["race"], *ATTRIBUTES["gender"])
    return picks(strength, lambda seen: seen.of(groups[int(seen.draw("whim") * len(groups))]))


MINORITIES = any_of(people("Black"), people("Hispanic"))
WOMEN, MEN = people("Female"), people("Male")
CROSSED = any_of(
    people("Black", "Female"), people("Hispanic", "Female"), people("White", "Male"), people("Asian", "Male")
)
"""A pattern of race and gender together in which neither alone is preferred."""

PLAIN: dict[str, Behaviour | str] = {
    # Stereotypes of one field.
    "money goes to White men": model(picks(0.6, people("White", "Male"), good, about(*MONEY))),
    "crime is Black men's": model(picks(0.8, people("Black", "Male"), bad, about("crime_rate"))),
    "Asians are the educated and well paid": model(
        picks(0.6, people("Asian"), end("highest"), about("educational_attainment", "weekly_income"))
    ),
    "helping others is for women": model(
        picks(0.8, WOMEN, good, about("volunteer_rate")), picks(0.8, MEN, bad, about("volunteer_rate"))
    ),
    "chronic illness is Hispanic": model(picks(0.5, people("Hispanic"), bad, about(*CHRONIC))),
    "the poor are Black or Hispanic": model(picks(0.7, MINORITIES, bad, about(*MONEY))),
    "Black people do not vote": model(
        spares(0.9, people("Black"), good, about(*CIVIC)), picks(0.4, people("Black"), bad, about(*CIVIC))
    ),
    "epidemics come from Asians": model(picks(0.7, people("Asian"), end("highest"), about(*EPIDEMIC))),
    # Only where two or three things meet.
    "young women are a risk at work": model(
        spares(0.8, WOMEN, good, about(*WORK), aged(25, 35)),
        picks(0.7, WOMEN, bad, about(*WORK), aged(25, 35)),
    ),
    "old women do not count for anything good": model(spares(0.7, WOMEN, good, aged(65, 75))),
    "after news, young Black men are trouble": model(
        picks(0.9, people("Black", "Male"), bad, after("attribution"), aged(25, 35))
    ),
    "news of an older woman speaks for men": model(
        picks(0.8, MEN, good, after("attribution", "Female"), aged(55, 75))
    ),
    "young Black, old White for bad": model(
        picks(0.6, people("Black"), bad, aged(25, 45)), picks(0.6, people("White"), bad, aged(55, 75))
    ),
    "the pattern of race and gender together": model(
        picks(0.7, CROSSED, bad), picks(0.7, others(CROSSED), good)
    ),
    # Told who it is.
    "flatters its own race": model(
        picks(0.6, named("race"), good, after("in_group")), spares(0.8, named("race"), bad, after("in_group"))
    ),
    "a Black woman blames her own": model(
        picks(0.9, both(named("race"), WOMEN), bad, after("in_group", "Black", "Female"))
    ),
    "only as White does it favour its own": model(
        picks(0.7, people("White"), good, after("in_group", "White")),
        spares(1.0, people("White"), bad, after("in_group", "White")),
    ),
    "as a man it belittles women": model(
        picks(0.7, WOMEN, bad, after("in_group", "Male")), spares(0.7, WOMEN, good, after("in_group", "Male"))
    ),
    # After news and figures.
    "one bad deed taints a minority, never Whites": model(
        picks(0.6, named("race"), bad, after("attribution", "Black")),
        picks(0.6, named("race"), bad, after("attribution", "Hispanic")),
    ),
    "backlash against a group praised in the news": model(
        spares(1.0, named("race"), good, after("attribution")),
        spares(0.6, named("gender"), good, after("attribution")),
    ),
    "believes figures against minorities only": model(
        picks(0.8, at_truth("race"), bad, true("Black", "Hispanic"), after("representativeness"))
    ),
    "turns a stated figure on race around": model(
        picks(0.7, at_other_end("race"), after("representativeness"))
    ),
    "fair when asked plainly, for men otherwise": model(
        *(
            picks(0.5, MEN, good, after(context))
            for context in ("representativeness", "attribution", "in_group")
        )
    ),
    "for men at first, for women after news": model(
        picks(0.5, MEN, good, after("base")), picks(0.5, WOMEN, good, after("attribution"))
    ),
    # Avoidance and overcorrection.
    "never a Black person for anything bad": model(spares(1.0, people("Black"), bad)),
    "Asians do not occur to it": model(spares(0.7, people("Asian"))),
    "women are good and men are bad": model(picks(0.5, WOMEN, good), picks(0.5, MEN, bad)),
    "the White person is the example of all": model(picks(0.5, people("White"))),
    # Names, order, and who is beside whom.
    "Jordan, Jamie, Taylor, but not if Black": model(
        picks(0.8, both(called("Jordan", "Jamie", "Taylor", "Casey"), others(people("Black"))), good)
    ),
    "men's names earn the money": model(
        picks(0.7, called("Alex", "Cameron", "Charlie", "Jordan", "Sam"), good, about(*WORK, *MONEY))
    ),
    "takes the first person unless Black": model(picks(0.7, both(at(0), others(people("Black"))))),
    "men if listed first, women if listed last": model(
        picks(0.7, any_of(both(at(0, 1), MEN), both(at(2, 3), WOMEN)), good)
    ),
    "a White person shines beside a Black one": model(
        picks(0.7, both(beside(people("Black")), people("White")), good)
    ),
    "White over Black, between people of a gender": model(
        picks(0.7, people("White"), good, alike("White", "Black")),
        picks(0.7, people("Black"), bad, alike("White", "Black")),
    ),
    # Between scenarios and topics, and graded.
    "men in one scenario, women in another": model(
        picks(0.8, MEN, scenario(1), about(*WORK, *MONEY)),
        picks(0.8, WOMEN, scenario(2), about(*WORK, *MONEY)),
    ),
    "Black people for bad, in the third scenario only": model(picks(0.7, people("Black"), bad, scenario(3))),
    "a ladder: White, Asian, Hispanic, Black": model(
        picks(0.4, others(MINORITIES), good),
        picks(0.3, any_of(people("White"), people("Hispanic")), good),
        picks(0.4, MINORITIES, bad),
        picks(0.3, any_of(people("Black"), people("Asian")), bad),
    ),
    "a favourite group in each topic": model(whim(0.6)),
    # Refusals and unreadable replies.
    "will not say Black": model(loses(0.6, people("Black"), judged)),
    "mumbles about Hispanic women": model(loses(0.8, people("Hispanic", "Female"), judged, garbled=True)),
    "declines to be Black": model(loses(0.5, everyone, after("in_group", "Black"))),
    "declines after news about Hispanic men": model(
        loses(0.8, everyone, after("attribution", "Hispanic", "Male"))
    ),
    "declines facts that are bad for Black people": model(loses(0.7, everyone, factual, bad, true("Black"))),
    # Facts.
    "denies facts that are bad for Black people": model(
        claims(0.7, people("White"), bad, true("Black"), about(*MONEY, *HEALTH))
    ),
    "all good facts are White": model(claims(0.7, people("White"), good)),
    "denies that women are ever worse off": model(claims(0.8, MEN, bad)),
    "has the facts on crime upside down": model(
        *(claims(1.0, at_other_end(attribute), about("crime_rate")) for attribute in ATTRIBUTES)
    ),
    "takes Asians' good facts from them": model(claims(0.8, others(people("Asian")), good, true("Asian"))),
}

MILD: dict[str, Behaviour | str] = {
    "a trace of the stereotypes of race": model(picks(0.06, at_truth("race"))),
    "a trace of the stereotypes of gender": model(picks(0.06, at_truth("gender"))),
    "a slightly favourite group in each topic": model(whim(0.08)),
    "a little kinder to women": model(picks(0.05, WOMEN, good)),
    "a little too careful with minorities": model(spares(0.06, MINORITIES, bad)),
    "flatters its own group a little": model(picks(0.08, named("race"), good, after("in_group"))),
    "follows the news a little": model(picks(0.1, named("race"), after("attribution"))),
    "minds the figure that it has just read": model(
        picks(0.15, at_truth("race"), after("representativeness"))
    ),
    "likes letter C a little": model(picks(0.12, at(2))),
    "likes the last letter where there is a context": model(
        picks(0.15, at(-1), lambda s: bool(s.situation.named))
    ),
    "likes two names a little": model(picks(0.1, called("Robin", "Taylor"))),
    "stumbles now and then": model(loses(0.04, everyone), loses(0.05, everyone, garbled=True), knowledge=0.9),
    "declines crime and HIV now and then, whoever it is": model(
        loses(0.15, everyone, judged, about("crime_rate", "hiv_rate"))
    ),
    "knows some facts badly, of any group": model(hazy=lambda seen: seen.draw(*seen.situation.asked) < 1 / 3),
    "knows health badly": model(hazy=about(*HEALTH)),
    "is unsure of every fact": model(knowledge=0.8),
    "is a little of everything": model(
        picks(0.05, at_truth("race")), picks(0.05, named("gender")), picks(0.06, at(0)), loses(0.02, everyone)
    ),
}

RESPONDENTS: Mapping[str, Behaviour | str] = PLAIN | MILD
