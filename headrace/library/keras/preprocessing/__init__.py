"""Text, sequences and images as arrays that a model takes."""
