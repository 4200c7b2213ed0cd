"""An import-linter contract of our own, used by `.importlinter`: op families are independent of each other."""

from grimp import ImportGraph
from importlinter.contracts.independence import IndependenceContract
from importlinter.domain.contract import ContractCheck

PACKAGE = "headrace.ops"
PLUG_INS = (f"{PACKAGE}.arm",)


class FamilyContract(IndependenceContract):
    """Independence, with two exceptions.

    Any family may import the modules they share, whose names start with an underscore.  A plug-in, which adds kernels to ops that
    are declared elsewhere, may import the families; they do not import it.
    """

    type_name = "families"

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        if PACKAGE in graph.modules:
            for shared in graph.find_children(PACKAGE):
                if shared.startswith(f"{PACKAGE}._"):
                    _forget_importers(graph, shared)
            for plug_in in PLUG_INS:
                for module in (plug_in, *graph.find_descendants(plug_in)):
                    _forget_imports(graph, module)
        return super().check(graph, verbose)


def _forget_importers(graph: ImportGraph, shared: str) -> None:
    for importer in graph.find_modules_that_directly_import(shared):
        graph.remove_import(importer=importer, imported=shared)


def _forget_imports(graph: ImportGraph, module: str) -> None:
    for imported in graph.find_modules_directly_imported_by(module):
        graph.remove_import(importer=module, imported=imported)
