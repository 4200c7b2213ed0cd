"""What a process has for its steps: devices, threads, the worker, graphs that are registered on it."""
