"""Processes of this host that call the functions of datasets: more cores than one interpreter can use."""
