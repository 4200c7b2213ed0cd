"""Immediate execution: one more context behind the same op call.  Kernels, gradient rules and the library are the graph's."""
