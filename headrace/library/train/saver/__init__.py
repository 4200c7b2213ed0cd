"""Savers: what is saved, the nodes that save and restore it, and the files in which it is kept."""
