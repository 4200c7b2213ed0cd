"""Sessions: the mapping of nested fetches and feeds onto planned steps."""
