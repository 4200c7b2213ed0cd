"""Making, taking apart and rearranging tensors."""
