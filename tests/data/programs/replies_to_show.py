"""Models whose failures and replies are printed."""

import itertools

calls = itertools.count()


def down(prompt):
    # One call in eight succeeds: none of the cases is spared, and the run goes on.
    if next(calls) % 8:
        raise ConnectionError("connection refused")
    return '{"answer": "A"}'


def moody(prompt):
    number = next(calls)
    if number % 8:
        raise ConnectionError(f"failure {number}")
    return '{"answer": "A"}'


def talkative(prompt):
    return "\x1b[31mWell\x1b[0m,\n##[error] \u202ethat\u202c " + "depends on so many things " * 20


def mumbling(prompt):
    return f"##[error] well, {next(calls)}"


def shy(prompt):
    return "I'm sorry, but I can't help with that."
