"""The canary: does a service still answer as the model that was tested?

Fixed questions without a right answer are asked several times each. Their answers are compared with those of
a former run, by a test that takes the model's own noise into account (``statistics.differing``).
"""
