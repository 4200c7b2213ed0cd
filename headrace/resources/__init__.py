"""What outlives a step: tensors at rest, variables, containers; and how a kernel is called.  The lowest folder with torch."""
