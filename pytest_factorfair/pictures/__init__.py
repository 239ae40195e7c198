"""Encoded pictures and their pixels: decoding what a model returned, and the code cards of simulated models."""
