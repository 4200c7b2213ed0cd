"""The registry: declared once, found by name, the most specific kernel wins."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.core import dtypes, registry
from headrace.core.registry import REGISTRY, OpDef, Traits, op
from headrace.core.signature import parse


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    yield
    REGISTRY.remove("TestRegistered")


def declare(**options: object):  # type: ignore[no-untyped-def]
    return op("TestRegistered(x: T) -> (y: T)", **options)


def test_declaring() -> None:
    made = declare(T=dtypes.FLOATING, view=True)
    assert REGISTRY.get("TestRegistered") is made and "TestRegistered" in REGISTRY
    assert made.traits == Traits(view=True)
    assert made.location.startswith(__file__)
    assert repr(made) == "<op TestRegistered(x: T) -> (y: T)>"


def test_registering_twice_names_the_first_place() -> None:
    first = declare()
    with pytest.raises(
        ValueError, match="'TestRegistered' is registered at .*, but was registered before at"
    ) as caught:
        declare()
    assert first.location in str(caught.value)


def test_unknown_names_get_a_hint() -> None:
    declare()
    with pytest.raises(ValueError, match="no op type is called 'TestRegisterd'; did you mean TestRegistered"):
        REGISTRY.get("TestRegisterd")


@pytest.mark.parametrize(
    ("trait", "pure", "effect"),
    [
        (None, True, False),
        ("view", True, False),
        ("host", True, False),
        ("dynamic_shape", True, False),
        ("random", False, False),
        ("feed", False, False),
        ("handle", False, False),
        ("stateful", False, True),
        ("writes", False, True),
        ("blocking", False, True),
    ],
)
def test_what_traits_mean(trait: str | None, pure: bool, effect: bool) -> None:
    traits = Traits(**{trait: True}) if trait else Traits()
    assert (traits.pure, traits.has_effect) == (pure, effect)


def test_a_handle_is_stateful_without_effect() -> None:
    assert not Traits(stateful=True, handle=True).has_effect
    assert not Traits(stateful=True, random=True).has_effect


class TestKernels:
    def test_the_most_specific_wins(self) -> None:
        made = declare()
        kernels = {}

        def add(name: str, **where: object) -> None:
            def function(x: object) -> str:
                return name

            kernels[name] = made.kernel(**where)(function) if where else made.kernel(function)

        add("any")
        add("string", T=dtypes.string)
        add("cuda", device="cuda")
        add("cuda half", device="cuda", T=[dtypes.float16, dtypes.bfloat16])
        found = {
            (device, dtype.name): made.find_kernel(device, {"T": dtype}).call(None)  # type: ignore[union-attr]
            for device in ("cpu", "cuda")
            for dtype in (dtypes.float32, dtypes.string, dtypes.float16)
        }
        assert found == {
            ("cpu", "float32"): "any",
            ("cpu", "string"): "string",
            ("cpu", "float16"): "any",
            ("cuda", "float32"): "cuda",
            ("cuda", "string"): "cuda",
            ("cuda", "float16"): "cuda half",
        }

    def test_kernels_for_one_machine(self) -> None:
        made = declare()
        for name, where in {
            "any": {}, "cpu": {"device": "cpu"}, "string": {"T": dtypes.string},
            "arm": {"device": "cpu", "machine": "arm64"},
            "arm string": {"device": "cpu", "machine": "aarch64", "T": dtypes.string},
        }.items():  # fmt: skip
            made.kernel(lambda x, name=name: name, **where)

        def found(device: str, dtype: dtypes.DType, machine: str | None) -> str:
            return made.find_kernel(device, {"T": dtype}, machine).call(None)  # type: ignore[union-attr, no-any-return]

        assert found("cpu", dtypes.float32, "aarch64") == "arm"
        assert found("cpu", dtypes.string, "aarch64") == "arm string"
        assert found("cuda", dtypes.float32, "aarch64") == "any"
        for other in ("x86_64", None):
            assert found("cpu", dtypes.float32, other) == "cpu"
            assert found("cuda", dtypes.string, other) == "string"

    def test_only_kernels_for_the_cpu_are_for_one_machine(self) -> None:
        with pytest.raises(TypeError, match="machine='aarch64' and device=None; a kernel for one machine needs"):
            declare().kernel(lambda x: x, machine="aarch64")

    def test_none_fits(self) -> None:
        made = declare()
        made.kernel(T=dtypes.string)(lambda x: x)
        assert made.find_kernel("cpu", {"T": dtypes.float32}) is None

    def test_what_a_kernel_asks_for(self) -> None:
        made = declare()

        @made.kernel
        def _(x, *, device, state):  # type: ignore[no-untyped-def]
            return x

        kernel = made.kernels.by_device[0]
        assert kernel.wants_device and kernel.wants_state and not kernel.wants_node

    def test_unknown_keywords(self) -> None:
        with pytest.raises(TypeError, match=r"kernel of TestRegistered has keyword-only parameters \['stream'\]"):
            declare().kernel(lambda x, *, stream: x)


def test_rules() -> None:
    made = declare()
    assert made.shape(len) is len and made.shape_fn is len
    assert made.value(abs) is abs and made.value_fn is abs
    assert not made.has_gradient_rule
    assert made.gradient(min) is min and made.gradient_fn is min and made.has_gradient_rule
    assert made.state(max) is max and made.state_fn is max


def test_no_gradient() -> None:
    made = declare()
    assert made.not_differentiable() is made and made.has_gradient_rule and made.gradient_fn is None


@pytest.mark.parametrize(
    ("outputs", "may"),
    [("a: int32", False), ("a: D", False), ("", False), ("a: bool, b: variant", True), ("a: T", True)],
)
def test_what_gives_no_such_numbers_has_no_gradient(outputs: str, may: bool) -> None:
    signature = parse(f"TestRegistered(x: T; D: type) -> ({outputs})", {"T": dtypes.FLOATING, "D": dtypes.INTEGER})
    assert OpDef(signature, Traits(), f"{Path(registry.__file__).parent}/op.py:1").has_gradient_rule is not may
    assert not OpDef(signature, Traits(), "users.py:1").has_gradient_rule  # tf.RegisterGradient may give it one


@pytest.mark.parametrize(
    ("outputs", "shapes"), [("a: T[0], b: int32[0]", [(), ()]), ("a: T[0], b: T", None), ("", None)]
)
def test_scalars_need_no_shape_rule(outputs: str, shapes: list[tuple[()]] | None) -> None:
    made = op(f"TestRegistered(x: T) -> ({outputs})", T=dtypes.FLOATING)
    assert (made.shape_fn and made.shape_fn("any shape")) == shapes
    assert made.shape(len) is len and made.shape_fn is len


def test_ways_to_run() -> None:
    made = declare()
    made.inline_kernel("{0}.value").number_kernel("-{0}")
    made.array_kernel(len, T=dtypes.float32)
    kernels = made.kernels
    assert (kernels.inline, kernels.on_numbers) == ("{0}.value", "-{0}")
    assert made.find_array_kernel({"T": dtypes.float32}).call is len  # type: ignore[union-attr]
    assert made.find_array_kernel({"T": dtypes.int32}) is None


REGISTRATIONS = {
    "shape rule": lambda made: made.shape(len),
    "value rule": lambda made: made.value(len),
    "gradient rule": lambda made: made.gradient(len),
    "state rule": lambda made: made.state(len),
    "kernel": lambda made: made.kernel(len, device="cuda", T=dtypes.float32),
    "array kernel": lambda made: made.array_kernel(len),
    "inline kernel": lambda made: made.inline_kernel("{0}"),
    "number kernel": lambda made: made.number_kernel("{0}"),
}


@pytest.mark.parametrize("what", REGISTRATIONS)
def test_a_second_registration_is_refused_with_both_places(what: str) -> None:
    made = declare()
    REGISTRATIONS[what](made)
    here = r".*test_registry.py:\d+"
    with pytest.raises(ValueError, match=rf"the {what} of op 'TestRegistered'.* at {here}, .* before at {here}"):
        REGISTRATIONS[what](made)


def test_no_gradient_and_a_gradient_are_two() -> None:
    with pytest.raises(ValueError, match="the gradient rule of op 'TestRegistered' is registered"):
        declare().not_differentiable().gradient(len)


def test_array_kernels_of_types_that_overlap() -> None:
    made = declare()
    made.array_kernel(len, T=(dtypes.float32, dtypes.float64))
    made.array_kernel(len, T=dtypes.int32)
    with pytest.raises(ValueError, match=r"the array kernel of op 'TestRegistered' \(T=float32\|float64\)"):
        made.array_kernel(len, T=(dtypes.float64, dtypes.int64))
    assert len(made.kernels.on_arrays) == 2


def test_kernels_of_other_devices_and_types_are_no_second_ones() -> None:
    made = declare()
    made.kernel(len)
    made.kernel(len, device="cuda")
    made.kernel(len, T=dtypes.float32)
    assert len(made.kernels.by_device) == 3
    with pytest.raises(ValueError, match=r"the kernel of op 'TestRegistered' \(cuda\)"):
        made.kernel(len, device="cuda")


def test_a_trait_that_is_none() -> None:
    with pytest.raises(TypeError, match=r"'veiw' is no trait of an op; traits are .*view.* \(at .*test_registry.py:"):
        op("TestMisspelled(x: T) -> (y: T)", T=[dtypes.float32], veiw=False)
    with pytest.raises(TypeError, match="'pure' is no trait"):  # it follows from the others
        op("TestMisspelled(x: T) -> (y: T)", T=[dtypes.float32], pure=True)


def test_an_array_kernel_may_ask_for_the_state_and_name_a_large_input() -> None:
    definition = op("_TestDrawn(x: T) -> (y: T)", T=[dtypes.float32])

    def draw(x, *, state):
        return state + x

    def look(x, *, node):
        return node, x

    try:
        with pytest.raises(TypeError, match=r"array kernel of _TestDrawn has .* \['node'\]; known: state"):
            definition.array_kernel(look)
        with pytest.raises(TypeError, match="names 'z', which is none of its inputs"):
            definition.array_kernel(draw, large="z")
        definition.array_kernel(draw, large="x")
        kernel = definition.find_array_kernel({})
        assert kernel is not None and kernel.wants_state and kernel.large == "x"
    finally:
        REGISTRY.remove("_TestDrawn")


@pytest.mark.parametrize("wrong", [{"saving": 3}, {"T2": [dtypes.float32]}, {"T": "float32"}])
def test_a_kernel_for_an_attribute_that_is_not_there_is_refused(wrong):
    definition = op("_TestConstrained(x: T) -> (y: T)", T=[dtypes.float32])
    said = "_TestConstrained is declared with .* one of its attributes: T .*test_registry.py"
    try:
        for declare in (definition.kernel, definition.array_kernel):
            with pytest.raises(TypeError, match=said):
                declare(lambda x: x, **wrong)
    finally:
        REGISTRY.remove("_TestConstrained")
