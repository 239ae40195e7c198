"""Stored is stored: transactions, outages, rescued responses, and buckets of pictures."""
