"""Caches that keep the last tokens alone, where a runtime has them: in states, as they are, and in pages, as whole ones. The
reference is ONNX Runtime, which computes all of a text at once with whole caches."""

import functools
import json
import os
import unittest
from contextlib import closing
from unittest import mock

import numpy as np
import onnx
from onnx import TensorProto, helper

from tests.e2e.processes import ProcessTest, by_hand
from tests.e2e.windowed_caches import LOCAL, MIXED, VOCABULARY, Reference, decoder, request
from tests.python import support  # noqa: F401  before what follows
from tests.support import BUILD, read_outputs

import shardrt  # isort: skip

# One that the window has room for, one that is longer, parts that are, and steps.
LENGTHS = (3, 1, 1, 9, 1, 1, 2, 5, 1)
PLUGIN = BUILD / "lib/simulated/libshardrt_cuda.so"
PLANS = ((), ("--tp", 2), ("--tp", 3), ("--pp", 2), ("--tp", 2, "--pp", 2))


class WindowedCaches(ProcessTest):
    def artifact(self, windows, *flags, to="model.shard", picks=False, **model):
        """`picks`: a logit by half of its number, last of all."""
        file, made = self.folder / "model.onnx", decoder(windows, **model)
        if picks:
            # Doubled, so that only the run finds that there is no such logit.
            made.graph.node.append(helper.make_node("Add", ["number", "number"], ["twice"], "twice"))
            made.graph.node.append(helper.make_node("Gather", ["logits", "twice"], ["picked"], "picked", axis=2))
            made.graph.input.append(helper.make_tensor_value_info("number", TensorProto.INT64, [1]))
            made.graph.output.append(helper.make_tensor_value_info("picked", TensorProto.FLOAT, None))
        onnx.save(made, file)
        self.run_ok("shardc", file, *flags, "-o", self.folder / to)
        return self.folder / to

    def draw(self, rows, count, seed=4):
        return np.random.default_rng(seed).integers(0, VOCABULARY, (rows, count))

    def assert_close(self, found, expected):
        np.testing.assert_allclose(found, expected, atol=2e-5 * np.abs(expected).max())

    def continued(self, session, state, ids, lengths=LENGTHS, **more):
        """The logits of all positions, a part at a time."""
        parts, start = [], state.length
        for length in lengths:
            parts.append(session.run(request(start, ids[:, start : start + length], **more), state=state)["logits"])
            start += length
            self.assertEqual(state.length, start)
        return np.concatenate(parts, axis=1)

    def test_states(self):
        for windows, rooms in ((MIXED, ("past_sliding_length", (4, 0, 9, 0))), (LOCAL, ("past_sliding_length", (7, 3)))):
            expected = Reference(windows).logits(ids := self.draw(2, sum(LENGTHS)))
            for room in rooms:
                for plan in PLANS:
                    with self.subTest(windows=windows, room=room, plan=plan):
                        artifact = self.artifact(windows, *plan, room=room)
                        with shardrt.Session(artifact) as session, closing(session.state(capacity=sum(LENGTHS))) as state:
                            self.assertEqual(sum(info.is_cache for info in session.inputs), 2 * len(windows))
                            self.assert_close(self.continued(session, state, ids), expected)
                            state.reset()
                            self.assert_close(self.continued(session, state, ids[::-1]), expected[::-1])

    def test_states_with_position_ids(self):
        expected = Reference(MIXED, position_ids=True).logits(ids := self.draw(1, sum(LENGTHS)))
        artifact = self.artifact(MIXED, "--tp", 2, position_ids=True)
        with shardrt.Session(artifact) as session, closing(session.state(capacity=64)) as state:
            self.assert_close(self.continued(session, state, ids, position_ids=True), expected)

    def test_rows_of_different_lengths(self):
        """Prompts of 9 and 5 positions, padded on the right, and then steps."""
        for windows in (MIXED, LOCAL):
            reference, ids, lengths = Reference(windows), self.draw(2, 20), [9, 5]
            with shardrt.Session(self.artifact(windows, "--tp", 2)) as session, closing(session.state(capacity=20)) as state:
                tokens = ids[:, :9]
                for _ in range(9):
                    mask = np.array([[1] * length + [0] * (lengths[0] - length) for length in lengths])
                    found = session.run({"input_ids": tokens, "attention_mask": mask}, state=state)["logits"]
                    for row, length in enumerate(lengths):
                        last = found[row, length - 1 if tokens.shape[1] > 1 else 0]
                        self.assert_close(last, reference.logits([ids[row, :length]])[0, -1])
                    tokens = np.stack([ids[row, length : length + 1] for row, length in enumerate(lengths)])
                    lengths = [length + 1 for length in lengths]

    def requests(self, ids):
        """A file each."""
        files = [self.folder / f"{number}.npz" for number in range(len(LENGTHS))]
        for number, length in enumerate(LENGTHS):
            start = sum(LENGTHS[:number])
            np.savez(files[number], **request(start, ids[:, start : start + length]))
        return files

    def test_ranks_that_are_processes(self):
        for windows in (MIXED, LOCAL):
            requests = self.requests(self.draw(2, sum(LENGTHS)))
            for size, plan in ((2, ("--tp", 2)), (2, ("--pp", 2)), (4, ("--tp", 2, "--pp", 2))):
                with self.subTest(windows=windows, plan=plan):
                    run = functools.partial(self.run_processes, by_hand(size))
                    self.assert_like_threads(self.artifact(windows, *plan), run, "--inputs", *requests, "--cache", 24, "--repeat", 2)

    @unittest.skipUnless(PLUGIN.exists(), "the CUDA plugin was not built")
    def test_states_on_a_simulated_cuda(self):
        """Where addresses stay as they are."""
        expected, out = Reference(MIXED).logits(ids := self.draw(2, sum(LENGTHS))), self.folder / "out"
        requests = self.requests(ids)
        for plan in PLANS[:4]:
            with self.subTest(plan=plan), mock.patch.dict(os.environ, SHARDC_BACKENDS=str(PLUGIN.parent)):
                artifact = self.artifact(MIXED, *plan, "--target", "cuda")
                self.run_ok("shardrun", artifact, "--inputs", *requests, "--cache", 24, "--device", "cuda", "--outputs", out, "--repeat", 2)
                found = [read_outputs(out / str(number))[0] for number in range(len(LENGTHS))]
                self.assert_close(np.concatenate(found, axis=1), expected)

    def test_a_state_of_local_layers_is_never_full(self):
        """Of 12 positions, say, when it keeps 4; where a layer sees all tokens there is no place for more."""
        expected = Reference(LOCAL).logits(ids := self.draw(1, sum(LENGTHS)))
        with shardrt.Session(self.artifact(LOCAL)) as session, closing(session.state(capacity=12)) as state:
            self.assert_close(self.continued(session, state, ids), expected)
            taken = state.memory[0][1]
        with shardrt.Session(self.artifact(LOCAL)) as session, closing(session.state(capacity=4096)) as state:
            self.continued(session, state, ids)
            self.assertEqual(state.memory[0][1], taken)
        with shardrt.Session(self.artifact(MIXED)) as session, closing(session.state(capacity=12)) as state:
            with self.assertRaisesRegex(shardrt.InvalidArgument, r"cache of 'past.1.key' is full: it holds 12 positions"):
                self.continued(session, state, ids)

    def test_forks_go_their_own_way(self):
        for plan in PLANS[:4]:
            with self.subTest(plan=plan):
                reference, ids, other = Reference(MIXED), self.draw(2, 16), self.draw(2, 16, seed=8)
                other[:, :7] = ids[:, :7]
                with shardrt.Session(self.artifact(MIXED, *plan)) as session, closing(session.state(capacity=20)) as state:
                    self.continued(session, state, ids, [6, 1])
                    with closing(state.fork()) as fork:
                        for each, text in ((state, ids), (fork, other), (state, ids), (fork, other), (fork, other)):
                            expected = reference.logits(text[:, : each.length + 3])[:, -3:]
                            self.assert_close(self.continued(session, each, text, [3]), expected)

    def test_a_run_that_fails_leaves_the_state_as_it_was(self):
        for windows in (MIXED, LOCAL):
            reference, ids = Reference(windows), self.draw(1, 12)
            for plan in PLANS[:4]:
                with self.subTest(windows=windows, plan=plan):
                    with shardrt.Session(self.artifact(windows, *plan)) as session, closing(session.state(capacity=20)) as state:
                        self.continued(session, state, ids, [7])
                        for _ in range(2):
                            cancellation = shardrt.Cancellation()
                            cancellation.cancel()
                            with self.assertRaises(shardrt.Cancelled):
                                session.run(request(7, ids[:, 7:9]), state=state, cancellation=cancellation)
                            with self.assertRaisesRegex(shardrt.InvalidArgument, "there is no row"):
                                session.run(request(7, [[VOCABULARY + 7]]), state=state)
                            self.assertEqual(state.length, 7)
                        self.assert_close(self.continued(session, state, ids, [1, 4]), reference.logits(ids)[:, 7:])

    def test_a_run_that_fails_at_its_end_leaves_the_state_as_it_was(self):
        """When all caches, and all stages but the last, have been written."""
        for windows in (MIXED, LOCAL):
            reference, ids = Reference(windows), self.draw(1, 12)
            for plan in PLANS[:4]:
                with self.subTest(windows=windows, plan=plan):
                    artifact = self.artifact(windows, *plan, picks=True)
                    with shardrt.Session(artifact) as session, closing(session.state(capacity=20)) as state:
                        found, start = [], 0
                        for length in (6, 1, 4, 1):
                            given = request(start, ids[:, start : start + length])
                            with self.assertRaisesRegex(shardrt.InvalidArgument, "picked"):
                                session.run(given | {"number": np.array([VOCABULARY])}, state=state)
                            self.assertEqual(state.length, start)
                            found.append(session.run(given | {"number": np.array([3])}, state=state)["picked"])
                            start += length
                        self.assert_close(np.concatenate(found, axis=1), reference.logits(ids)[:, :, 6:7])

    def test_a_branch_that_sets_a_cache_of_another_size(self):
        """What a branch computes as a whole, the other one replaces: rows come in batches of other sizes."""
        heads, size, window = 2, 64, 64
        width, value = heads * size, helper.make_tensor_value_info
        caches = [(name, TensorProto.FLOAT, ["batch", heads, window, size]) for name in ("past.key", "past.value", "start", "present.key", "present.value")]
        wide = [(name, TensorProto.FLOAT, ["batch", "tokens", width]) for name in ("q", "k", "v", "y")]

        def branch(nodes, outputs):
            return helper.make_graph(nodes, "branch", [], [value(name, *given[1:]) for name, given in zip(outputs, (wide[3], *caches[3:]), strict=True)])

        attention = helper.make_node("GroupQueryAttention", ["q", "k", "v", "past.key", "past.value", "last", "total"], ["y1", "key1", "value1"],
                                     domain="com.microsoft", num_heads=heads, kv_num_heads=heads, local_window_size=window, sliding_window_cache=1)  # fmt: skip
        first = [helper.make_node("Neg", ["q"], ["y2"]), helper.make_node("Neg", ["start"], ["key2"]), helper.make_node("Abs", ["start"], ["value2"])]
        choice = helper.make_node("If", ["continues"], ["y", "present.key", "present.value"], then_branch=branch([attention], ["y1", "key1", "value1"]),
                                  else_branch=branch(first, ["y2", "key2", "value2"]))  # fmt: skip
        more = [("last", TensorProto.INT32, ["batch"]), ("total", TensorProto.INT32, [1]), ("continues", TensorProto.BOOL, [1])]
        inputs, outputs = [*wide[:3], *caches[:3], *more], [wide[3], *caches[3:]]
        graph = helper.make_graph([choice], "graph", [value(*each) for each in inputs], [value(*each) for each in outputs])
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), self.folder / "model.onnx")
        for plan in ((), ("--tp", 2)):
            self.run_ok("shardc", self.folder / "model.onnx", *plan, "-o", self.folder / "model.shard")
            rng = np.random.default_rng(6)
            with shardrt.Session(self.folder / "model.shard") as session, closing(session.state(capacity=window)) as state:
                for rows in (1, 3, 40, 2):
                    given = {name: rng.standard_normal((rows, 1, width)).astype(np.float32) for name in "qkv"}
                    given |= {"start": rng.standard_normal((rows, heads, window, size)).astype(np.float32)}
                    given |= {"last": np.full(rows, window, np.int32), "total": np.array([window + 1], np.int32)}
                    session.run(given | {"continues": np.array([False])}, state=state)
                    found = session.run(given | {"continues": np.array([True])}, state=state)["y"]
                    q, k, v = (given[name].reshape(rows, 1, heads, size).transpose(0, 2, 1, 3) for name in "qkv")
                    keys = np.concatenate([-given["start"][:, :, 1:], k], axis=2)
                    values = np.concatenate([np.abs(given["start"])[:, :, 1:], v], axis=2)
                    weights = np.exp(q @ keys.transpose(0, 1, 3, 2) / np.sqrt(size))
                    expected = weights @ values / weights.sum(axis=-1, keepdims=True)
                    self.assert_close(found, expected.transpose(0, 2, 1, 3).reshape(rows, 1, width))

    def test_texts(self):
        """Greedy texts of a Generator, by states and by steps of rows, are those of a plain loop."""
        prompts = [self.draw(1, count, seed=count)[0].tolist() for count in (2, 13, 5, 1)]
        for windows in (MIXED, LOCAL):
            reference = Reference(windows)
            expected = [reference.greedy(prompt, 12) for prompt in prompts]
            for flags in ((), ("--tp", 2), *(("--serve=4", *plan) for plan in PLANS), ("--serve=4", "--dp", 2), ("--serve=4", "--cp", 2)):
                with self.subTest(windows=windows, flags=flags):
                    with shardrt.Generator(self.artifact(windows, *flags), step_tokens=6) as generator:
                        found = generator.generate(prompts, max_tokens=12)
                        self.assertEqual([text.ids for text in found], expected)

    def test_steps_of_rows(self):
        """Rows beside each other, forks and what is taken back; the same bits as of whole caches, in 8 bits too."""
        for kv_type in ((), ("--kv-type", "int8")):
            for plan in PLANS:
                if kv_type and "--pp" in plan:
                    continue
                with self.subTest(kv_type=kv_type, plan=plan):
                    flags = ["--serve=4", *plan, *kv_type]
                    rounding = 5e-2 if kv_type else 2e-5
                    found = self.rows(self.artifact(MIXED, *flags, room=(4, 0, 9, 0)), rounding)
                    whole = self.rows(self.artifact(MIXED, *flags, keeps_all=True), rounding)
                    for one, other in zip(found, whole, strict=True):
                        np.testing.assert_array_equal(one, other)

    def rows(self, artifact, rounding):
        reference, ids, all_logits = Reference(MIXED), self.draw(3, 20), []
        with shardrt.Session(artifact) as session, session.pool(positions=200) as pool:
            texts = [(pool.sequence(), ids[0].tolist()), (pool.sequence(), ids[1].tolist())]
            for counts in ((3, 11), (1, 2), (6, 1), (1, 1)):
                all_logits.append(self.step(pool, texts, counts))
            texts[0][0].truncate(5)
            texts.append((texts[1][0].fork(), [*texts[1][1][:15], *ids[2].tolist()]))
            for counts in ((2, 1, 4), (1, 1, 1)):
                all_logits.append(self.step(pool, texts, counts))
            expected = np.stack([reference.logits([text[: len(sequence)]])[0, -1] for sequence, text in texts])
            np.testing.assert_allclose(all_logits[-1], expected, atol=rounding * np.abs(expected).max())
        return all_logits

    @staticmethod
    def step(pool, texts, counts):
        rows = [shardrt.Row(sequence, request(len(sequence), [text[len(sequence) : len(sequence) + count]]))
                for (sequence, text), count in zip(texts, counts, strict=True)]  # fmt: skip
        return pool.step(rows)["logits"][0]

    def test_verify_and_check(self):
        file = self.folder / "model.onnx"
        for windows in (MIXED, LOCAL):
            for room in ("past_sliding_length", 9):
                onnx.save(decoder(windows, room=room), file)
                for flags in (("--tp", 2), ("--pp", 2), ("--tp", 2, "--serve=4")):
                    with self.subTest(windows=windows, room=room, flags=flags):
                        text = self.run_ok("shardc", "verify", file, *flags, "--seed", 3)
                        self.assertIn("the plan computes what one rank computes", text)
                found = json.loads(self.run_ok("shardc", "check", file, "--json"))
                self.assertEqual([note["kind"] for note in found["notes"] if "rows" in note["kind"]], [])
                self.assertEqual(found["recognised"]["step of rows"], 1)
                self.assertEqual(found["recognised"]["KV cache"], 2 * len(windows))


if __name__ == "__main__":
    unittest.main()
