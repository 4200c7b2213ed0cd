"""What several op families share.  Registers nothing."""
