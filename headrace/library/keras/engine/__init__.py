"""Models: graphs of layers, stacks of layers, and classes of layers."""
