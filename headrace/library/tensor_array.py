"""Tensor arrays (under construction)."""

class TensorArray:
    flow = None
    def with_flow(self, flow):
        return self
