"""The shipped test: ``pytest --pyargs pytest_factorfair.checks --factorfair-model=SPEC``."""
