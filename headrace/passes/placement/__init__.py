"""Which device each node gets where nobody asks for one: by simulating the step (white paper 3.2.1).

Pure: no torch, no clock, no files.  `passes/place.py` and `passes/whole_graph.py` say what is free to be decided and keep to what
the user asked for; the rooms beside this one say what things cost (`passes/cost/`).
"""
