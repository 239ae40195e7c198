"""Factuality and fairness of a model as a pytest run that passes or fails a release.

    checklist → cases → queries → model → responses → answers → distributions → scores → gates → reports

| layer | rooms                        | what they do                                                     |
|-------|------------------------------|------------------------------------------------------------------|
| 0     | domain, errors               | values and vocabulary                                            |
| 1     | checklist, models, store     | YAML to queries; one request to one response; what outlives a run |
| 2     | engine, reading              | queries to responses; responses to answers                       |
| 3     | scoring                      | answers to counts to scores                                      |
| 4     | gates                        | scores to verdicts                                               |
| 5     | reports                      | a summary for people and machines                                |

The modules beside the rooms are what pytest sees of it; begin with ``plugin.py``. Scores without pytest:
``from pytest_factorfair.scoring import s_fact, s_e``. ARCHITECTURE.md has the whole house.
"""

__all__: list[str] = []
