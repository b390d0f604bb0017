"""Models that differ in names and order alone have the same plan."""

import json
import random
from collections import defaultdict

import onnx

from tests.support import LAYERS, EndToEnd, model_file

PLANS = (["--tp", "4"], ["--tp", "3", "--sp"], ["--tp", "2", "--cp", "2"], ["--tp", "2", "--pp", "2"])


class Renamed:
    """A model with other names of nodes, values and weights, its nodes in another order that data allow."""

    def __init__(self, model, seed):
        self.draw = random.Random(seed)
        self.names = {"": ""}
        self.old = {}  # by new name, of nodes and weights
        self.model = onnx.ModelProto()
        self.model.CopyFrom(model)
        graph = self.model.graph
        for weight in graph.initializer:
            old, weight.name = weight.name, self.named(weight.name)
            self.old[weight.name] = old
        for value in (*graph.input, *graph.output, *graph.value_info):
            value.name = self.named(value.name)
        for node in graph.node:
            old = node.name or f"{node.op_type} -> {node.output[0]}"
            node.input[:] = [self.named(name) for name in node.input]
            node.output[:] = [self.named(name) for name in node.output]
            node.name = self.fresh()
            self.old[node.name] = old
        self.reorder(graph)

    def fresh(self):
        return f"{self.draw.choice('anz')}{self.draw.randrange(16**8):08x}"

    def named(self, name):
        return self.names.setdefault(name, self.fresh())

    def reorder(self, graph):
        made = {output: number for number, node in enumerate(graph.node) for output in node.output if output}
        waits = [{made[name] for name in node.input if name in made} for node in graph.node]
        left, order, done = list(range(len(graph.node))), [], set()
        while left:
            node = self.draw.choice([node for node in left if waits[node] <= done])
            left.remove(node)
            order.append(node)
            done.add(node)
        nodes = [graph.node[number] for number in order]
        copies = []
        for node in nodes:
            copy = onnx.NodeProto()
            copy.CopyFrom(node)
            copies.append(copy)
        del graph.node[:]
        graph.node.extend(copies)
        weights = [onnx.TensorProto.FromString(weight.SerializeToString()) for weight in graph.initializer]
        self.draw.shuffle(weights)
        del graph.initializer[:]
        graph.initializer.extend(weights)


def splits_of(plan, names):
    """What is split of each node, and which of them share a region."""
    splits, regions = defaultdict(list), defaultdict(set)
    for program, ops in plan["programs"].items():
        for op in ops:
            node = names.get(op["node"], op["node"])
            for split in op.get("splits", []):
                place = (program, node, op["op"], split["of"], split["dim"], split["factor"])
                regions[program, split.pop("region")].add(place)
                splits[place].append(split)
            splits[program, node, op["op"]].append([op.get("carries"), op.get("in_turn")])
    return splits, {frozenset(places) for places in regions.values()}


class PlanNames(EndToEnd):
    def check(self, model):
        original = onnx.load(model)
        expected = {}
        for seed in range(3):
            renamed = Renamed(original, seed)
            file = self.folder / "renamed.onnx"
            onnx.save(renamed.model, file)
            for plan, flags in enumerate(PLANS):
                with self.subTest(model=model, seed=seed, flags=flags):
                    saved = self.folder / "plan.json"
                    if plan not in expected:
                        self.run_ok("shardc", model, *flags, "--save-plan", saved, "--to", "sharded")
                        expected[plan] = splits_of(json.loads(saved.read_text()), {})
                    self.run_ok("shardc", file, *flags, "--save-plan", saved, "--to", "sharded")
                    found = splits_of(json.loads(saved.read_text()), renamed.old)
                    self.assertEqual(found, expected[plan])

    def test_models(self):
        for name in LAYERS:
            self.check(model_file(name))
