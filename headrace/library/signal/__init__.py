"""Fourier transforms, windows, sound."""
