"""TF1's layers: objects that make their variables when first called, and a function for each."""
