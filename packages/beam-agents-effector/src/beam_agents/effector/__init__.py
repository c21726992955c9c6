"""Performs the intents of Beam agents: claims, executes, records, publishes, commits."""
