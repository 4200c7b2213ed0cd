"""Reverse-mode differentiation of graphs: the sweep, summing, IndexedSlices, registered and custom gradients.  No torch."""
