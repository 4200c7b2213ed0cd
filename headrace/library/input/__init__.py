"""Input by queues: readers of files, producers of file names and slices, batches."""
