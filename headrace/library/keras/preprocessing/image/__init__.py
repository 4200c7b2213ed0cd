"""Images as arrays: files, warps and other random changes, and batches of them."""
