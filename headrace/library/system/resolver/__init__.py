"""Cluster resolvers: who the tasks of a cluster are, asked from whatever manages the machines.  They start and reach no task."""
