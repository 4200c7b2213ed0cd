"""Random programs with TensorFlow 1's own control flow, as GraphDefs: conditionals and loops made of Switch, Merge, Enter ...

`case(tf, seed)` builds a program with real TensorFlow and runs it.  What it gives can be kept, and run elsewhere: the graph,
what is fed, what is fetched, the results, the variables afterwards.  Even seeds are programs of `tf.cond`, `while_loop`, `case`,
`switch_case` and what is made of them, with variables; odd ones are graphs of primitives with control edges at random, where any
value may be dead (its result is None).

State is deterministic: a token goes through the program, and what reads or writes a variable waits for it.
"""

from __future__ import annotations

import random
from typing import Any

STEPS = 3  # with other feeds
FOUND = (1000788, 1000950, 1002232, 1006665, 1007868, 1008142)  # that differed once, among those drawn
SEEDS = (*range(200), *FOUND)  # those kept


class Program:
    """One program of real TensorFlow's, drawn."""

    def __init__(self, tf: Any, seed: int) -> None:
        self.tf = tf
        self.random = random.Random(seed)
        self.shape = self.random.choice([[], [2]])
        self.stateful = self.random.random() < 0.6
        self.x = tf.placeholder(tf.float64, self.shape, name="x")
        self.n = tf.placeholder(tf.int32, [], name="n")
        self.p = tf.placeholder(tf.bool, [], name="p")
        self.q = tf.placeholder(tf.bool, [], name="q")
        self.functional = self.in_function = False
        self.left = self.random.randint(4, 10)  # constructs
        resource = self.resource = self.random.random() < 0.6
        self.v = tf.get_variable(
            "v", initializer=tf.constant(self.filled(0.5), tf.float64), use_resource=resource, dtype=tf.float64
        )
        self.w = tf.get_variable(
            "w", initializer=tf.constant(self.filled(-0.25), tf.float64), use_resource=resource, dtype=tf.float64
        )

    def filled(self, number: float) -> Any:
        return number if not self.shape else [number, number * 2]

    def number(self) -> float:
        return round(self.random.uniform(-1.5, 1.5), 2)

    def constant(self) -> Any:
        return self.tf.constant(self.filled(self.number()), self.tf.float64)

    def predicate(self, values: list[Any]) -> Any:
        tf, kind = self.tf, self.random.randrange(4)
        if kind < 2:
            return self.random.choice([self.p, self.q, tf.logical_and(self.p, self.q), tf.logical_not(self.q)])
        return tf.less(tf.reduce_sum(self.random.choice(values)), self.number())

    # ---- expressions: (values in scope, token, depth) -> (value, token)

    def block(self, values: list[Any], token: Any, depth: int) -> tuple[Any, Any]:
        values = list(values)
        for _ in range(self.random.randint(1, 3)):
            value, token = self.expression(values, token, depth)
            values.append(value)
        return values[-1], token

    def expression(self, values: list[Any], token: Any, depth: int) -> tuple[Any, Any]:
        ways = [self.arithmetic, self.arithmetic, self.gated]
        if self.stateful:
            ways += [self.write, self.read]
        if depth < 3 and self.left > 0:
            ways += [self.conditional, self.conditional, self.loop, self.loop, self.chosen]
            ways += [] if self.in_function else [self.library]  # there TensorFlow 2 makes lists of tensors
        way = self.random.choice(ways)
        if way not in (self.arithmetic, self.gated, self.write, self.read):
            self.left -= 1
        return way(values, token, depth)

    def arithmetic(self, values: list[Any], token: Any, depth: int) -> tuple[Any, Any]:
        tf = self.tf
        a, b = self.random.choice(values), self.random.choice([*values, None])
        b = self.constant() if b is None else b
        kind = self.random.randrange(7)
        if kind == 0:
            return tf.tanh(a), token
        if kind == 1:
            return a + b, token
        if kind == 2:
            return a * b * 0.5, token
        if kind == 3:
            return tf.maximum(a, b) - 0.1, token
        if kind == 4:
            return tf.sin(a) - b, token
        if kind == 5:  # drawn and thrown away: it must run, and its shape is computed
            noise = tf.random_uniform(tf.shape(a), dtype=tf.float64)
            return a + tf.floor(noise), token
        return self.constant(), token

    def gated(self, values: list[Any], token: Any, depth: int) -> tuple[Any, Any]:
        """A value that waits for another one, of which it does not depend."""
        tf = self.tf
        with tf.control_dependencies([self.random.choice(values)]):
            return (self.constant() if self.random.random() < 0.5 else tf.identity(self.random.choice(values))), token

    def write(self, values: list[Any], token: Any, depth: int) -> tuple[Any, Any]:
        tf = self.tf
        variable = self.random.choice([self.v, self.w])
        value = tf.tanh(self.random.choice(values))
        with tf.control_dependencies([token]):
            change = self.random.choice([tf.assign_add, tf.assign, tf.assign_sub])(variable, value)
        with tf.control_dependencies([change.op if hasattr(change, "op") else change]):
            token = tf.identity(token)
        return value, token

    def read(self, values: list[Any], token: Any, depth: int) -> tuple[Any, Any]:
        tf = self.tf
        variable = self.random.choice([self.v, self.w])
        with tf.control_dependencies([token]):
            value = variable.read_value() + 0.0
        with tf.control_dependencies([value]):
            token = tf.identity(token)
        return value, token

    def conditional(self, values: list[Any], token: Any, depth: int) -> tuple[Any, Any]:
        tf = self.tf
        if self.random.random() < 0.3:  # of constants, as `keep = tf.cond(training, 0.5, 1.0)`
            a, b = self.constant, self.constant
            return tf.cond(self.predicate(values), a, b), token
        with tf.control_dependencies([token]):
            predicate = tf.identity(self.predicate(values))
        value, token = tf.cond(
            predicate,
            lambda: self.branch(values, token, depth + 1),
            lambda: self.branch(values, token, depth + 1),
        )
        return value, token

    def branch(self, values: list[Any], token: Any, depth: int) -> tuple[Any, Any]:
        tf = self.tf
        value, after = self.block(values, token, depth)
        return tf.identity(value), tf.identity(after)

    def chosen(self, values: list[Any], token: Any, depth: int) -> tuple[Any, Any]:
        """`case` or `switch_case`."""
        tf = self.tf
        with tf.control_dependencies([token]):
            n = tf.identity(self.n)

        def one() -> Any:
            return self.branch(values, token, depth + 1)

        if self.resource and self.random.random() < 0.4:  # a node that holds functions, which take no references
            self.functional = True  # its gradient holds what TensorFlow 1 did not have
            before, self.in_function = self.in_function, True
            value, token = tf.switch_case(n, [one, one, one])
            self.in_function = before
        else:
            value, token = tf.case([(tf.less(n, 1), one), (tf.equal(n, 2), one)], default=one)
        return value, token

    def loop(self, values: list[Any], token: Any, depth: int) -> tuple[Any, Any]:
        tf = self.tf
        limit = self.random.choice([self.n, tf.constant(2), self.n + 1])
        kept = [tf.identity(v) for v in self.random.sample(values, min(len(values), 2))]
        early = self.random.random() < 0.3

        def go_on(i: Any, value: Any, token: Any) -> Any:
            more = tf.less(i, limit)
            return tf.logical_and(more, tf.less(tf.reduce_sum(value), 5.0)) if early else more

        def body(i: Any, value: Any, token: Any) -> Any:
            inner = [value, *kept] + (
                [tf.fill(self.shape, tf.cast(i, tf.float64))] if self.random.random() < 0.3 else []
            )
            value, token = self.block(inner, token, depth + 1)
            return i + 1, tf.tanh(value), token

        _, value, token = tf.while_loop(
            go_on, body, [tf.constant(0), self.random.choice(values), token],
            parallel_iterations=self.random.choice([1, 10]),
        )  # fmt: skip
        return value, token

    def library(self, values: list[Any], token: Any, depth: int) -> tuple[Any, Any]:
        """What the library makes of loops: `map_fn`, `scan`, folds, which use arrays."""
        tf = self.tf
        value, other = self.random.choice(values), self.random.choice(values)
        rows = tf.stack([value, other, value * 0.5])
        kind = self.random.randrange(3)
        if kind == 0:
            return tf.reduce_sum(tf.map_fn(lambda r: tf.tanh(r) * other, rows), 0), token
        if kind == 1:
            return tf.scan(lambda a, r: a * 0.5 + r, rows)[2], token
        return tf.foldl(lambda a, r: tf.maximum(a, r) - 0.2, rows), token

    def build(self) -> tuple[Any, Any]:
        tf = self.tf
        token = tf.constant(0.0, tf.float64)
        value, token = self.block([self.x, tf.sin(self.x)], token, 0)
        while self.left > 6:
            value, token = self.block([self.x, value], token, 0)
        with tf.control_dependencies([token]):
            self.v.read_value()
        return tf.identity(value, name="value"), tf.identity(token, name="token")


def feeds(seed: int, shape: list[int]) -> list[dict[str, Any]]:
    draw = random.Random(seed + 1)
    return [
        {
            "x:0": round(draw.uniform(-1, 1), 2) if not shape else [round(draw.uniform(-1, 1), 2) for _ in range(2)],
            "n:0": draw.randrange(4), "p:0": draw.random() < 0.5, "q:0": draw.random() < 0.5,
        }
        for _ in range(STEPS)
    ]  # fmt: skip


def program_case(tf: Any, seed: int) -> dict[str, Any]:
    graph = tf.Graph()
    with graph.as_default():
        tf.set_random_seed(seed)
        program = Program(tf, seed)
        value, token = program.build()
        fetches = [value.name, token.name]
        if program.random.random() < 0.5 and not program.functional:
            (slope,) = tf.gradients(tf.reduce_sum(value), [program.x])
            fetches += [] if slope is None else [tf.identity(slope, name="slope").name]
        tf.variables_initializer([program.v, program.w], name="init")
        state = [tf.identity(v.read_value(), name=f"{v.op.name}_now").name for v in (program.v, program.w)]
        given = feeds(seed, program.shape)
        results, now = run(tf, graph, fetches, given, state)
        found = {"feeds": given, "fetches": fetches, "results": results, "state": state, "now": now, "init": "init"}
        definition = graph.as_graph_def()
        slopes = after = None
        # TensorFlow's gradient, for one that is taken elsewhere.
        if program.random.random() < 0.7:
            (slope,) = tf.gradients(tf.reduce_sum(value), [program.x])
            if slope is not None:
                slopes, after = run_slopes(tf, graph, slope.name, given, state)
        found |= {"slopes": slopes, "after": after, "functional": program.functional}
        return {"graph": encoded(definition), **found}


def run(tf: Any, graph: Any, fetches: list[str], given: list[dict[str, Any]], state: list[str]) -> Any:
    results = []
    with tf.Session(graph=graph, config=plain(tf)) as session:
        if state:
            session.run("init")
        for feed in given:
            results.append([one.tolist() for one in session.run(fetches, feed)])
        return results, [one.tolist() for one in session.run(state)]


def run_slopes(tf: Any, graph: Any, slope: str, given: list[dict[str, Any]], state: list[str]) -> Any:
    """None where TensorFlow builds a graph that it cannot run, and says so: a switch_case in a loop puts stacks out of it."""
    try:
        return run(tf, graph, [slope], given, state)
    except tf.errors.InternalError as e:
        if "Invalid loop structure" not in str(e):
            raise
        return None, None


def plain(tf: Any) -> Any:
    config = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    return config


def encoded(definition: Any) -> str:
    for node in definition.node:
        node.attr.pop("_class", None) if not node.op.startswith("Ref") else None
    return definition.SerializeToString(deterministic=True).decode("latin-1")  # compresses well


# ---- graphs of primitives


def primitive_case(tf: Any, seed: int) -> dict[str, Any]:
    """Switches, merges and control edges at random; everything is fetched by itself, as any value may be dead."""
    draw = random.Random(seed)
    graph = tf.Graph()
    with graph.as_default():
        x = tf.placeholder(tf.float64, [], name="x")
        predicates = [tf.placeholder(tf.bool, [], name="p"), tf.placeholder(tf.bool, [], name="q")]
        predicates.append(tf.logical_and(*predicates))
        variable = tf.get_variable("v", initializer=tf.constant(1.0, tf.float64), use_resource=True, dtype=tf.float64)
        # Which value is alive when: for each, the cases of (p, q).  A Merge of two values alive together may give either.
        cases = frozenset((p, q) for p in (False, True) for q in (False, True))
        holds = [frozenset(c for c in cases if c[0]), frozenset(c for c in cases if c[1]), frozenset({(True, True)})]
        alive: dict[Any, frozenset[Any]] = {x.name: cases}
        runs: dict[Any, frozenset[Any]] = {}  # of nodes: a Switch runs whichever side is dead
        values, every, writes = [x], [], []
        for _ in range(draw.randint(6, 24)):
            waits = draw.sample(every, min(len(every), draw.choice([0, 0, 1, 2])))
            with tf.control_dependencies(waits):
                kind = draw.randrange(10)
                taken = [draw.choice(values), draw.choice(values)]
                choice = draw.randrange(3)
                first = cases.intersection(*(runs[getattr(one, "op", one).name] for one in waits))
                if kind == 0:
                    made, taken = [tf.constant(round(draw.uniform(-2, 2), 2), tf.float64)], []
                elif kind == 1:
                    made, taken = [tf.identity(taken[0])], taken[:1]
                elif kind == 2:
                    made = [taken[0] + taken[1]]
                elif kind in (3, 4):
                    switch = tf.raw_ops.Switch(data=taken[0], pred=predicates[choice])
                    made, taken = [switch.output_false, switch.output_true], taken[:1]
                elif kind in (5, 6, 7):
                    taken = apart(draw.sample(values, len(values)), alive)[: draw.choice([2, 2, 3])]
                    if len(taken) < 2:
                        continue
                    made = [tf.raw_ops.Merge(inputs=taken).output]
                elif kind == 8:
                    made, taken = [tf.cast(tf.raw_ops.Size(input=taken[0]), tf.float64) * 2.0], taken[:1]
                elif writes:
                    made, taken = [tf.raw_ops.ZerosLike(x=taken[0]) + 1.0], taken[:1]
                else:  # one, so that what it leaves does not depend on an order
                    made, taken = [tf.assign_add(variable, taken[0]).op], taken[:1]
                    writes.append(made[0])
            lives = [alive[one.name] for one in taken]
            for side, one in enumerate(made):
                if kind in (5, 6, 7):  # it runs when one input is alive, whatever it waits for
                    alive[one.name] = frozenset().union(*lives)
                else:
                    alive[one.name] = first.intersection(*lives)
                runs[getattr(one, "op", one).name] = alive[one.name]
                if kind in (3, 4):
                    alive[one.name] &= holds[choice] if side else cases - holds[choice]
            every += made
            values += [one for one in made if isinstance(one, tf.Tensor)]
        tf.variables_initializer([variable], name="init")
        state = [tf.identity(variable.read_value(), name="v_now").name]
        fetches = [one.name for one in values[1:]]
        targets = [one.name for one in writes]
        given = feeds(seed, [])
        for feed in given:
            del feed["n:0"]
        results = []
        with tf.Session(graph=graph, config=plain(tf)) as session:
            session.run("init")
            for feed in given:
                results.append([one_result(tf, session, name, feed) for name in fetches])
                for name in targets:
                    session.run(name, feed)
            now = [one.tolist() for one in session.run(state)]
    return {
        "graph": encoded(graph.as_graph_def()), "feeds": given, "fetches": fetches, "results": results, "state": state,
        "now": now, "init": "init", "slopes": None, "targets": targets, "alone": True,
    }  # fmt: skip


def apart(values: list[Any], alive: dict[Any, frozenset[Any]]) -> list[Any]:
    """Values no two of which are alive together."""
    chosen: list[Any] = []
    for value in values:
        if all(alive[value.name].isdisjoint(alive[one.name]) for one in chosen):
            chosen.append(value)
    return chosen


def one_result(tf: Any, session: Any, name: str, feed: dict[str, Any]) -> Any:
    try:
        return session.run(name, feed).tolist()
    except tf.errors.InvalidArgumentError as e:
        if "does not have value" not in str(e):
            raise
        return None


def case(tf: Any, seed: int) -> dict[str, Any]:
    """The program of a seed, with what TensorFlow makes of it."""
    return primitive_case(tf, seed) if seed % 2 else program_case(tf, seed)
