"""Copies of models and detectors in the actors of a Ray cluster, each used like a single one.

``fleet`` holds the replicas of a run, ``pool`` distributes requests over the replicas of one object, and
``cluster`` is the connection. ``model`` and ``detector`` are what a run asks instead of its own.
"""
