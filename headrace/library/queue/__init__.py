"""Queues: buffers between steps, with back-pressure (OSDI 3.1, white paper 4.6)."""
