"""What a training job would do on a cluster that is described: jobs as plain data, a machine of events, plans, reports."""
