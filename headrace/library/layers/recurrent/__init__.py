"""Recurrent layers: cells, the layer that runs a cell over sequences, and wrappers of layers."""
