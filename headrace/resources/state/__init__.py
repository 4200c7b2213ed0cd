"""What outlives a step: variables, queues, accumulators, readers, tables, and the containers that hold them."""
