"""TF1's Python library on top of the graph: functions, variables, optimizers.  No torch here."""
