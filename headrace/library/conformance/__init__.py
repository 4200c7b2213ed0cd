"""Suites that a part of a program's own passes if it fits in: a device type (devicecheck)."""
