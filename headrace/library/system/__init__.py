"""What surrounds a program: flags, files, versions, devices, exported graphs."""
