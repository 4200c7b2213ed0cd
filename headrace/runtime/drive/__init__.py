"""Driving what is ready: counters of strands, frames of loops, nodes that wait."""
