"""Encoded pictures and their pixels: decoding, code cards, and the classes of faces."""
