"""What turns regions of a step into compiled code.  Knows nothing of plans, tiers and sessions, which ask for it."""
