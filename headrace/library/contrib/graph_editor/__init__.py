"""contrib.graph_editor: choosing, copying and rewiring parts of a graph."""
