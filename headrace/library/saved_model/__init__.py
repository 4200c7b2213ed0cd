"""SavedModels: a folder with graphs, the values of their variables, their files, and what goes in and comes out."""
