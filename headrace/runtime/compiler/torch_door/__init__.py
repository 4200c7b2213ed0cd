"""The one door to torch's insides: only these files use names that torch does not promise to keep.  ``names`` lists them."""
