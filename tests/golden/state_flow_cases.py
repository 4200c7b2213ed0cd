"""A family of programs that read and write variables in loops, branches and functions, grown from a seed; the same for any `tf`.

A program is a tree of statements.  `record` builds it as a graph; `expected` runs it in Python, one statement after another.
The graph orders two statements only where one writes what the other reads or writes: it may run in many orders, all with one
result.  Even seeds have reference variables, odd ones resource variables, functions, and gradients.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from random import Random
from typing import Any

SEEDS = range(80)
DEEP = 24  # programs before this seed are three bodies deep, and drawn ones; the others two
DRAWN = 1000  # from here on: for those who draw seeds
NAMES = "abc"
START = {"a": 0.5, "b": -1.25, "c": 2.0}
INPUT = 0.75
EXPLICIT = "c"  # with references TensorFlow may put another buffer behind what `assign` sets, so only new reads see it


@dataclass(frozen=True)
class Term:
    """A constant, a local value (by its distance from the last), or a read of a variable."""

    kind: str
    what: Any


@dataclass
class Statement:
    kind: str  # let, assign, add, sub, cond, while, function
    terms: list[Term]
    name: str = ""
    bound: float = 0.0
    times: int = 0
    blocks: list[list[Statement]] = field(default_factory=list)

    def reads(self) -> set[str]:
        own = {t.what for t in self.terms if t.kind in ("used", "read", "copied")}
        return own.union(*(s.reads() for block in self.blocks for s in block))

    def writes(self) -> set[str]:
        own = {self.name} if self.name else set()
        return own.union(*(s.writes() for block in self.blocks for s in block))


class Grower:
    """Draws the statements of a program."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(f"state {seed}")
        self.resource = seed % 2 == 1

    def block(self, depth: int) -> list[Statement]:
        return [self.statement(depth) for _ in range(self.rng.randint(1, 4))]

    def statement(self, depth: int) -> Statement:
        kinds = ["let", "assign", "add", "sub"] + (["cond", "while"] * 2 if depth else [])
        kind = self.rng.choice(kinds + (["function"] if depth and self.resource else []))
        terms = [self.term() for _ in range(self.rng.randint(1, 3))]
        if kind == "let":
            return Statement(kind, terms)
        if kind == "assign":
            return Statement(kind, terms, self.rng.choice(NAMES) if self.resource else EXPLICIT)
        if kind in ("add", "sub"):
            return Statement(kind, terms, self.rng.choice(NAMES if self.resource else "ab"))
        if kind == "while":
            return Statement(kind, terms, times=self.rng.randint(0, 4), blocks=[self.block(depth - 1)])
        if kind == "function":
            return Statement(kind, terms, blocks=[self.block(depth - 1)])
        bound = self.rng.uniform(-1.0, 1.0)
        return Statement(kind, terms, bound=bound, blocks=[self.block(depth - 1), self.block(depth - 1)])

    def term(self) -> Term:
        kind = self.rng.choice(["constant", "local", "local", "used", "used", "read", "copied"])
        if kind == "constant":
            return Term(kind, round(self.rng.uniform(-1.0, 1.0), 3))
        if kind == "local":
            return Term(kind, self.rng.randint(1, 4))
        return Term(kind, self.rng.choice(NAMES if self.resource or kind != "used" else "ab"))


# ---- in Python


@dataclass(frozen=True)
class Dual:
    """A number and its derivative with respect to the input."""

    value: float
    slope: float = 0.0


class Interpreter:
    """Runs statements one after another.  What is written to a variable has no derivative any more."""

    def __init__(self) -> None:
        self.state = dict(START)

    def run(self, block: list[Statement], local: list[Dual]) -> Dual:
        local = list(local)
        for statement in block:
            local.append(self.step(statement, local))
        return self.mixed(local[-1], local[0])

    def step(self, statement: Statement, local: list[Dual]) -> Dual:
        value = self.sum(statement.terms, local)
        if statement.kind == "cond":
            return self.run(statement.blocks[0 if value.value > statement.bound else 1], [*local, value])
        if statement.kind == "while":
            for _ in range(statement.times):
                value = self.run(statement.blocks[0], [*local, value])
        elif statement.kind == "function":
            value = self.run(statement.blocks[0], [value])
        elif statement.kind == "assign":
            self.state[statement.name] = value.value
        elif statement.kind == "add":
            self.state[statement.name] += value.value
        elif statement.kind == "sub":
            self.state[statement.name] -= value.value
        return value

    def sum(self, terms: list[Term], local: list[Dual]) -> Dual:
        total = Dual(0.25)
        for term in terms:
            other = self.look(term, local)
            product = Dual(
                0.5 * total.value * other.value, 0.5 * (total.value * other.slope + total.slope * other.value)
            )
            total = Dual(product.value + 0.3 * other.value, product.slope + 0.3 * other.slope)
        value = math.tanh(total.value)
        return Dual(value, total.slope * (1.0 - value * value))

    def look(self, term: Term, local: list[Dual]) -> Dual:
        if term.kind == "constant":
            return Dual(term.what)
        return local[-min(term.what, len(local))] if term.kind == "local" else Dual(self.state[term.what])

    def mixed(self, last: Dual, first: Dual) -> Dual:
        return Dual(0.6 * last.value + 0.2 * first.value, 0.6 * last.slope + 0.2 * first.slope)


def grow(seed: int) -> tuple[list[Statement], bool]:
    """The program of a seed, and whether it has resource variables."""
    grower = Grower(seed)
    return grower.block(2 if DEEP <= seed < DRAWN else 3), grower.resource


def expected(program: list[Statement], resource: bool) -> list[float]:
    """The result, the variables after it, and for resource variables the derivative of the result."""
    interpreter = Interpreter()
    result = interpreter.run(program, [Dual(INPUT, 1.0)])
    return [result.value, *interpreter.state.values(), *([result.slope] if resource else [])]


# ---- as a graph


class Builder:
    """Builds statements, each after those it conflicts with."""

    def __init__(self, tf: Any, resource: bool) -> None:
        self.tf = tf
        self.variables = {n: tf.Variable(v, dtype=tf.float64, use_resource=resource, name=n) for n, v in START.items()}

    def block(self, block: list[Statement], local: list[Any], start: Any) -> Any:
        """The result, when everything in the block is done; nothing in it begins before ``start``."""
        tf, local = self.tf, list(local)
        written: dict[str, list[Any]] = {n: list(start) for n in NAMES}
        read: dict[str, list[Any]] = {n: [] for n in NAMES}
        done = []
        for statement in block:
            reads, writes = statement.reads(), statement.writes()
            before = [t for n in reads | writes for t in written[n]] + [t for n in writes for t in read[n]]
            with tf.control_dependencies(before or list(start)):
                value, after = self.step(statement, local)
            local.append(value)
            done.append(after)
            for n in reads:
                read[n].append(after)
            for n in writes:
                written[n], read[n] = [after], []
        with tf.control_dependencies(done):
            return 0.6 * local[-1] + 0.2 * local[0]

    def step(self, statement: Statement, local: list[Any]) -> tuple[Any, Any]:
        """The value of a statement, and what is done when the statement is."""
        tf, value = self.tf, self.sum(statement.terms, local)
        blocks = statement.blocks
        if statement.kind == "let":
            return value, value
        if statement.kind == "cond":
            branches = [lambda block=b: self.block(block, [*local, value], []) for b in blocks]
            result = tf.cond(value > statement.bound, *branches)
        elif statement.kind == "while":
            _, result = tf.while_loop(
                lambda i, v: i < statement.times,
                lambda i, v: (i + 1, self.block(blocks[0], [*local, v], [v])),
                [tf.constant(0), value],
            )
        elif statement.kind == "function":
            result = tf.function(lambda v: self.block(blocks[0], [v], []))(value)
        else:
            update = {"assign": tf.assign, "add": tf.assign_add, "sub": tf.assign_sub}[statement.kind]
            return value, update(self.variables[statement.name], value)
        return result, result

    def sum(self, terms: list[Term], local: list[Any]) -> Any:
        total = self.tf.constant(0.25, self.tf.float64)
        for term in terms:
            other = self.look(term, local)
            total = 0.5 * total * other + 0.3 * other
        return self.tf.tanh(total)

    def look(self, term: Term, local: list[Any]) -> Any:
        tf = self.tf
        if term.kind == "constant":
            return tf.constant(term.what, tf.float64)
        if term.kind == "local":
            return local[-min(term.what, len(local))]
        variable = self.variables[term.what]
        if term.kind == "used":
            return variable
        return variable.read_value() if term.kind == "read" else tf.identity(variable.read_value())


def record(tf: Any, program: list[Statement], resource: bool, config: Any = None) -> list[float]:
    """What `expected` gives, from a step of a graph."""
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        x = tf.placeholder(tf.float64, [], name="x")
        builder = Builder(tf, resource)
        result = builder.block(program, [x], [])
        fetches = [result, *(tf.gradients(result, x) if resource else [])]
        session.run(tf.global_variables_initializer())
        found = session.run(fetches, {x: INPUT})
        state = session.run([v.read_value() for v in builder.variables.values()])
        return [float(v) for v in [found[0], *state, *found[1:]]]
