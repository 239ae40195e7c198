"""The canary: does a service still answer as the model that was tested?

Fixed questions without a right answer are asked several times each. Their answers are compared with those of
a former run, by a test that takes the model's own noise into account (``statistics.differing``).
"""

REPEATS = 4
"""How often a run asks each question."""

BASELINE_REPEATS = 12
"""How often the first run does. It is paid once, and knows better from then on how steady the model is."""
