"""The Python package shardrt: runs of artifacts, against what is expected of them and against onnx.reference."""

import asyncio
import ctypes
import gc
import io
import json
import os
import pickle
import sys
import threading
import unittest
from unittest import mock

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.e2e.caches import HEADS, SIZE, VOCABULARY, decoder, feed, inputs_of
from tests.graphs import GraphBuilder, placed_encoder
from tests.python import support  # noqa: F401  before what follows
from tests.support import EndToEnd, model_file, read_outputs

import shardrt  # isort: skip
from shardrt import _progress  # isort: skip
from shardrt._tensors import Inputs  # isort: skip

LLAMA = model_file("llama-dynamo-op18")
DATA = LLAMA.parent / "test_data_set_0"


class Foreign:
    """What another framework's tensor looks like from here."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class ForeignBits(Foreign):
    """A tensor of a type that NumPy has not, as PyTorch hands out bfloat16; or of another device."""

    def __init__(self, array, code, device=1):
        super().__init__(array.view({1: np.uint8, 2: np.uint16}[array.itemsize]))
        self.code, self.device = code, device

    def __dlpack__(self, **options):
        capsule = super().__dlpack__(**options)
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        address = get(capsule, b"dltensor")  # data, device, rank, code
        ctypes.c_int32.from_address(address + 8).value = self.device
        ctypes.c_uint8.from_address(address + 20).value = self.code
        return capsule


class Llama(EndToEnd):
    @classmethod
    def setUpClass(cls):
        files = [onnx.load_tensor(file) for file in sorted(DATA.glob("input_*.pb"))]
        cls.inputs = dict(zip(("input_ids", "attention_mask"), map(numpy_helper.to_array, files), strict=True))
        cls.expected = read_outputs(DATA)[0]

    def open(self, *flags, tp=2, **options):
        session = shardrt.Session(self.compile(LLAMA, tp, *flags), **options)
        self.addCleanup(session.close)
        return session

    def assert_expected(self, outputs):
        np.testing.assert_allclose(outputs["logits"], self.expected, rtol=1e-3, atol=1e-4)

    def test_what_time_was_spent_on(self):
        """As often as the plan says that ranks meet; in flight, too, where waits say nothing of whom they wait for."""
        inputs = {"input_ids": np.ones((2, 8), np.int64), "attention_mask": np.ones((2, 8), np.int64)}
        dims = ("--dims", "batch=2,sequence=8")
        for tp, flags in ((2, ()), (2, ("--pp", 2)), (4, ("--sp", "--dp", 2)), (2, ("--overlap", 2))):
            with self.subTest(tp=tp, flags=flags):
                said = self.explain(LLAMA, tp, *flags, *dims)
                with self.open(*flags, tp=tp) as session:
                    given = {info.name: inputs[info.name] for info in session.inputs}
                    self.assertFalse(any(entry.count for entry in session.spent() if entry.kind != "collective"))
                    loading = {entry.name: entry.count for entry in session.spent() if entry.kind == "collective"}
                    for _ in range(3):
                        session.run(given)
                    spent = {(entry.kind, entry.name): entry for entry in session.spent()}
                stages = 2 if "--pp" in flags else 1
                met = spent["collective", "tp"]
                if "--overlap" not in flags:
                    self.assertEqual(met.count - loading.get("tp", 0), 3 * tp * len(said["collectives"]))
                else:
                    self.assertGreater(met.count, 3 * tp * len(said["collectives"]))
                self.assertEqual(sum(spent["busy", str(stage)].count for stage in range(stages)), 3 * tp * stages)
                self.assertEqual({key for key in spent if key[0] == "busy"}, {("busy", str(stage)) for stage in range(stages)})
                self.assertLess(0, met.seconds)
                self.assertLess(met.seconds, sum(entry.seconds for key, entry in spent.items() if key[0] == "busy"))
                if stages == 2:
                    self.assertEqual(spent["receive", "1"].count, 3 * tp * len(said["transfers"]))
                    self.assertEqual(spent["receive", "0"].count, 0)

    def test_statistics_and_trace(self):
        devices = shardrt.devices()
        self.assertEqual((devices[0].backend, devices[0].number, devices[0].refusal), ("host", 0, ""))
        self.assertIn("cuda", [device.backend for device in devices])
        with self.open(measure=True) as session:
            with self.assertRaisesRegex(shardrt.InvalidArgument, "no measured run"):
                session.write_trace(self.folder / "trace.json")
            for _ in range(2):
                session.run(self.inputs)
            session.write_trace(self.folder / "trace.json")
            found = session.statistics()
        batch, sequence = self.inputs["input_ids"].shape
        said = self.explain(LLAMA, 2, "--dims", f"batch={batch},sequence={sequence}")
        self.assertEqual(len(found.collectives), len(said["collectives"]))
        self.assertEqual({each.group_size for each in found.collectives}, {2})
        self.assertEqual([rank.rank for rank in found.ranks], [0, 1])
        self.assertTrue(all(rank.weight_bytes > 0 and rank.arena_bytes >= rank.value_bytes > 0 for rank in found.ranks))
        self.assertEqual(sum(entry.is_collective for entry in found.instructions), len(said["collectives"]))
        self.assertTrue(all((entry.runs, entry.has_first) == (1, False) for entry in found.instructions))
        self.assertEqual(found.launches.launched + found.launches.captured + found.launches.replayed, 4)
        trace = json.loads((self.folder / "trace.json").read_text())
        names = {event["name"] for event in trace["traceEvents"]}
        self.assertTrue(any("MatMul" in name for name in names), names)

    def test_a_preflight_loads_nothing(self):
        with self.open(preflight=True) as session:
            needs = session.statistics().needs
            self.assertEqual([each.rank for each in needs], ["rank 0 (tp 0)", "rank 1 (tp 1)"])
            self.assertTrue(all(each.value_bytes > 0 and each.free_bytes > 0 for each in needs))
            self.assertIn("rank 1 (tp 1): device 0 (host", session.statistics().placement[1])
            with self.assertRaisesRegex(shardrt.InvalidArgument, "preflight"):
                session.run(self.inputs)

    def test_runs_and_tells(self):
        session = self.open()
        self.assert_expected(session.run(self.inputs))
        self.assertEqual([str(info) for info in session.inputs],
                         ["input_ids: int64 [batch, sequence]", "attention_mask: int64 [batch, sequence]"])  # fmt: skip
        self.assertEqual(str(session.outputs[0]), "logits: float32 [batch, sequence, 1024]")
        told = (session.world_size, session.num_stages, session.num_replicas, session.page, session.tolerance)
        self.assertEqual(told, (2, 1, 1, 0, "f32"))
        self.assertIn("model.shard', 2 ranks", repr(session))
        self.assertIn("in   input_ids: int64 [batch, sequence]", repr(session))
        self.assertEqual(shardrt.library_version(), shardrt.__version__)
        self.assertFalse(session.is_lost)
        session.reopen()
        self.assert_expected(session.run(self.inputs))

    def test_takes_whatever_holds_numbers(self):
        session = self.open()
        lists = {name: values.tolist() for name, values in self.inputs.items()}
        foreign = {name: Foreign(values.copy()) for name, values in self.inputs.items()}
        strided = {name: np.repeat(values, 3, axis=1)[:, ::3] for name, values in self.inputs.items()}
        reversed_twice = {name: values[::-1].copy()[::-1] for name, values in self.inputs.items()}
        foreign_strided = {name: Foreign(np.asfortranarray(values)) for name, values in self.inputs.items()}
        for given in (lists, foreign, strided, reversed_twice, foreign_strided):
            self.assert_expected(session.run(given))

    def test_copies_no_dense_input(self):
        infos = {info.name: info for info in self.open().inputs}
        ids = self.inputs["input_ids"].copy()
        for given in (ids, Foreign(ids)):
            self.assertEqual(Inputs({"input_ids": given}, infos).tensors[0].data, ids.ctypes.data)

    def test_outputs_stay(self):
        session = self.open()
        first = session.run(self.inputs)["logits"]
        bits = first.copy()
        others = {name: np.ones_like(values) for name, values in self.inputs.items()}
        second = session.run(others)["logits"]
        self.assertFalse(np.array_equal(first, second))
        np.testing.assert_array_equal(first, bits)
        self.assertTrue(np.shares_memory(np.from_dlpack(first), first), "others take it without a copy")
        address = second.ctypes.data
        del second
        gc.collect()
        self.assertEqual(session.run(others)["logits"].ctypes.data, address, "memory is used again when nobody has it")
        row = first[1]
        session.close()
        del first
        gc.collect()
        np.testing.assert_array_equal(row, bits[1])

    def test_threads_share_a_session(self):
        session = self.open("--dp", 2)
        self.assertEqual((session.world_size, session.num_replicas), (4, 2))
        rng, words = np.random.default_rng(3), int(self.expected.shape[-1])
        requests = [rng.integers(0, words, (1, 3 + i)) for i in range(6)]
        serial = [session.run({"input_ids": ids, "attention_mask": np.ones_like(ids)})["logits"] for ids in requests]
        found = [[] for _ in requests]

        def work(i):
            for _ in range(5):
                ids = requests[i]
                found[i].append(session.run({"input_ids": ids, "attention_mask": np.ones_like(ids)})["logits"])

        threads = [threading.Thread(target=work, args=(i,)) for i in range(len(requests))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for outputs, expected in zip(found, serial, strict=True):
            self.assertEqual(len(outputs), 5)
            for output in outputs:
                np.testing.assert_allclose(output, expected, rtol=1e-5, atol=1e-5)

    def test_runs_beside_an_event_loop(self):
        session = self.open()

        async def both():
            return await asyncio.gather(session.run_async(self.inputs), session.run_async(self.inputs))

        for outputs in asyncio.run(both()):
            self.assert_expected(outputs)

        async def cancelled():
            logits = [np.zeros_like(self.expected) for _ in range(5)]
            runs = [asyncio.ensure_future(session.run_async(self.inputs, out={"logits": each})) for each in logits]
            late = asyncio.ensure_future(session.run_async(self.inputs, deadline=60))
            await asyncio.sleep(0)
            for run in runs[1:]:
                run.cancel()
            found = await asyncio.gather(*runs, late, return_exceptions=True)
            self.assertTrue(all(isinstance(each, asyncio.CancelledError) for each in found[1:5]), found)
            self.assertIs(found[0]["logits"], logits[0])
            self.assert_expected(found[0])
            self.assert_expected(found[5])
            with self.assertRaisesRegex(shardrt.InvalidArgument, "missing input"):
                await session.run_async({})
            # Whoever closes it in the loop waits for the run, which then has ended.
            last = asyncio.ensure_future(session.run_async(self.inputs))
            await asyncio.sleep(0)
            session.close()
            return await last

        self.assert_expected(asyncio.run(cancelled()))

    def test_a_run_whose_coroutine_is_closed(self):
        """It has ended then: what it reads and writes may go."""
        session = self.open()

        async def closed():
            run = session.run_async(self.inputs, out={"logits": np.zeros_like(self.expected)})
            run.send(None)
            run.close()

        for _ in range(20):
            asyncio.run(closed())
        self.assert_expected(session.run(self.inputs))

    def test_outputs_in_memory_of_the_callers(self):
        session, random = self.open(), np.random.default_rng(5)
        logits = np.zeros_like(self.expected)
        self.assertIs(session.run(self.inputs, out={"logits": logits})["logits"], logits)
        self.assert_expected({"logits": logits})
        foreign = Foreign(np.zeros_like(logits))
        self.assertIs(session.run(self.inputs, out={"logits": foreign})["logits"], foreign)
        self.assert_expected({"logits": foreign.array})
        apart = session.run(self.inputs)["logits"]
        self.assert_expected({"logits": apart})
        self.assertFalse(np.shares_memory(apart, logits), "nothing is bound any more")
        n, m, k = logits.shape
        for strided in (np.zeros((k, m, n), np.float32).T, np.full((n, m, k + 3), 7, np.float32)[:, ::-1, 1:-2],
                        np.zeros((2 * n, m, k), np.float32)[::2]):  # fmt: skip
            session.run(self.inputs, out={"logits": strided})
            self.assert_expected({"logits": strided})
        for wrong, why in ((np.zeros((n, m, k + 1), np.float32), "bound to memory for float32"),
                           (np.zeros((n, m), np.float32), "has 2 dims"), (np.zeros((n, m, k)), "is float64, expected float32"),
                           (np.broadcast_to(np.float32(0), (n, m, k)), "read only"),
                           (np.lib.stride_tricks.as_strided(logits, strides=(m * k * 4, k * 4, 0)), "upon each other"),
                           ([0.0], "expected an array"), (np.zeros((n, m, k), ">f4"), "other byte order"),
                           (np.zeros((n, m, k), [("a", "u1"), ("b", "<f4")])["b"], "no multiples")):  # fmt: skip
            with self.subTest(why), self.assertRaisesRegex((ValueError, TypeError), why):
                session.run(self.inputs, out={"logits": wrong})
        with self.assertRaisesRegex(shardrt.InvalidArgument, "no output 'other'"):
            session.run(self.inputs, out={"other": logits})
        self.assert_expected(session.run(self.inputs))

        binding = session.bind(inputs := {name: array.T.copy().T for name, array in self.inputs.items()}, {"logits": logits})
        self.assertIn("input_ids", repr(binding))
        for _ in range(2):
            inputs["input_ids"][:] = random.permutation(inputs["input_ids"].ravel()).reshape(inputs["input_ids"].shape)
            binding.run()
            np.testing.assert_allclose(logits, session.run(inputs)["logits"], rtol=1e-5, atol=1e-5)
        with self.assertRaisesRegex(shardrt.InvalidArgument, "given twice"):
            binding.run(self.inputs)
        with self.assertRaisesRegex(shardrt.InvalidArgument, "no input 'x'"):
            session.bind({"x": logits}, {})

    def test_progress_of_loading(self):
        told = []
        session = self.open(progress=lambda *amounts: told.append(amounts))
        self.assertEqual(told[-1][0], told[-1][1])
        self.assertGreater(told[-1][1], 0)
        self.assertEqual(told, sorted(told))
        session.close()
        with mock.patch("sys.stderr", io.StringIO()) as seen, mock.patch("shardrt._progress.PATIENCE", 0):
            bar = _progress.Bar("weights")
            bar(3 << 20, 12 << 20)
            bar(1 << 30, 4 << 30)
            bar(4 << 30, 4 << 30)
            lines = seen.getvalue().split("\r")
        self.assertEqual(lines[1].rstrip(), "weights [#####               ]  25 %, 3 of 12 MiB")
        self.assertEqual(lines[2].rstrip(), "weights [#####               ]  25 %, 1.0 of 4.0 GiB")
        self.assertEqual((lines[3].strip(), lines[4]), ("", ""), "nothing of it is left")
        with mock.patch("sys.stderr", io.StringIO()) as seen, mock.patch("shardrt._progress.PATIENCE", 1000):
            self.open(progress=True).close()
            self.assertEqual(seen.getvalue(), "", "it is open before anybody looks")
            self.assertFalse(_progress.is_seen(), "no terminal")
        for shell, is_notebook in (("ZMQInteractiveShell", True), ("TerminalInteractiveShell", False)):
            of = mock.Mock(get_ipython=type(shell, (), {}))
            with mock.patch("sys.stderr", io.StringIO()) as seen, mock.patch.dict(sys.modules, {"IPython": of}), mock.patch("shardrt._progress.PATIENCE", 0):
                self.open().close()
                self.assertEqual("weights [" in seen.getvalue(), is_notebook)

    def test_mistakes(self):
        session = self.open()
        with self.assertRaisesRegex(shardrt.InvalidArgument, "missing input 'attention_mask': expected int64"):
            session.run({"input_ids": self.inputs["input_ids"]})
        with self.assertRaisesRegex(ValueError, "int32"):
            session.run(self.inputs | {"input_ids": self.inputs["input_ids"].astype(np.int32)})
        with self.assertRaisesRegex(TypeError, "input 'input_ids' has type complex64"):
            session.run({"input_ids": np.zeros((1, 2), np.complex64)})
        with self.assertRaisesRegex(TypeError, "other byte order"):
            session.run({"input_ids": self.inputs["input_ids"].astype(">i8")})
        with self.assertRaisesRegex(TypeError, r"input 'input_ids' is on device \(2, 0\), expected memory of the host"):
            session.run({"input_ids": ForeignBits(np.zeros(2, np.uint16), code=1, device=2)})
        with self.assertRaisesRegex(shardrt.ArtifactError, "nowhere.shard"):
            shardrt.Session(self.folder / "nowhere.shard")
        with self.assertRaisesRegex(shardrt.InvalidArgument, "no cache"):
            session.state(8)
        with self.assertRaisesRegex(shardrt.Error, "backend 'nothing'"):
            self.open(device="nothing")
        self.assert_expected(session.run(self.inputs))
        session.close()
        with self.assertRaisesRegex(ValueError, "the session is closed"):
            session.run(self.inputs)
        self.assertIn("closed", repr(session))

    def test_errors_say_where(self):
        onnx.save(placed_encoder(positions=16), self.folder / "placed.onnx")
        session = shardrt.Session(self.compile(self.folder / "placed.onnx", 2))
        self.addCleanup(session.close)
        with self.assertRaises(shardrt.InvalidArgument) as caught:
            session.run({"input_ids": np.ones((1, 17), np.int64)})
        error = caught.exception
        self.assertEqual((error.node, error.operator, error.stage), ("placed", "Gather", 0))
        self.assertIn(f"rank {error.rank}: Gather", str(error))
        self.assertIn(error.rank, (0, 1))
        self.assertIn(f"(instruction {error.instruction})", str(error))
        session.run({"input_ids": np.ones((1, 16), np.int64)})
        with self.assertRaises(shardrt.InvalidArgument) as caught:
            session.run({})
        error = caught.exception
        self.assertEqual((error.rank, error.stage, error.instruction, error.node, error.operator), (None,) * 5)
        self.assertEqual(pickle.loads(pickle.dumps(shardrt.Error("at", rank=3, node="up"))).__dict__["rank"], 3)

    def test_runs_end_early(self):
        session, cancellation = self.open(), shardrt.Cancellation()
        self.assert_expected(session.run(self.inputs, cancellation=cancellation, deadline=60))
        cancellation.cancel()
        with self.assertRaises(shardrt.Cancelled):
            session.run(self.inputs, cancellation=cancellation)
        self.assert_expected(session.run(self.inputs))

    def test_a_forked_process_is_told(self):
        session = self.open()
        child = os.fork()
        if child == 0:
            try:
                session.run(self.inputs)
            except RuntimeError as error:
                os._exit(7 if "forked" in str(error) else 8)
            os._exit(9)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 7)
        self.assert_expected(session.run(self.inputs))


class Types(EndToEnd):
    def test_types_that_numpy_has_not(self):
        graph = GraphBuilder(seed=1)
        graph.node("Cast", [graph.node("Add", ["x", "x"], "y")], "z", to=TensorProto.FLOAT)
        value = helper.make_tensor_value_info
        model = graph.model([value("x", TensorProto.BFLOAT16, ["n"])],
                            [value("y", TensorProto.BFLOAT16, ["n"]), value("z", TensorProto.FLOAT, ["n"])])  # fmt: skip
        onnx.save(model, self.folder / "model.onnx")
        x = np.array([1, -2.5, 1e38, 0], ml_dtypes.bfloat16)
        with shardrt.Session(self.compile(self.folder / "model.onnx", 1)) as session:
            for given in (x, ForeignBits(x, code=4), [1, -2.5, 1e38, 0]):
                outputs = session.run({"x": given})
                self.assertEqual(outputs["y"].dtype, ml_dtypes.bfloat16)
                np.testing.assert_array_equal(outputs["y"], x + x)
                np.testing.assert_array_equal(outputs["z"], (x + x).astype(np.float32))
            self.assertEqual(session.run({"x": x[:0]})["z"].shape, (0,))


class Caches(EndToEnd):
    """A decoder with caches of two layers, against onnx.reference."""

    LENGTHS = (5, 1, 3)

    def setUp(self):
        super().setUp()
        model = decoder()
        onnx.save(model, self.folder / "model.onnx")
        ids = np.random.default_rng(6).integers(0, VOCABULARY, (1, sum(self.LENGTHS)))
        whole = {value.name: feed(value.name, 0, ids) for value in inputs_of(model)}
        empty = np.zeros((1, HEADS, 0, SIZE), np.float32)
        whole = {name: empty if value is None else value for name, value in whole.items()}
        logits = ReferenceEvaluator(model).run(["logits"], whole)[0]
        self.steps, self.expected, past = [], [], 0
        for length in self.LENGTHS:
            rows = slice(past, past + length)
            request = {value.name: feed(value.name, past, ids[:, rows]) for value in inputs_of(model)}
            self.steps.append({name: value for name, value in request.items() if value is not None})
            self.expected.append(logits[:, rows])
            past += length

    def assert_near(self, found, expected):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)

    def test_states(self):
        session = shardrt.Session(self.compile(self.folder / "model.onnx", 2))
        self.assertEqual([info.name for info in session.inputs if info.is_cache],
                         ["past.0.k", "past.0.v", "past.1.k", "past.1.v"])  # fmt: skip
        with session, self.assertRaisesRegex(ValueError, "of another session"):
            state = session.state(16)
            for step, (inputs, expected) in enumerate(zip(self.steps, self.expected, strict=True)):
                if step == 2:
                    fork = state.fork()
                outputs = session.run(inputs, state=state)
                self.assertEqual(list(outputs), ["logits"])
                self.assert_near(outputs["logits"], expected)
            self.assertEqual((state.length, fork.length, state.capacity), (9, 6, 16))
            self.assertEqual(repr(state), "<shardrt.State, 9 of 16 positions>")
            self.assertEqual(sorted(state.memory), [0, 1])
            for committed, reserved in state.memory.values():  # keys and values of two layers, and half of the heads
                self.assertGreaterEqual(committed, 9 * 2 * 2 * HEADS // 2 * SIZE * 4)
                self.assertGreaterEqual(reserved, committed)
            self.assertEqual(list(session.state(8).memory.values()), [(0, 0)] * 2)
            self.assert_near(session.run(self.steps[2], state=fork)["logits"], self.expected[2])
            state.reset()
            self.assert_near(session.run(self.steps[0], state=state)["logits"], self.expected[0])
            with self.assertRaisesRegex(shardrt.InvalidArgument, "full|room"):
                session.run(self.steps[0], state=session.state(2))
            shardrt.Session(session.artifact).run(self.steps[0], state=state)
        self.assertEqual(repr(state), "<shardrt.State, closed>")

    def test_states_of_replicas(self):
        with shardrt.Session(self.compile(self.folder / "model.onnx", 2, "--dp", 2)) as session:
            for replica in (0, 1):
                state = session.state(16, replica=replica)
                self.assert_near(session.run(self.steps[0], state=state)["logits"], self.expected[0])
                self.assertEqual(sorted(state.memory), [2 * replica, 2 * replica + 1])
            for replica in (2, -1):
                with self.assertRaisesRegex(ValueError, f"replica is {replica}, expected"):
                    session.state(16, replica=replica)

    def test_a_preflight_with_positions_of_caches(self):
        artifact = self.compile(self.folder / "model.onnx", 2)
        with shardrt.Session(artifact) as session:
            self.assertEqual([each.cache_position_bytes for each in session.statistics().needs], [2 * 2 * HEADS // 2 * SIZE * 4] * 2)
        with shardrt.Session(artifact, preflight=True, cache_positions=1000) as session:
            for needs in session.statistics().needs:  # keys and values of two layers, and half of the heads
                self.assertEqual(needs.cache_position_bytes, 2 * 2 * HEADS // 2 * SIZE * 4)
                self.assertEqual(needs.cache_bytes, 1000 * needs.cache_position_bytes)
        for preflight in (True, False):
            with self.assertRaisesRegex(shardrt.Error, "need .* bytes on device 0 .* of KV caches"):
                shardrt.Session(artifact, preflight=preflight, cache_positions=1 << 40)

    def test_sequences_share_steps(self):
        artifact = self.compile(self.folder / "model.onnx", 2, "--serve=4")
        with shardrt.Session(artifact) as session, session.pool(positions=64) as pool:
            self.assertEqual((session.page, pool.page, pool.pages, pool.free_pages), (4, 4, 16, 16))
            a, b = pool.sequence(), pool.sequence()
            first, second, third = self.steps
            found = pool.step([shardrt.Row(a, first, "all"), shardrt.Row(b, first, "none")])["logits"]
            self.assert_near(found, self.expected[0])
            c = a.fork()
            found = pool.step([shardrt.Row(c, second), shardrt.Row(a, second)])["logits"]
            self.assert_near(found, np.concatenate([self.expected[1]] * 2, axis=1))
            found = pool.step([shardrt.Row(a, third, "all")])["logits"]
            self.assert_near(found, self.expected[2])
            self.assertEqual((len(a), len(b), len(c)), (9, 5, 6))
            c.truncate(5)
            self.assert_near(pool.step([shardrt.Row(c, second)])["logits"], self.expected[1])
            self.assertEqual(repr(c), "<shardrt.Sequence, 6 positions>")
            with self.assertRaisesRegex(ValueError, "expected one of last, all, none"):
                pool.step([shardrt.Row(a, second, "first")])
            with self.assertRaises(shardrt.InvalidArgument):
                pool.step([shardrt.Row(b, third)])  # of another past
            for sequence in (a, b):
                sequence.close()
            del c, sequence
            gc.collect()
            self.assertEqual(repr(pool), "<shardrt.Pool, 16 of 16 pages of 4 positions free>")

    def test_steps_end_early(self):
        artifact = self.compile(self.folder / "model.onnx", 2, "--serve=4")
        first, second, _ = self.steps
        with shardrt.Session(artifact) as session, session.pool(positions=64) as pool:
            a, cancellation = pool.sequence(), shardrt.Cancellation()
            early = pool.step([shardrt.Row(a, first, "all")], deadline=60, cancellation=cancellation)
            self.assertEqual(list(early), ["logits"])
            cancellation.cancel()
            with self.assertRaises(shardrt.Cancelled):
                pool.step([shardrt.Row(a, second)], cancellation=cancellation)
            self.assertEqual(len(a), 5, "as before")
            found = asyncio.run(pool.step_async([shardrt.Row(a, second)], deadline=60))["logits"]
            self.assert_near(found, self.expected[1])
            self.assert_near(early["logits"], self.expected[0])

    def test_a_pool_that_is_lost(self):
        artifact = self.compile(self.folder / "model.onnx", 2, "--serve=4")
        first = self.steps[0]
        with shardrt.Session(artifact) as session, session.pool(positions=64) as pool:
            a = pool.sequence()
            pool.step([shardrt.Row(a, first)])
            self.assertFalse(pool.is_lost)
            session.reopen()
            self.assertTrue(pool.is_lost)
            with self.assertRaisesRegex(shardrt.Error, "lost"):
                pool.step([shardrt.Row(a, first)])
            pool.renew()
            self.assertEqual((pool.is_lost, len(a), pool.free_pages), (False, 0, 16))
            self.assert_near(pool.step([shardrt.Row(a, first, "all")])["logits"], self.expected[0])


if __name__ == "__main__":
    unittest.main()
