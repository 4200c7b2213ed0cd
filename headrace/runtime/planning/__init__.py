"""From a graph and what is asked of it to a plan, and which form of a plan runs: interpreted or compiled, for which shapes."""
