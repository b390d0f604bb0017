"""The plan follows from what a model computes: not from names, the order of nodes, or metadata."""

import random
import unittest

import onnx

from tests.support import EndToEnd, data_dims, data_sets, model_file


def rename_all(graph, inputs_and_outputs):
    """Meaningless names for all values and nodes; inputs and outputs keep theirs, for the data."""
    names = {"": ""} | {name: name for name in inputs_and_outputs}

    def rename(name):
        return names.setdefault(name, f"v{len(names)}")

    for weight in graph.initializer:
        weight.name = rename(weight.name)
    for i, node in enumerate(graph.node):
        node.name = f"n{i}"
        for values in (node.input, node.output):
            values[:] = [rename(value) for value in values]
        for attribute in node.attribute:
            if attribute.HasField("g") or attribute.graphs:
                raise NotImplementedError("subgraphs")


def shuffle(nodes, known, rng):
    """Another topological order; `known` are the values that exist before all nodes."""
    known, waiting, ordered = {"", *known}, list(nodes), []
    while waiting:
        ready = [node for node in waiting if known.issuperset(node.input)]
        node = rng.choice(ready)
        waiting.remove(node)
        known.update(node.output)
        ordered.append(node)
    return ordered


def disguise(path, to, seed):
    """The same model, looking as different as it can."""
    model, rng = onnx.load(path), random.Random(seed)
    graph = model.graph
    rename_all(graph, [value.name for value in [*graph.input, *graph.output]])
    known = [value.name for value in graph.input] + [weight.name for weight in graph.initializer]
    nodes = shuffle(graph.node, known, rng)
    weights = rng.sample(list(graph.initializer), len(graph.initializer))
    for old, new in ((graph.node, nodes), (graph.initializer, weights)):
        copies = [type(entry).FromString(entry.SerializeToString()) for entry in new]
        del old[:]
        old.extend(copies)
    del graph.value_info[:], model.metadata_props[:], graph.metadata_props[:]
    graph.name, graph.doc_string, model.doc_string, model.producer_name, model.producer_version = "g", "", "", "", ""
    for entry in [*graph.node, *graph.initializer, *graph.input, *graph.output]:
        entry.doc_string = ""
        del entry.metadata_props[:]
    onnx.save(model, to)


def summary(plan):
    """What the plan costs, without names and order."""
    return {
        "collectives": sorted((c["kind"], c["axis"], str(c["bytes"]), str(c["wire_bytes"])) for c in plan["collectives"]),
        "whole": sorted(weight["bytes"] for weight in plan["whole_weights"]),
        "ranks": [rank["weight_bytes"] for rank in plan["ranks"]],
    }


class Invariance(EndToEnd):
    def check(self, model, ways):
        data_set = data_sets(model)[0]
        dims = data_dims(model, data_set)
        for tp, seed in ways:
            with self.subTest(tp=tp, seed=seed):
                other = self.folder / "model.onnx"
                disguise(model_file(model), other, seed)
                plan, found = (summary(self.explain(file, tp, *dims)) for file in (model_file(model), other))
                self.assertGreater(len(plan["collectives"]), 0)
                self.assertEqual(found, plan)
                expected = self.execute(self.compile(model_file(model), 1), data_set)
                self.assert_same_numbers(self.execute(self.compile(other, tp), data_set), expected)

    def test_bert(self):
        self.check("bert-ts-op17", [(2, 1), (3, 2), (8, 3)])

    def test_gpt2(self):
        self.check("gpt2-dynamo-op20", [(2, 1), (4, 2), (3, 3)])

    def test_llama(self):
        self.check("llama-dynamo-op18", [(2, 1), (3, 2), (8, 3)])

    def test_vit(self):
        self.check("vit-ts-static-op17", [(2, 1), (3, 2), (8, 3)])


if __name__ == "__main__":
    unittest.main()
