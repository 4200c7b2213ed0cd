"""A placed step cut into partitions, one for each device or task, that send one another what they need."""
