"""The symbolic graph: tensors, operations, scopes, conversion, text form.  Knows signatures and shapes, not torch."""
