"""Sessions that a training loop runs in: prepared, watched, recovered and closed."""
