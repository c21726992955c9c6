"""`python -m beam_agents.effector`."""

from beam_agents.effector.cli import main

main()
