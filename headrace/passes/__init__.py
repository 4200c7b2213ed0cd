"""Graph -> graph: one pass a file, the ordered list in ``pipeline``.  Knows traits, not op names; no torch."""
