"""What a step is while it runs: its end, what it waits for, what it hands over, how it saves."""
