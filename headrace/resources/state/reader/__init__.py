"""Readers: how a file becomes records (records), and who reads next, from which file (reader)."""
