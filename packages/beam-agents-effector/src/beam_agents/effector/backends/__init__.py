"""Adapters of the effector's ports, one file a technology; only they import client libraries."""
