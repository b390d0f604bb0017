"""Runs the files of `shardc --emit onnx` in ONNX's reference: all ranks at once, a thread each, collectives emulated."""

import json
import queue
import re
import threading
from pathlib import Path

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

PATIENCE = 60  # seconds


class Together:
    """What ranks of one group hand in at their next collective, given to all of them."""

    def __init__(self, ranks):
        self.ranks = list(ranks)
        self.barrier = threading.Barrier(len(self.ranks), timeout=PATIENCE)
        self.given = {}

    def exchange(self, rank, value):
        self.given[rank] = value
        self.barrier.wait()
        everyone = [self.given[other] for other in self.ranks]
        self.barrier.wait()
        return everyone


REDUCTIONS = {"sum": np.add.reduce, "max": np.maximum.reduce, "min": np.minimum.reduce}


class World:
    def __init__(self):
        self.groups, self.lock = {}, threading.Lock()

    def group(self, ranks):
        with self.lock:
            return self.groups.setdefault(tuple(ranks), Together(ranks))

    def collectives(self, rank, communicator):
        """The operators of both runtimes, as one rank sees them."""
        everyone = lambda value: self.group(communicator).exchange(rank, value)

        class AllReduce(OpRun):
            op_domain = "com.microsoft"

            def _run(self, x):
                return (np.add.reduce(everyone(x)).astype(x.dtype),)

        class AllGather(OpRun):
            op_domain = "com.microsoft"

            def _run(self, x, axis=None, group_size=None):
                assert group_size == len(communicator)
                return (np.concatenate(everyone(x), axis=axis),)

        class AllToAll(OpRun):
            op_domain = "com.microsoft"

            def _run(self, x, group_size=None):
                assert group_size == len(communicator) and x.shape[0] % group_size == 0
                mine = communicator.index(rank)
                return (np.concatenate([np.split(part, group_size)[mine] for part in everyone(x)]),)

        world = self

        class DistCollective(OpRun):
            op_domain = "trt"

            def _run(self, x, collective_operation=None, reduce_op=None, root=None, nb_rank=None, groups=None, group_size=None):
                members = communicator if groups is None else [communicator[i] for i in groups]
                assert nb_rank == len(members) and group_size == (0 if groups is None else len(members)) and root == -1
                parts = world.group(members).exchange(rank, x)
                mine = members.index(rank)
                if collective_operation == "all_gather":
                    assert reduce_op == "none"
                    return (np.concatenate(parts),)
                if collective_operation == "all_to_all":
                    return (np.concatenate([np.split(part, nb_rank)[mine] for part in parts]),)
                reduced = REDUCTIONS[reduce_op](parts).astype(x.dtype)
                if collective_operation == "all_reduce":
                    return (reduced,)
                assert collective_operation == "reduce_scatter"
                return (np.split(reduced, nb_rank)[mine],)

        return [AllReduce, AllGather, AllToAll, DistCollective]


def size_of(text, symbols):
    """A size of the manifest, of a request."""
    if isinstance(text, int):
        return text
    text = re.sub(r'"([^"]*)"', lambda name: str(symbols[name[1]]), text)
    text = text.replace("floordiv", "//").replace(" mod ", " % ")
    return eval(text, {"min": min, "max": max}, dict(symbols))


def owned(segments, symbols):
    """Indices along a dim that a rank has."""
    indices, base = [], 0
    for factors in segments:
        of_segment, size = np.zeros(1, np.int64), 1
        for factor in factors:
            whole, start, count = (size_of(factor[key], symbols) for key in ("size", "start", "count"))
            of_segment = (of_segment[:, None] * whole + np.arange(start, start + count)).reshape(-1)
            size *= whole
        indices.append(base + of_segment)
        base += size
    return np.concatenate(indices)


def positions(part, shape, symbols):
    return np.ix_(*(np.arange(n) if dim is None else owned(dim, symbols) for dim, n in zip(part, shape)))


class RankFiles:
    def __init__(self, folder):
        self.folder = Path(folder)
        self.manifest = json.loads((self.folder / "manifest.json").read_text())

    def programs(self, profile=None):
        for rank in self.manifest["ranks"]:
            for program in rank["programs"]:
                if profile is None or program.get("profile") == profile:
                    yield rank, program

    def check(self):
        """Valid for ONNX's checker, shapes included."""
        for _, program in self.programs():
            onnx.checker.check_model(str(self.folder / program["file"]), full_check=True)

    def node_types(self):
        return {(node.domain, node.op_type) for _, program in self.programs()
                for node in onnx.load(self.folder / program["file"], load_external_data=False).graph.node}

    def run(self, inputs, symbols, profile=None):
        """By output of the model: what the ranks have of it, as (part, value)."""
        world, results, errors = World(), {}, []
        boxes = {(rank["rank"], port["transfer"]): queue.Queue() for rank, program in self.programs(profile)
                 for port in program["inputs"] if port["kind"] == "transfer"}

        def work(rank, program):
            try:
                feeds = {}
                evaluator = ReferenceEvaluator(onnx.load(self.folder / program["file"]),
                                               new_ops=world.collectives(rank["rank"], rank["communicator"]))
                for port in program["inputs"]:
                    if port["kind"] == "transfer":
                        feeds[port["name"]] = boxes[rank["rank"], port["transfer"]].get(timeout=PATIENCE)
                        continue
                    value = inputs[port["name"]]
                    feeds[port["name"]] = value[positions(port["part"], value.shape, symbols)] if "part" in port else value
                for port, value in zip(program["outputs"], evaluator.run([p["name"] for p in program["outputs"]], feeds)):
                    if port["kind"] == "transfer":
                        boxes[port["rank"], port["transfer"]].put(value)
                    else:
                        results.setdefault(port["name"], []).append((port.get("part"), value))
            except Exception as error:  # of another thread, to be raised below
                errors.append((rank["rank"], error))
                for group in list(world.groups.values()):
                    group.barrier.abort()

        threads = [threading.Thread(target=work, args=entry) for entry in self.programs(profile)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        real = [e for e in errors if not isinstance(e[1], threading.BrokenBarrierError)] or errors
        if real:
            raise RuntimeError(f"rank {real[0][0]}: {real[0][1]!r}") from real[0][1]
        return results

    def outputs(self, inputs, symbols, expected, profile=None):
        """Whole outputs; ranks that have the same elements must have the same numbers."""
        whole = {}
        for name, parts in self.run(inputs, symbols, profile).items():
            shape = expected[name].shape
            made, done = np.zeros(shape, parts[0][1].dtype), np.zeros(shape, bool)
            for part, value in parts:
                at = np.ix_(*map(np.arange, shape)) if part is None else positions(part, shape, symbols)
                assert made[at].shape == value.shape, (name, made[at].shape, value.shape)
                # Bits depend on how numpy's arrays lie, so copies are compared as numbers.
                before = done[at]
                np.testing.assert_allclose(made[at][before], value[before], rtol=1e-4, atol=1e-4, err_msg=name)
                made[at] = value
                done[at] = True
            assert done.all(), f"{name}: nobody has all of it"
            whole[name] = made
        return whole
