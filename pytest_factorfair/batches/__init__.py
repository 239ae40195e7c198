"""Answers by batch: a service takes many requests at once, and answers them within a day at a lower price.

``run`` decides what a run sends and waits for; ``batching`` sends, ``collecting`` takes batches on from
whatever state they are in, and ``holds`` reserves what they may cost. ``protocol`` is the interface of batch
services: ``openai``, ``anthropic`` (both by ``http``) and ``folder``.
"""
