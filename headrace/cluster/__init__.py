"""Clusters: their description, and the servers that sessions name as their target."""
