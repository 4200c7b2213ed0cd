"""Data sets that many examples use, read from files on this machine; nothing is downloaded."""
