"""Variables: how they are made, named, shared, initialised and partitioned."""
