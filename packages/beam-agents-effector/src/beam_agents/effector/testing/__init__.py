"""Kits for those who test their tools, or a backend of their own, against the effector."""
