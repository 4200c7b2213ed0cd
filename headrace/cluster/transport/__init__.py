"""The transport between tasks: calls, one-way messages and tensors, over sockets or within a process.

``interface`` says what a transport is; ``endpoint`` is the one over ZeroMQ, ``in_process`` the one for tests.  Both know
nothing of graphs, steps or sessions.
"""
