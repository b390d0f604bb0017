"""Forms of operators that exporters write and ONNX's node tests leave out, beside ONNX Runtime's numbers.

Most are what older opsets had; each was once wrong, or refused. Numbers stand here, so that no reference is needed.
"""

import numpy as np
import onnx
from onnx import helper

from tests.fuzz.operators.case import F32, I8, I32, I64, MICROSOFT, U8, Draw, case
from tests.support import EndToEnd, program, read_outputs


class Forms(EndToEnd):
    def setUp(self):
        super().setUp()
        self.draw = Draw("forms")

    def outputs(self, made, tp=1):
        model, data = self.folder / "model.onnx", self.folder / "inputs.npz"
        onnx.save(made.model(), model)
        np.savez(data, **made.inputs)
        self.run_ok("shardrun", self.compile(model, tp), "--inputs", data, "--outputs", self.folder / "out")
        return read_outputs(self.folder / "out")

    def refusal(self, made):
        onnx.save(made.model(), self.folder / "model.onnx")
        done = program("shardc", self.folder / "model.onnx", "-o", self.folder / "m.shard")
        self.assertEqual(done.returncode, 3, done.stderr)
        return done.stderr

    def test_resize_of_opset_10_is_asymmetric(self):
        image = np.array([[[[1, 2], [3, 4]]]], F32)
        made = case(self.draw, "Resize", image, np.array([1, 1, 2, 2], F32), weights=(1,), opset=10, mode="linear")
        expected = [[1, 1.5, 2, 2], [2, 2.5, 3, 3], [3, 3.5, 4, 4], [3, 3.5, 4, 4]]
        np.testing.assert_allclose(self.outputs(made)[0][0, 0], expected)

    def test_resize_of_opset_10_takes_the_next_element_when_shrinking(self):
        image = np.arange(1, 9, dtype=F32).reshape(1, 1, 2, 4)
        made = case(self.draw, "Resize", image, np.array([1, 1, 0.6, 0.6], F32), weights=(1,), opset=10)
        np.testing.assert_array_equal(self.outputs(made)[0], [[[[1, 3]]]])

    def test_celu_of_a_scalar(self):
        made = case(self.draw, "Celu", F32(-1), opset=12, alpha=2.0)
        found = self.outputs(made)[0]
        self.assertEqual(found.shape, ())
        self.assertAlmostEqual(float(found), 2 * (np.exp(-0.5) - 1), places=6)

    def test_cubic_samples_at_a_border_clamp_each_tap(self):
        """As PyTorch's grid_sample(mode="bicubic", padding_mode="border")."""
        image, grid = np.array([[[[0, 1, 4, 9]]]], F32), np.array([[[[1.2, 0]]]], F32)
        made = case(self.draw, "GridSample", image, grid, opset=20, mode="cubic", padding_mode="border")
        taps = [4, 9, 9, 9]  # around position 3.9
        x, a = 0.9, -0.75
        near = lambda d: ((a + 2) * d - (a + 3)) * d * d + 1
        far = lambda d: ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
        weights = [far(1 + x), near(x), near(1 - x), far(2 - x)]
        self.assertAlmostEqual(float(self.outputs(made)[0].item()), float(np.dot(taps, weights)), places=4)

    def test_slice_backwards_from_before_the_first_element(self):
        """ONNX clamps the start to the first element; NumPy has nothing there."""
        bounds = [np.array([v], I64) for v in (-7, -5, 0, -2)]
        made = case(self.draw, "Slice", np.arange(3, dtype=F32), *bounds, weights=(1, 2, 3, 4))
        np.testing.assert_array_equal(self.outputs(made)[0], [0])

    def test_quantizing_to_4_bits_is_refused(self):
        made = case(self.draw, "QuantizeLinear", self.draw.floats(4, 6), np.ones(4, F32), opset=21, axis=0, output_dtype=22)
        made.element = onnx.TensorProto.INT4
        made.nodes.append(helper.make_node("DequantizeLinear", ["y0", "x1"], ["z"], axis=0))
        made.outputs = ["z"]
        self.assertIn("quantise to integers of 8 or 16 bits", self.refusal(made))

    def attention(self, results, unused=(), **more):
        q, k, v = self.draw.floats(1, 4, 3, 8), self.draw.floats(1, 2, 5, 8), self.draw.floats(1, 2, 5, 8)
        made = case(self.draw, "Attention", q, k, v, opset=24, results=results, unused=unused, q_num_heads=4, kv_num_heads=2, **more)
        scores = np.einsum("bhsd,bhtd->bhst", q, k.repeat(2, 1)) / np.sqrt(8)
        weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
        return made, scores, np.einsum("bhst,bhtd->bhsd", weights, v.repeat(2, 1))

    def test_attention_of_heads_with_head_counts(self):
        for results, unused in ((1, ()), (4, (1, 2)), (4, (1, 2, 3))):
            with self.subTest(results=results, unused=unused):
                made, scores, expected = self.attention(results, unused)
                found = self.outputs(made)
                np.testing.assert_allclose(found[0], expected, atol=1e-5)
                if 3 not in unused and results == 4:
                    np.testing.assert_allclose(found[1], scores, atol=1e-5)

    def group_query(self, *more, total_is_weight=False):
        b, size = 2, 16
        q, k, v = (self.draw.floats(b, 1, size) for _ in range(3))
        cache = [self.draw.floats(b, 1, 7, size) for _ in range(2)]
        last, total = np.array([3, 4], I32), np.array(5, I32)
        weights = (6,) if total_is_weight else ()
        return case(self.draw, "GroupQueryAttention", q, k, v, *cache, last, total, *more, weights=weights, results=3, domain=MICROSOFT,
                    num_heads=1, kv_num_heads=1)  # fmt: skip

    def test_cache_with_room_whose_length_is_an_input(self):
        made = self.group_query()
        output, keys, _ = self.outputs(made)
        self.assertEqual(keys.shape, (2, 1, 7, 16))
        data = made.inputs
        for row, last in enumerate(data["x5"]):
            all_keys = np.concatenate([data["x3"][row, 0, :last], data["x1"][row]])
            values = np.concatenate([data["x4"][row, 0, :last], data["x2"][row]])
            np.testing.assert_allclose(keys[row, 0, : last + 1], all_keys)
            scores = all_keys @ data["x0"][row, 0] / 4
            weights = np.exp(scores) / np.exp(scores).sum()
            np.testing.assert_allclose(output[row, 0], weights @ values, atol=1e-5)

    def test_cache_without_room_whose_bias_says_so(self):
        """A column for each of 8 tokens, and a cache of 7: it grows. The compiler ended in a crash."""
        made = self.group_query(None, None, None, self.draw.floats(1, 1, 1, 8))
        data = made.inputs
        data["x5"], data["x6"] = np.array([7, 7], I32), np.array(8, I32)
        output, keys, _ = self.outputs(made)
        self.assertEqual(keys.shape, (2, 1, 8, 16))
        for row in range(2):
            all_keys = np.concatenate([data["x3"][row, 0], data["x1"][row]])
            values = np.concatenate([data["x4"][row, 0], data["x2"][row]])
            np.testing.assert_array_equal(keys[row, 0], all_keys)
            scores = all_keys @ data["x0"][row, 0] / 4 + data["x10"][0, 0, 0]
            weights = np.exp(scores) / np.exp(scores).sum()
            np.testing.assert_allclose(output[row, 0], weights @ values, atol=1e-5)

    def test_cache_of_the_last_tokens(self):
        """Steps of 1 and more, of prompts and behind them, on one with room: what it keeps follows from how many there were."""
        window, size = 3, 16
        for room, symbolic, tp in ((5, False, 1), (5, True, 2), (3, True, 1)):
            q, k, v = (self.draw.floats(1, 17, heads * size) for heads in (4, 2, 2))
            caches, count = [np.zeros((1, 2, room, size), F32)] * 2, 0
            heads = [x.reshape(17, -1, size).transpose(1, 0, 2) for x in (q, k, v)]
            for new in (2, 1, 1, 1, 1, 3, 1, 6, 1):
                now = slice(count, count + new)
                count += new
                made = case(self.draw, "GroupQueryAttention", q[:, now], k[:, now], v[:, now], *caches, np.array([count - 1], I32), np.array(count, I32),
                            results=3, domain=MICROSOFT, num_heads=4, kv_num_heads=2, local_window_size=window, sliding_window_cache=1)  # fmt: skip
                made.symbols = {room: "room"} if symbolic and new not in (1, 2, room) else {}
                with self.subTest(room=room, count=count, new=new):
                    output, *caches = map(np.array, self.outputs(made, tp))
                    step = room - window + 1
                    kept = count if count <= room else count - step * -((room - count) // step)
                    for cache, all_heads in zip(caches, heads[1:], strict=True):
                        self.assertEqual(cache.shape, (1, 2, room, size))
                        np.testing.assert_array_equal(cache[0, :, :kept], all_heads[:, count - kept : count])
                        cache[0, :, kept:] = np.nan  # may be anything
                    for row in range(new):
                        seen = slice(max(now.start + row + 1 - window, 0), now.start + row + 1)
                        for head in range(4):
                            scores = heads[1][head // 2, seen] @ heads[0][head, now.start + row] / 4
                            weights = np.exp(scores) / np.exp(scores).sum()
                            found = output[0, row, head * size :][:size]
                            np.testing.assert_allclose(found, weights @ heads[2][head // 2, seen], atol=1e-5)

    def test_last_query_of_causal_attention_to_a_cache_sees_all_of_it(self):
        """The operator's keys are a cache of 5, the queries the last of them: the only one saw the first key alone."""
        for queries in (1, 3):
            with self.subTest(queries=queries):
                q, k, v = self.draw.floats(1, queries, 16), self.draw.floats(1, 1, 5, 16), self.draw.floats(1, 1, 5, 16)
                made = case(self.draw, "MultiHeadAttention", q, k, v, domain=MICROSOFT, num_heads=1, unidirectional=1)
                found = self.outputs(made)[0][0]
                for row in range(queries):
                    seen = 5 if row == queries - 1 else row + 1
                    scores = k[0, 0, :seen] @ q[0, row] / 4
                    weights = np.exp(scores) / np.exp(scores).sum()
                    np.testing.assert_allclose(found[row], weights @ v[0, 0, :seen], atol=1e-5)

    def test_slice_with_a_step_beyond_any_dim(self):
        """It takes the first element; size + step was beyond 64 bits, and nothing was taken."""
        for step, first in ((2**63 - 1, 1), (1 - 2**63, 4), (-(2**63), 4)):
            bounds = [np.array([v], I64) for v in ((1, 5, 0, step) if step > 0 else (4, -6, 0, step))]
            for symbolic in (False, True):
                with self.subTest(step=step, symbolic=symbolic):
                    made = case(self.draw, "Slice", np.arange(5, dtype=F32), *bounds, weights=(1, 2, 3, 4))
                    if symbolic and step < 0:
                        made.weights["x1"], made.weights["x2"] = np.array([-1], I64), np.array([-(2**63)], I64)
                    if symbolic:
                        made.symbols = {5: "n"}
                    np.testing.assert_array_equal(self.outputs(made)[0], [first])

    def test_operand_that_nobody_knows_is_refused(self):
        """query_seqlens, which later releases of ONNX Runtime have."""
        made = self.group_query(*[None] * 9, np.array([1, 1], I32))
        self.assertIn("GroupQueryAttention: operand 16 of 17", self.refusal(made))

    def test_old_attributes(self):
        x = np.array([[-2, 0.3, 2.5, 1]], F32)
        for op, opset, more, expected in (
            ("Clip", 7, {"min": -1.0, "max": 2.0}, [[-1, 0.3, 2, 1]]),
            ("Clip", 9, {"max": 1.5}, [[-2, 0.3, 1.5, 1]]),
            ("ThresholdedRelu", 10, {"alpha": 0.5}, [[0, 0, 2.5, 1]]),
            ("Selu", 7, {"alpha": 2.0, "gamma": 0.5}, [[np.exp(-2) - 1, 0.15, 1.25, 0.5]]),
            ("Upsample", 7, {"scales": [1.0, 2.0]}, [[-2, -2, 0.3, 0.3, 2.5, 2.5, 1, 1]]),
        ):
            with self.subTest(op=op, opset=opset):
                made = case(self.draw, op, x, opset=opset, **more)
                np.testing.assert_allclose(self.outputs(made)[0], np.array(expected, F32), rtol=1e-5)
        values, places = self.outputs(case(self.draw, "TopK", x, results=2, opset=7, k=2, axis=1))
        np.testing.assert_array_equal(values, x[:, [2, 3]])
        np.testing.assert_array_equal(places, [[2, 3]])
        made = case(self.draw, "ReduceLogSum", np.abs(x), opset=11, axes=[1], keepdims=0)
        np.testing.assert_allclose(self.outputs(made)[0], np.log(np.abs(x).sum(1)), rtol=1e-6)

    def test_group_normalization_of_opset_18_has_a_scale_for_each_group(self):
        x = self.draw.floats(2, 4, 3)
        made = case(self.draw, "GroupNormalization", x, np.array([1, 2], F32), np.array([0, 1], F32), opset=18, num_groups=2)
        groups = x.reshape(2, 2, 6)
        normal = (groups - groups.mean(-1, keepdims=True)) / np.sqrt(groups.var(-1, keepdims=True) + 1e-5)
        expected = normal * np.array([1, 2])[:, None] + np.array([0, 1])[:, None]
        np.testing.assert_allclose(self.outputs(made)[0], expected.reshape(x.shape), atol=1e-5)

    def test_operands_whose_size_is_a_symbol(self):
        """One that is longer than what it is for is no parameter, or length, of it."""
        x, scale, bias = self.draw.floats(2, 3, 4), self.draw.floats(3), self.draw.floats(3)
        cache, row = self.draw.floats(3, 1, 5, 2), self.draw.floats(3, 1, 1, 2)
        lengths = np.array([1, 2, 0], I64)
        for made, number in (
            (case(self.draw, "InstanceNormalization", x, scale, bias, opset=22, epsilon=0.5), 1),
            (case(self.draw, "ReverseSequence", x[0], lengths + 1, opset=10, batch_axis=0, time_axis=1), 1),
            (case(self.draw, "TensorScatter", cache, row, lengths, opset=24, axis=2, mode="circular"), 2),
        ):
            with self.subTest(op=made.nodes[0].op_type):
                whole = self.outputs(made)[0]
                model = made.model()
                model.graph.input[number].type.tensor_type.shape.dim[0].dim_param = "n"
                onnx.save(model, self.folder / "model.onnx")
                artifact, data = self.compile(self.folder / "model.onnx", 1), self.folder / "inputs.npz"
                names = list(made.inputs)
                for size in (3, 5):
                    np.savez(data, **made.inputs | {names[number]: np.resize(made.inputs[names[number]], size)})
                    done = program("shardrun", artifact, "--inputs", data, "--outputs", self.folder / "out")
                    self.assertEqual(done.returncode == 0, size == 3, done.stderr)
                    if size == 3:
                        np.testing.assert_array_equal(read_outputs(self.folder / "out")[0], whole)

    def test_slices_of_dims_that_are_shorter(self):
        """A symbolic dim of 3: the last 5, the first 4, from the second of both ends on, behind its end."""
        x, ends = np.arange(6, dtype=F32).reshape(3, 2), 2**62
        for start, end in ((-5, ends), (0, 4), (2, -2), (5, ends), (-4, -2), (4, 7)):
            with self.subTest(start=start, end=end):
                bounds = [np.array([v], I64) for v in (start, end, 0)]
                made = case(self.draw, "Slice", x, *bounds, weights=(1, 2, 3))
                made.symbols = {3: "n"}
                np.testing.assert_array_equal(self.outputs(made)[0], x[start:end])

    def test_recurrent_networks_of_any_length(self):
        """A length that the model knows by name only gives what a constant one gives."""
        for op, gates, results in (("LSTM", 4, 3), ("GRU", 3, 2), ("RNN", 1, 2)):
            for direction in ("forward", "bidirectional"):
                both = 2 if direction == "bidirectional" else 1
                x = self.draw.floats(5, 2, 3)
                lengths = np.array([5, 3], I32)
                operands = [x, self.draw.floats(both, gates * 4, 3), self.draw.floats(both, gates * 4, 4), None, lengths]
                made = case(self.draw, op, *operands, weights=(1, 2), results=results, opset=14, hidden_size=4, direction=direction)
                whole = self.outputs(made)
                made.symbols = {5: "n"}
                with self.subTest(op=op, direction=direction):
                    for a, b in zip(self.outputs(made), whole, strict=True):
                        np.testing.assert_allclose(a, b, atol=1e-6)

    def test_resize_between_symbolic_sizes(self):
        """As between the same sizes where they are constants."""
        image = self.draw.floats(1, 2, 5, 3)
        for mode in ("nearest", "linear", "cubic"):
            for transform in ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric"):
                for scale in (2.0, 0.6):
                    made = case(self.draw, "Resize", image, None, np.array([1, 1, scale, 1.5], F32), weights=(2,), opset=19,
                                mode=mode, coordinate_transformation_mode=transform)  # fmt: skip
                    whole = self.outputs(made)[0]
                    made.symbols = {5: "h", 3: "w"}
                    with self.subTest(mode=mode, transform=transform, scale=scale):
                        np.testing.assert_allclose(self.outputs(made)[0], whole, atol=1e-5)

    def test_resize_to_the_size_of_another_image(self):
        image, other = self.draw.floats(1, 2, 3, 3), self.draw.floats(1, 4, 7, 5)
        made = case(self.draw, "Resize", image, None, None, np.array([1, 2, 7, 5], I64), weights=(3,), opset=18, mode="linear")
        whole = self.outputs(made)[0]
        node = helper.make_node
        made.inputs["other"] = other
        made.weights |= {"from": np.array([2], I64), "to": np.array([4], I64), "lead": np.array([1, 2], I64)}
        made.nodes = [node("Shape", ["other"], ["shape"]), node("Slice", ["shape", "from", "to"], ["hw"]),
                      node("Concat", ["lead", "hw"], ["x3"], axis=0), *made.nodes]  # fmt: skip
        del made.weights["x3"]
        made.symbols = {7: "h", 5: "w"}
        np.testing.assert_allclose(self.outputs(made)[0], whole, atol=1e-5)

    def test_pads_and_starts_computed_in_floating_point(self):
        """Padded to a multiple of 4, as images and windows are; of that the last 60 %."""
        node = helper.make_node
        nodes = [
            node("Shape", ["x"], ["s"], start=1),
            node("Cast", ["s"], ["size"], to=1),
            node("Div", ["size", "four"], ["parts"]),
            node("Ceil", ["parts"], ["whole"]),
            node("Mul", ["whole", "four"], ["wide"]),
            node("Sub", ["wide", "size"], ["more"]),
            node("Cast", ["more"], ["pad"], to=7),
            node("Concat", ["zeros", "pad"], ["pads"], axis=0),
            node("Pad", ["x", "pads", "", ""], ["padded"], mode="edge"),
            node("Mul", ["wide", "share"], ["kept"]),
            node("Cast", ["kept"], ["count"], to=7),
            node("Neg", ["count"], ["start"]),
            node("Slice", ["padded", "start", "end", "axis"], ["y"]),
        ]
        weights = {"four": np.array([4], F32), "share": np.array([0.6], F32), "zeros": np.array([0, 0, 0])}
        weights |= {"end": np.array([2**40]), "axis": np.array([1])}
        value = helper.make_tensor_value_info
        graph = helper.make_graph(nodes, "padded", [value("x", 1, [2, "n"])], [value("y", 1, None)])
        graph.initializer.extend(onnx.numpy_helper.from_array(data, name) for name, data in weights.items())
        model, data = self.folder / "model.onnx", self.folder / "inputs.npz"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9), model)
        artifact = self.compile(model, 1)
        for n in (1, 5, 8):
            x = self.draw.floats(2, n)
            np.savez(data, x=x)
            self.run_ok("shardrun", artifact, "--inputs", data, "--outputs", self.folder / "out")
            padded = np.pad(x, [(0, 0), (0, -n % 4)], mode="edge")
            expected = padded[:, -int(F32(padded.shape[1]) * F32(0.6)) :]
            np.testing.assert_array_equal(read_outputs(self.folder / "out")[0], expected)

    def test_expand_to_a_shape_that_is_an_input(self):
        x = self.draw.floats(3, 1, 4)
        for shape in ([3, 2, 4], [1, 2, 1], [2, 1, 5, 1]):
            with self.subTest(shape=shape):
                made = case(self.draw, "Expand", x, np.array(shape, I64))
                np.testing.assert_array_equal(self.outputs(made)[0], x * np.ones(shape, F32))

    def test_windows_over_symbolic_images(self):
        image = self.draw.floats(1, 2, 8, 6)
        for op, operands, more in (
            ("Conv", [self.draw.floats(3, 2, 3, 3)], {"auto_pad": "SAME_UPPER"}),
            ("Conv", [self.draw.floats(3, 2, 4, 4)], {"auto_pad": "SAME_LOWER"}),
            ("MaxPool", [], {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}),
            ("AveragePool", [], {"kernel_shape": [2, 3], "strides": [3, 2], "pads": [1, 1, 0, 1], "ceil_mode": 1}),
        ):
            made = case(self.draw, op, image, *operands, weights=(1,), opset=19, **more)
            whole = self.outputs(made)[0]
            made.symbols = {8: "h", 6: "w"}
            with self.subTest(op=op, **more):
                np.testing.assert_allclose(self.outputs(made)[0], whole, atol=1e-5)

    def test_same_pads_where_strides_do_not_divide(self):
        """SAME adds what is lacking to a multiple of the stride, which a symbol does not say before the run."""
        image = self.draw.floats(1, 2, 8, 7)
        pool = {"kernel_shape": [3, 2], "strides": [2, 3]}
        filters = self.draw.floats(3, 2, 3, 4), self.draw.floats(2, 3, 3, 4)
        for mode in ("SAME_UPPER", "SAME_LOWER"):
            for op, operands, more in (
                ("Conv", [filters[0]], {"strides": [3, 2]}),
                ("Conv", [filters[0]], {"strides": [5, 2]}),
                ("MaxPool", [], pool),
                ("LpPool", [], pool),
                ("AveragePool", [], pool),
                ("AveragePool", [], {"kernel_shape": [3, 2], "strides": [3, 2], "dilations": [2, 1]}),
                ("AveragePool", [], pool | {"count_include_pad": 1}),
                ("ConvTranspose", [filters[1]], {"strides": [3, 2]}),
                ("ConvTranspose", [filters[1]], {"strides": [2, 5]}),
            ):
                made = case(self.draw, op, image, *operands, weights=(1,), opset=19, auto_pad=mode, **more)
                whole = self.outputs(made)[0]
                made.symbols = {8: "h", 7: "w"}
                for tp in (1, 2):
                    with self.subTest(op=op, mode=mode, tp=tp, **more):
                        np.testing.assert_allclose(self.outputs(made, tp)[0], whole, atol=1e-5)

    def test_same_pads_of_integer_images(self):
        """A window takes the largest of its elements, so that pads are the smallest number of the type."""
        for kind, low in ((I8, -128), (U8, 0)):
            image = self.draw.ints(low, low + 9, 1, 2, 8, 7, dtype=kind)
            pool = {"kernel_shape": [3, 2], "strides": [2, 3], "auto_pad": "SAME_LOWER"}
            made = case(self.draw, "MaxPool", image, opset=19, **pool)
            whole = self.outputs(made)[0]
            made.symbols = {8: "h", 7: "w"}
            with self.subTest(kind=kind.__name__):
                np.testing.assert_array_equal(self.outputs(made)[0], whole)

    def test_integer_products_of_vectors(self):
        for a, b in (((4,), (4, 3)), ((2, 4), (4,)), ((4,), (4,))):
            x, w = self.draw.ints(0, 200, *a, dtype=U8), self.draw.ints(-99, 99, *b, dtype=I8)
            made = case(self.draw, "MatMulInteger", x, w, U8(3), weights=(2,))
            with self.subTest(a=a, b=b):
                np.testing.assert_array_equal(self.outputs(made)[0], (x.astype(I32) - 3) @ w.astype(I32))

    def test_weights_of_2_bits(self):
        n, k, block = 8, 32, 16
        packed = self.draw.ints(0, 255, n, k // block, block // 4, dtype=U8)
        scales, x = self.draw.positive(n, k // block), self.draw.floats(3, k)
        made = case(self.draw, "MatMulNBits", x, packed, scales, weights=(1, 2), domain=MICROSOFT, K=k, N=n, bits=2, block_size=block)
        values = (packed[..., None] >> np.array([0, 2, 4, 6], U8) & 3).reshape(n, k // block, block).astype(F32) - 2
        weights = (values * scales[..., None]).reshape(n, k)
        for tp in (1, 2):
            np.testing.assert_allclose(self.outputs(made, tp)[0], x @ weights.T, atol=1e-4)

    def test_transforms_of_any_length(self):
        x = self.draw.floats(2, 5, 2)
        for data, more in ((x, {}), (x, {"inverse": 1}), (x[..., :1], {"onesided": 1})):
            made = case(self.draw, "DFT", data, opset=17, axis=1, **more)
            made.symbols = {5: "n"}
            signal = data[..., 0] + (1j * data[..., 1] if data.shape[-1] == 2 else 0)
            expected = np.fft.ifft(signal) if more.get("inverse") else np.fft.fft(signal)
            expected = expected[:, :3] if more.get("onesided") else expected
            with self.subTest(**more):
                np.testing.assert_allclose(self.outputs(made)[0], np.stack([expected.real, expected.imag], -1), atol=1e-5)
