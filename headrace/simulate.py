"""The third face: what training would do on a cluster that is described.  See docs/simulator.md."""

from headrace.library.simulation.cluster import Cluster as Cluster
from headrace.library.simulation.cluster import Tolls as Tolls
from headrace.library.simulation.grid import Row as Row
from headrace.library.simulation.grid import best_of as best_of
from headrace.library.simulation.grid import explore as explore
from headrace.library.simulation.job import Job as Job
from headrace.library.simulation.job import Rules as Rules
from headrace.library.simulation.law import Failures as Failures
from headrace.library.simulation.law import Slow as Slow
from headrace.library.simulation.measure import measure as measure
from headrace.library.simulation.outcome import Outcome as Outcome
from headrace.library.simulation.plan import plan as plan
from headrace.library.simulation.simulate import run as run
