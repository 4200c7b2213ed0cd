"""An import-linter contract of our own, used by `.importlinter`: op families are independent of each other."""

from collections.abc import Iterator

from grimp import ImportGraph
from importlinter.contracts.independence import IndependenceContract
from importlinter.domain.contract import ContractCheck

PACKAGE = "headrace.ops"
ROOMS = ("declare", "internal", "shared")  # any family may import these; they import no family
PLUG_INS = ("arm",)  # add kernels to ops that families declare: they may import families, which do not import them


class FamilyContract(IndependenceContract):
    """Independence, except that families may import the rooms they share, and plug-ins may import families."""

    type_name = "families"

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        for module in _modules(graph, ROOMS):
            for importer in graph.find_modules_that_directly_import(module):
                graph.remove_import(importer=importer, imported=module)
        for module in _modules(graph, PLUG_INS):
            for imported in graph.find_modules_directly_imported_by(module):
                graph.remove_import(importer=module, imported=imported)
        return super().check(graph, verbose)


def _modules(graph: ImportGraph, folders: tuple[str, ...]) -> Iterator[str]:
    """The folders of the package, and all modules in them."""
    for folder in folders:
        name = f"{PACKAGE}.{folder}"
        if name in graph.modules:
            yield from (name, *graph.find_descendants(name))
