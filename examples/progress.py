"""Progress of a loop: a tqdm bar on a terminal where tqdm is installed, printed lines everywhere."""

try:
    from tqdm.auto import tqdm
except ImportError:
    steps = range
    say = print
else:
    tqdm.monitor_interval = 0  # no thread that watches a bar this quick

    def steps(total):
        """Like range(total), with a bar."""
        return tqdm(range(total), disable=None, leave=False)

    say = tqdm.write  # a line above the bar
