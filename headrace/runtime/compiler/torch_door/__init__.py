"""The door to torch's compiler: names that torch does not promise to keep.  docs/next_torch.md lists them all."""
