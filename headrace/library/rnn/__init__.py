"""Recurrent networks: cells, wrappers of cells, and what unrolls them (in the graph, or in a loop)."""
