"""Reverse-mode differentiation of graphs: the sweep, summing, IndexedSlices, registered and custom gradients.  No torch.

Importing this registers the gradients of the nodes that hold bodies, and of the primitives of control flow.
"""

from headrace.autodiff import control_flow, function, primitive

__all__ = ["control_flow", "function", "primitive"]
