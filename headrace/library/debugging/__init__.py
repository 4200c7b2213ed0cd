"""Finding mistakes: comparisons of graphs and runs, tables of parameters, and tfdbg's sessions."""
