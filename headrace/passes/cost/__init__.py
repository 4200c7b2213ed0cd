"""What a node costs: its work, and the seconds that a device needs for it.  Pure: no torch, no clock, no files."""
