"""An import-linter contract of our own, used by `.importlinter`: op families are independent of each other."""

from grimp import ImportGraph
from importlinter.contracts.independence import IndependenceContract
from importlinter.domain.contract import ContractCheck

PACKAGE = "headrace.ops"


class FamilyContract(IndependenceContract):
    """Independence, except that any family may import the modules they share, whose names start with an underscore."""

    type_name = "families"

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        if PACKAGE in graph.modules:
            for shared in graph.find_children(PACKAGE):
                if shared.startswith(f"{PACKAGE}._"):
                    _forget_importers(graph, shared)
        return super().check(graph, verbose)


def _forget_importers(graph: ImportGraph, shared: str) -> None:
    for importer in graph.find_modules_that_directly_import(shared):
        graph.remove_import(importer=importer, imported=shared)
