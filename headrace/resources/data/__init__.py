"""Datasets: chains of stages (stage), and cursors that go through them (stage), without graph, session or runtime."""
