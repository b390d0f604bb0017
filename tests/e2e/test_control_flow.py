"""Branches and loops that only the data decide run on every rank, between layers that are split.

What they must compute, NumPy says, of small whole numbers: sums of them are exact.
"""

import json

import numpy as np
import onnx
from onnx import numpy_helper, parser

from tests.support import EndToEnd, program

SIZE = 8
WEIGHTS = {
    "up": (1, (SIZE, 4 * SIZE)),
    "down": (2, (4 * SIZE, SIZE)),
    "mix": (3, (SIZE, SIZE)),
}


def numbers(seed, *dims):
    return np.random.default_rng(seed).integers(-2, 3, dims).astype(np.float32)


def model(inputs, outputs, body):
    """The text of a graph, with the weights that it uses."""
    made = parser.parse_model(f'<ir_version: 9, opset_import: ["" : 20]> g ({inputs}) => ({outputs}) {{ {body} }}')
    for name, (seed, dims) in WEIGHTS.items():
        if name in body:
            made.graph.initializer.append(numpy_helper.from_array(numbers(seed, *dims), name))
    for i, node in enumerate(made.graph.node):
        node.name = f"{node.op_type}_{i}"
    return made


# A layer that tensor parallelism splits: from {x} to {y}.
LAYER = "{y}_u = MatMul({x}, up) {y}_a = Relu({y}_u) {y} = MatMul({y}_a, down)"

BRANCH = (
    LAYER.format(x="x", y="d")
    + """
    s = ReduceSum <keepdims = 0> (d)
    zero = Constant <value_float = 0.0> ()
    c = Greater(s, zero)
    b = If (c) <
      then_branch = then () => (float[n, 8] t) { p = MatMul(d_a, down) m = MatMul(p, mix) t = Add(m, d) },
      else_branch = else () => (float[n, 8] e) { e = Neg(d) }
    >
    """
    + LAYER.format(x="b", y="y")
)

SCALED = (
    LAYER.format(x="x", y="d")
    + """
    s = ReduceSum <keepdims = 0> (x)
    zero = Constant <value_float = 0.0> ()
    c = Greater(s, zero)
    b = If (c) <
      then_branch = then () => (float[n, 8] t) { t = Mul(d, scale) },
      else_branch = else () => (float[n, 8] e) { e = Mul(d, scale) }
    >
    """
    + LAYER.format(x="b", y="y")
)

SIZES = (
    LAYER.format(x="x", y="d")
    + """
    s = ReduceSum <keepdims = 0> (x)
    zero = Constant <value_float = 0.0> ()
    c = Greater(s, zero)
    b = If (c) <
      then_branch = then () => (float[m, 8] t) { t = Concat <axis = 0> (d, x, d) },
      else_branch = else () => (float[m, 8] e) {
        from = Constant <value_ints = [1]> () to = Constant <value_ints = [1000]> ()
        r = Slice(d, from, to)
        positive = Greater(r, zero) places = NonZero(positive) moved = Transpose <perm = [1, 0]> (places)
        column = Constant <value_int = 0> () rows = Gather <axis = 1> (moved, column)
        e = Gather(d, rows)
      }
    >
    """
    + LAYER.format(x="b", y="y")
)

LOOP = (
    LAYER.format(x="x", y="d")
    + """
    yes = Constant <value = bool {1}> ()
    last, rows = Loop (trips, yes, d) <body = step (int64 i, bool go, float[n, 8] h) => (bool on, float[n, 8] next, float[8] row) {
      m = MatMul(h, mix)
      two = Constant <value_float = 2.0> () scaled = Mod <fmod = 1> (m, two)
      next = Add(scaled, d)
      axis = Constant <value_ints = [0]> ()
      row = ReduceSum <keepdims = 0> (next, axis)
      all = ReduceSum <keepdims = 0> (row)
      on = LessOrEqual(all, limit)
    }>
    """
    + LAYER.format(x="last", y="y")
)

NESTED = (
    LAYER.format(x="x", y="d")
    + """
    last, kept = Loop (trips, , d) <body = step (int64 i, bool go, float[n, 8] h) => (bool go2, float[n, 8] next, float[] s) {
      go2 = Identity(go)
      two = Constant <value_int = 2> () zero = Constant <value_int = 0> ()
      rest = Mod(i, two)
      even = Equal(rest, zero)
      next = If (even) <
        then_branch = then () => (float[n, 8] t) { m = MatMul(h, mix) four = Constant <value_float = 4.0> () t = Mod <fmod = 1> (m, four) },
        else_branch = else () => (float[n, 8] e) { e = Sub(d, h) }
      >
      s = ReduceSum <keepdims = 0> (next)
    }>
    """
    + LAYER.format(x="last", y="y")
)

GROWS = """
    empty, most = Split <axis = 0, num_outputs = 2> (ends)
    yes = Constant <value = bool {1}> ()
    y = Loop (trips, yes, x) <body = step (int64 i, bool go, float[k, 8] h) => (bool on, float[l, 8] next) {
      from = Constant <value_ints = [0]> () one = Constant <value_ints = [1]> ()
      first = Slice(h, from, one)
      double = Add(first, h)
      next = Concat <axis = 0> (h, double)
      size = Shape <start = 0, end = 1> (next)
      fits = Less(size, most)
      on = Squeeze(fits)
    }>
"""

SWAPS = """
    yes = Constant <value = bool {1}> ()
    y, z = Loop (trips, yes, x, w) <body = step (int64 i, bool go, float[k, 8] a, float[l, 8] b) => (bool go2, float[l, 8] b2, float[k, 8] a2) {
      go2 = Identity(go) b2 = Identity(b) a2 = Identity(a)
    }>
"""

SCAN = (
    LAYER.format(x="x", y="d")
    + """
    start = Constant <value = float[8] {0, 0, 0, 0, 0, 0, 0, 0}> ()
    total, sums, backwards = Scan (start, d, x) <
      num_scan_inputs = 2, scan_input_directions = [0, 1], scan_output_directions = [0, 1], scan_output_axes = [0, 1],
      body = step (float[8] before, float[8] row, float[8] other) => (float[8] after, float[8] sum, float[8] mixed) {
        after = Add(before, row) sum = Identity(after) mixed = Sub(other, before)
      }
    >
    """
    + LAYER.format(x="sums", y="y")
)

# A decoder whose first run has no past: its condition is of a size, but not known before a run.
PAST = """
    axis = Constant <value_int = 0> () zero = Constant <value_int = 0> ()
    sizes = Shape(past) rows = Gather(sizes, axis) first = Equal(rows, zero)
    d = If (first) <
      then_branch = then () => (float[k, 8] t) { u0 = MatMul(x, up) a0 = Relu(u0) t = MatMul(a0, down) },
      else_branch = else () => (float[l, 8] e) { u1 = MatMul(x, up) a1 = Relu(u1) o = MatMul(a1, down) e = Concat <axis = 0> (past, o) }
    >
    y = MatMul(d, mix)
"""

X = "float[n, 8] x"
UP, DOWN, MIX = (numbers(seed, *dims) for seed, dims in WEIGHTS.values())


def layer(x):
    return np.maximum(x @ UP, 0) @ DOWN


class ControlFlow(EndToEnd):
    def check(self, made, expected, *feeds, ways=(1, 2, 4)):
        """Each plan computes what `expected` gives of each of the `feeds`."""
        file = self.folder / "model.onnx"
        onnx.save(made, file)
        folders = []
        for number, feed in enumerate(feeds):
            folder = self.folder / f"data_{number}"
            folder.mkdir()
            for kind, values, arrays in (
                ("input", made.graph.input, feed),
                ("output", made.graph.output, expected(*feed)),
            ):
                for i, (value, array) in enumerate(zip(values, arrays, strict=True)):
                    onnx.save_tensor(numpy_helper.from_array(np.asarray(array), value.name), folder / f"{kind}_{i}.pb")
            folders.append(folder)
        for tp in ways:
            with self.subTest(tp=tp):
                artifact = self.compile(file, tp)
                for folder in folders + folders[::-1]:
                    self.execute(artifact, folder)

    def test_branch_between_split_layers(self):
        def expected(x):
            d = layer(x)
            return [layer(d @ MIX + d if d.sum() > 0 else -d)]

        self.check(
            model(X, "float[n, 8] y", BRANCH),
            expected,
            *[[numbers(seed, rows, SIZE)] for seed in range(4) for rows in (1, 3)],
        )
        plan = self.explain(self.folder / "model.onnx", 2)
        self.assertIn("If_6", plan["waits"])
        self.assertEqual([entry["kind"] for entry in plan["collectives"]].count("all_reduce"), 2)

    def test_branches_whose_weights_share_a_name(self):
        made = model(X, "float[n, 8] y", SCALED)
        scales = {"then_branch": 2, "else_branch": 3}
        (branch,) = [node for node in made.graph.node if node.op_type == "If"]
        for attribute in branch.attribute:
            values = np.full(SIZE, scales[attribute.name], np.float32)
            attribute.g.initializer.append(numpy_helper.from_array(values, "scale"))

        def expected(x):
            d = layer(x)
            return [layer(d * (2 if x.sum() > 0 else 3))]

        x = np.abs(numbers(0, 3, SIZE))
        self.check(made, expected, [x], [-x], ways=(1, 2))

    def test_branches_of_different_sizes(self):
        def expected(x):
            d = layer(x)
            places = np.nonzero(d[1:] > 0)[0]
            return [layer(np.concatenate([d, x, d]) if x.sum() > 0 else d[places])]

        self.check(
            model(X, "float[m, 8] y", SIZES),
            expected,
            *[[sign * np.abs(numbers(5, rows, SIZE))] for sign in (1, -1) for rows in (1, 4)],
        )

    def test_loop_that_ends_early(self):
        def expected(x, trips, limit):
            d = layer(x)
            h, rows, on = d, [], True
            while on and len(rows) < trips:
                h = np.fmod(h @ MIX, 2) + d
                rows.append(h.sum(0))
                on = rows[-1].sum() <= limit
            return layer(h), np.array(rows, np.float32).reshape(-1, SIZE)

        self.check(
            model(f"{X}, int64 trips, float limit", "float[n, 8] y, float[t, 8] rows", LOOP),
            expected,
            *[
                [numbers(6, 3, SIZE), np.int64(trips), np.float32(limit)]
                for trips in (0, 1, 5, 30)
                for limit in (-1e6, 0, 1e6)
            ],
        )

    def nested(self, x, trips):
        d = layer(x)
        h, kept = d, []
        for i in range(trips):
            h = np.fmod(h @ MIX, 4) if i % 2 == 0 else d - h
            kept.append(h.sum())
        return layer(h), np.array(kept, np.float32)

    def test_branch_in_a_loop(self):
        made = model(f"{X}, int64 trips", "float[n, 8] y, float[t] kept", NESTED)
        self.check(made, self.nested, *[[numbers(7, 2, SIZE), np.int64(trips)] for trips in (0, 1, 4, 7)])

    def test_sizes_that_grow(self):
        def expected(x, trips, ends):
            for _ in range(trips):
                x = np.concatenate([x, x[:1] + x])
                if len(x) >= ends[1]:
                    break
            return [x]

        self.check(
            model(f"{X}, int64 trips, int64[2] ends", "float[m, 8] y", GROWS),
            expected,
            *[
                [numbers(8, rows, SIZE), np.int64(trips), np.array([0, most])]
                for rows, trips, most in [(1, 0, 9), (1, 3, 1000), (2, 9, 20), (1, 9, 2)]
            ],
        )

    def test_sizes_that_do_not_fit_behind_a_loop(self):
        """Whether the loop's result and `w` are of one size, only the run knows."""
        body = GROWS.replace("y = Loop", "h = Loop") + "y = Add(h, w)"
        made = model(f"{X}, float[m, 8] w, int64 trips, int64[2] ends", "float[m, 8] y", body)
        ends = np.array([0, 1000])
        feed = [numbers(8, 1, SIZE), numbers(9, 4, SIZE), np.int64(2), ends]
        twice = lambda x: np.concatenate([x, x[:1] + x])  # noqa: E731
        self.check(made, lambda x, w, trips, ends: [twice(twice(x)) + w], feed, ways=(1, 2))
        feed[2] = np.int64(1)
        for i, array in enumerate(feed):
            onnx.save_tensor(numpy_helper.from_array(np.asarray(array)), self.folder / "data_0" / f"input_{i}.pb")
        done = program("shardrun", self.folder / "model.shard", "--inputs", self.folder / "data_0")
        self.assertEqual(done.returncode, 2)
        self.assertIn("guard violated", done.stderr)

    def test_values_change_places(self):
        self.check(
            model(f"{X}, float[m, 8] w, int64 trips", "float[k, 8] y, float[l, 8] z", SWAPS),
            lambda x, w, trips: (w, x) if trips % 2 else (x, w),
            *[[numbers(9, 2, SIZE), numbers(10, 3, SIZE), np.int64(trips)] for trips in (0, 1, 2, 5)],
        )

    def test_scan_both_ways(self):
        def expected(x):
            d = layer(x)
            sums = np.cumsum(d, 0)
            mixed = x[::-1] - (sums - d)
            return layer(sums), sums[-1], mixed[::-1].T

        self.check(
            model(X, "float[n, 8] y, float[8] total, float[8, n] backwards", SCAN),
            expected,
            *[[numbers(11, rows, SIZE)] for rows in (1, 2, 5)],
        )

    def test_condition_of_a_size(self):
        def expected(x, past):
            d = layer(x)
            return [(np.concatenate([past, d]) if len(past) else d) @ MIX]

        self.check(
            model(f"{X}, float[p, 8] past", "float[m, 8] y", PAST),
            expected,
            *[[numbers(12, 2, SIZE), numbers(13, rows, SIZE)] for rows in (0, 3)],
        )

    def test_short_loops_are_written_out(self):
        body = "three = Constant <value_int = 3> ()" + NESTED.replace("trips", "three")
        self.check(model(X, "float[n, 8] y, float[t] kept", body), lambda x: self.nested(x, 3), [numbers(7, 2, SIZE)])
        self.assertEqual(self.explain(self.folder / "model.onnx", 2)["waits"], [])

    def test_check_says_what_is_left_to_the_run(self):
        onnx.save(model(f"{X}, int64 trips", "float[n, 8] y, float[t] kept", NESTED), self.folder / "model.onnx")
        done = program("shardc", "check", self.folder / "model.onnx", "--json")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        notes = {note["kind"]: note for note in json.loads(done.stdout)["notes"]}
        self.assertEqual(len(notes["control_flow"]["where"]), 2)

    def test_plan_warns_of_what_runs_whole(self):
        onnx.save(model(X, "float[n, 8] y", BRANCH), self.folder / "model.onnx")
        done = program("shardc", self.folder / "model.onnx", "--tp", 2, "-o", self.folder / "model.shard")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, "warning: If_6: .*runs whole on every rank")

    def test_endless_loop_is_refused(self):
        made = model(f"{X}, int64 trips", "float[n, 8] y, float[t] kept", NESTED.replace("(trips, , d)", "(, , d)"))
        onnx.save(made, self.folder / "model.onnx")
        done = program("shardc", self.folder / "model.onnx", "-o", self.folder / "model.shard")
        self.assertEqual(done.returncode, 3)
        self.assertIn("never ends", done.stderr)
