"""Sizes that inputs, other sizes or the data say, beside onnx.reference: one artifact for requests of any size."""

import warnings

import numpy as np
import onnx
from onnx import parser
from onnx.reference import ReferenceEvaluator

from tests.support import EndToEnd, read_outputs

HEADER = '<ir_version: 9, opset_import: ["" : 20]>\n'


class SymbolicSizes(EndToEnd):
    def setUp(self):
        super().setUp()
        self.draw = np.random.default_rng(0)

    def floats(self, *dims):
        return self.draw.standard_normal(dims).astype(np.float32)

    def check(self, text, *requests, tp=(1, 2), tolerance=2e-5):
        model = parser.parse_model(HEADER + text)
        onnx.save(model, self.folder / "model.onnx")
        reference = ReferenceEvaluator(model)
        for ranks in tp:
            artifact = self.compile(self.folder / "model.onnx", ranks)
            for request in requests:
                with self.subTest(tp=ranks, shapes={name: x.shape for name, x in request.items()}):
                    np.savez(self.folder / "inputs.npz", **request)
                    out = self.folder / "out"
                    self.run_ok("shardrun", artifact, "--inputs", self.folder / "inputs.npz", "--outputs", out)
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        expected = reference.run(None, request)
                    for found, wanted in zip(read_outputs(out), expected, strict=True):
                        np.testing.assert_allclose(found, wanted, atol=tolerance, rtol=tolerance)

    def resize(self, attributes, operands, *sizes, weights=""):
        text = f"g (float[n,2,h,w] x) => (float[n,2,p,q] y) <{weights}> {{ y = Resize<{attributes}>(x, {operands}) }}"
        self.check(text, *({"x": self.floats(*size)} for size in sizes))

    def test_norms_by_scales_of_more_dims(self):
        """A scale or bias may differ along dims that are not normalised."""
        for scale, bias in (("3,4", ""), ("4", "3,4"), ("3,4", "4"), ("1,4", "2,3,4")):
            count = [int(np.prod([int(n) for n in dims.split(",")])) for dims in (scale, bias) if dims]
            weights = [f"float[{dims}] {name} = {{{', '.join(str(0.5 + i) for i in range(n))}}}"
                       for name, dims, n in zip("sb", (scale, bias), count)]
            text = f"g (float[n,3,4] x) => (float[n,3,4] y) <{', '.join(weights)}> {{ y = LayerNormalization(x, s{', b' if bias else ''}) }}"
            self.check(text, {"x": self.floats(2, 3, 4)})

    def test_antialias_of_a_scale(self):
        for mode in ("linear", "cubic"):
            self.resize(f'mode="{mode}", antialias=1', ", s", (1, 2, 5, 7), (2, 2, 9, 4), (1, 2, 2, 2),
                        weights="float[4] s = {1, 1, 0.5, 1.5}")

    def test_antialias_of_sizes(self):
        for mode in ("linear", "cubic"):
            self.resize(f'mode="{mode}", antialias=1, axes=[2, 3]', ", , s", (1, 2, 12, 7), (2, 2, 3, 4), (1, 2, 1, 9),
                        weights="int64[2] s = {3, 5}")

    def test_taps_outside_that_do_not_count(self):
        for antialias in (0, 1):
            self.resize(f'mode="cubic", exclude_outside=1, antialias={antialias}', ", s", (1, 2, 5, 7), (2, 2, 8, 4),
                        weights="float[4] s = {1, 1, 0.5, 1.5}")

    def test_kept_aspect_ratios(self):
        for policy in ("not_larger", "not_smaller"):
            for mode in ("nearest", "linear"):
                attributes = f'mode="{mode}", axes=[2, 3], keep_aspect_ratio_policy="{policy}"'
                self.resize(attributes, ", , s", (1, 2, 5, 7), (1, 2, 16, 4), (2, 2, 7, 9), weights="int64[2] s = {7, 9}")

    def test_a_part_of_an_image(self):
        for mode in ("nearest", "linear"):
            attributes = (f'mode="{mode}", axes=[2, 3], coordinate_transformation_mode="tf_crop_and_resize", '
                          "extrapolation_value=3.5")
            self.resize(attributes, "r, s", (1, 2, 5, 7), (2, 2, 8, 13),
                        weights="float[4] r = {0.2, 0.1, 0.7, 1.3}, float[2] s = {1.25, 0.75}")
            self.resize(attributes, "r, s", (1, 2, 5, 7), (2, 2, 8, 13),
                        weights="float[4] r = {0.2, 0, 0.7, 1}, float[2] s = {1, 1}")

    def test_sizes_beside_constants_may_be_1(self):
        self.check("g (float[a,4] x, float[b,4] w, float[c,e] v) => (float[p,q] y) { z = Add(x, w) y = Mul(z, v) }",
                   {"x": self.floats(1, 4), "w": self.floats(3, 4), "v": self.floats(1, 1)},
                   {"x": self.floats(3, 4), "w": self.floats(1, 4), "v": self.floats(3, 4)},
                   {"x": self.floats(1, 4), "w": self.floats(1, 4), "v": self.floats(5, 1)},
                   {"x": self.floats(2, 4), "w": self.floats(2, 4), "v": self.floats(1, 4)})

    def test_expand_to_what_is_computed_of_a_shape(self):
        """The condition is read of the data at first, and then of no use: what was chosen is."""
        self.check("""g (float[a,1] x, float[n,m] t) => (float[p,q] y) <int64[2] one = {1, 1}> {
                        s = Shape(t)  e = Equal(s, one)  w = Where(e, one, s)  y = Expand(x, w)
                      }""",
                   {"x": self.floats(3, 1), "t": self.floats(3, 4)}, {"x": self.floats(1, 1), "t": self.floats(5, 4)},
                   {"x": self.floats(3, 1), "t": self.floats(1, 4)}, {"x": self.floats(2, 1), "t": self.floats(2, 1)})

    def test_only_the_shape_of_an_input_is_used(self):
        self.check("""g (float[a,3] x, float[n,m] t) => (float[p,q] y, int64[2] s) {
                        s = Shape(t)  k = Shape<end=1>(t)  c = Constant<value_ints=[3]>()
                        both = Concat<axis=0>(k, c)  y = Expand(x, both)
                      }""",
                   {"x": self.floats(2, 3), "t": self.floats(2, 4)}, {"x": self.floats(1, 3), "t": self.floats(5, 7)},
                   {"x": self.floats(4, 3), "t": self.floats(1, 2)})

    def test_parts_of_what_is_no_multiple(self):
        for count, sizes in ((2, (4, 5, 1, 2)), (3, (7, 6, 3, 8)), (4, (5, 9, 8, 7))):
            parts = ", ".join(f"p{i}" for i in range(count))
            types = ", ".join(f"float[a{i},3] p{i}" for i in range(count))
            self.check(f"g (float[n,3] x) => ({types}) {{ {parts} = Split<num_outputs={count}>(x) }}",
                       *({"x": self.floats(n, 3)} for n in sizes))

    def test_squeezing_no_dim_of_a_symbol(self):
        self.check("g (float[n,1,m] x) => (float[n,m] y) { y = Squeeze(x) }",
                   {"x": self.floats(3, 1, 2)}, {"x": self.floats(2, 1, 0)}, {"x": self.floats(0, 1, 4)})

    def test_pads_below_zero(self):
        """They cut rows off; the reference has none of these."""
        text = """g (float[n,3] x, int64[2] to) => (float[m,3] y) <int64 first = {0}> {
                    size = Gather(to, first)  s = Shape(x)  n = Gather(s, first)  more = Sub(size, n)
                    o = Constant<value_ints=[0]>()  m = Unsqueeze(more, o)  pads = Concat<axis=0>(o, o, m, o)
                    y = Pad(x, pads)
                  }"""
        onnx.save(parser.parse_model(HEADER + text), self.folder / "model.onnx")
        for ranks in (1, 2):
            artifact = self.compile(self.folder / "model.onnx", ranks)
            for size, wanted in ((3, 5), (5, 3), (4, 4), (2, 0)):
                x = self.floats(size, 3)
                np.savez(self.folder / "inputs.npz", x=x, to=np.array([wanted, 1]))
                self.run_ok("shardrun", artifact, "--inputs", self.folder / "inputs.npz", "--outputs", self.folder / "out")
                expected = np.pad(x, ((0, max(wanted - size, 0)), (0, 0)))[:wanted]
                np.testing.assert_array_equal(read_outputs(self.folder / "out")[0], expected)

    def test_ranges_of_floats(self):
        self.check("""g (float[n,d] x) => (float[m] y) <float half = {0.5}, float start = {-1.0}, float step = {0.75}> {
                        s = Shape<start=0, end=1>(x)  scalar = Squeeze(s)  size = Cast<to=1>(scalar)
                        limit = Mul(size, half)  y = Range(start, limit, step)
                      }""",
                   *({"x": self.floats(n, 2)} for n in (5, 4, 1, 9)))
        self.check("g (float a, float b, float c) => (float[m] y) { y = Range(a, b, c) }",
                   *({"a": np.float32(a), "b": np.float32(b), "c": np.float32(c)}
                     for a, b, c in ((0, 3, 1), (5, 1, -1.5), (2, 1, 1), (0, 1, 0.25))))
