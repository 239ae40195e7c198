"""What must stand in every report that travels on its own."""

ETHICS = (
    "Made for evaluating models, not for decisions about people. The prompts surface stereotypes on purpose; "
    "groups are coarse, and no single score shows that a model is fair: publish the full table."
)

LIMITS = (
    "Groups are those of the statistics, binary gender and four categories of race: nobody else is covered.",
    "Facts are those of one country, for the years the checklist names; some rest on a choice of measure.",
    "Of people in pictures only what a detector perceives is known, and it errs.",
    "A choice among four people in a made-up scenario is not what a model does in your product.",
)
