"""Judges, from what topics and ledgers hold, whether the guarantees were kept."""
