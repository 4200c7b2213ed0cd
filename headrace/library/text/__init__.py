"""Strings, vocabularies, tables, records and Examples."""
