"""Queues: the order of elements (store), who waits (machine), the lock (queue), elements to and from batches (batch)."""
