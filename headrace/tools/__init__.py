"""Programs to run: the demo, and later the command line, the doctor and the viewers."""
