"""Benchmarks, one file for each table or figure; each is a program with a `main()` that prints its result."""
