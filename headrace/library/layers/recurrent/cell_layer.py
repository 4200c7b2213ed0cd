"""A layer that runs a cell of its own class, and has that cell's arguments as its own."""

from __future__ import annotations

from typing import Any, ClassVar

from headrace.library.layers import regularizers
from headrace.library.layers.recurrent.base import RNN
from headrace.library.layers.recurrent.cell import GatedCell
from headrace.library.layers.spec import InputSpec

_FLAGS = ("return_sequences", "return_state", "go_backwards", "stateful", "unroll")
_WEIGHTS = ("kernel", "recurrent_kernel", "bias")


class CellLayer(RNN):
    """An RNN whose constructor takes the arguments of its cell's class beside its own."""

    cell_class: ClassVar[type[GatedCell]]
    _input_rank = 3

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "cell_class" in vars(cls):
            for name in (*cls.cell_class.argument_names, *_WEIGHTS):
                setattr(cls, name, _of_cell(name))

    def _start(self, given: dict[str, Any]) -> None:
        """Makes the cell and the layer from the arguments of the constructor."""
        options = given["kwargs"]
        own = {name: given[name] for name in self.cell_class.argument_names}
        cell = self.cell_class(**own, dtype=options.get("dtype"), trainable=options.get("trainable", True))
        RNN.__init__(self, cell, **{name: given[name] for name in _FLAGS if name in given}, **options)
        self.activity_regularizer = regularizers.get(given["activity_regularizer"])
        self.input_spec = [InputSpec(ndim=self._input_rank)]

    def call(self, inputs: Any, mask: Any = None, training: Any = None, initial_state: Any = None) -> Any:  # type: ignore[override]
        """Runs the cell over sequences; see `__call__`."""
        return super().call(inputs, mask=mask, training=training, initial_state=initial_state)

    def get_config(self) -> dict[str, Any]:
        """The arguments that make a layer like this one, as plain data."""
        config = super().get_config()
        del config["cell"]
        if not self.time_major:
            del config["time_major"]
        cell = self.cell.get_config()
        own = {name: cell[name] for name in self.cell_class.argument_names}
        return {**config, **own, "activity_regularizer": regularizers.serialize(self.activity_regularizer)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:  # type: ignore[override]
        """A new layer, from what `get_config` gives.

        Args:
          config: A dictionary.

        Returns:
          A layer.
        """
        config = dict(config)
        if config.get("implementation") == 0:  # of old releases
            config["implementation"] = 1
        return cls(**config)


def _of_cell(name: str) -> property:
    return property(lambda self: getattr(self.cell, name), doc=f"The cell's ``{name}``.")
