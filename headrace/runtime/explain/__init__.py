"""What a step does and why, in words."""
