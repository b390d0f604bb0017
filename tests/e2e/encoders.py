"""Decoders with cross-attention, as exporters write them, and requests to any of them."""

import zlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.graphs import GraphBuilder

HEADS, SIZE, VOCABULARY, LAYERS = 4, 8, 40, 2
HIDDEN = HEADS * SIZE
# The keys of the encoder are made of its output in each step, are given as caches without being returned, are given
# and returned, or are computed by one branch for prompts, and given to another for steps.
SPELLINGS = ("computed", "given", "returned", "merged")


def info(name, *dims, element=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, element, dims or None)


class DecoderBuilder(GraphBuilder):
    """Ops of one decoder, or of one branch of it, whose values are called after it."""

    def __init__(self):
        super().__init__(seed=5)
        for heads in (HEADS, "merged"):
            self.constant(f"split.{heads}", [0, 0, HIDDEN] if heads == "merged" else [0, 0, HEADS, SIZE])
        self.branch = ""

    def weight(self, name, *dims, summed=0):
        """The same in all spellings."""
        self.rng = np.random.default_rng(zlib.crc32(name.encode()))
        return super().weight(name, *dims, summed=summed)

    def heads(self, x, name):
        flat = self.node("MatMul", [x, self.weight(name, HIDDEN, HIDDEN)], f"{self.branch}{name}.flat")
        split = self.node("Reshape", [flat, f"split.{HEADS}"], f"{self.branch}{name}.split")
        return self.node("Transpose", [split], f"{self.branch}{name}.heads", perm=[0, 2, 1, 3])

    def attention(self, query, keys, values, mask, name):
        node, at = self.node, f"{self.branch}{name}"
        scores = node("MatMul", [query, node("Transpose", [keys], f"{at}.keys", perm=[0, 1, 3, 2])], f"{at}.scores")
        p = node("Softmax", [node("Add", [scores, mask], f"{at}.masked")], f"{at}.p", axis=-1)
        back = node("Transpose", [node("MatMul", [p, values], f"{at}.mixed")], f"{at}.t", perm=[0, 2, 1, 3])
        rows = node("Reshape", [back, "split.merged"], f"{at}.rows")
        return node("MatMul", [rows, self.weight(f"{name}.out", HIDDEN, HIDDEN)], f"{at}.projected")

    def encoder_mask(self):
        """Zeros where the encoder has a token, -1e9 where it has padding, from integers."""
        node, at = self.node, self.branch
        for name, value in (("one", 1), ("zero", 0), ("far", -1e9)):
            self.weights[name] = np.float32(value)
        shown = node("Cast", ["encoder_attention_mask"], f"{at}shown", to=TensorProto.FLOAT)
        wide = node("Unsqueeze", [shown, self.constant("mask.dims", [1, 2])], f"{at}wide")
        return node("Mul", [node("Sub", ["one", wide], f"{at}hidden"), "far"], f"{at}encoder.mask")

    def causal_mask(self, has_past):
        """What a merged decoder makes of its sizes."""
        node, at = self.node, self.branch
        start, step = self.constant("first", 0), self.constant("next", 1)

        def size(value, dim, name):
            return node("Gather", [node("Shape", [value], f"{name}.dims"), self.constant(f"dim.{dim}", dim)], name, axis=0)

        past = size("past.0.k", 2, f"{at}past") if has_past else start
        end = node("Add", [past, size("input_ids", 1, f"{at}count")], f"{at}end")
        queries = node("Range", [past, end, step], f"{at}queries")
        column = node("Unsqueeze", [queries, self.constant("column", [1])], f"{at}column")
        seen = node("LessOrEqual", [node("Range", [start, end, step], f"{at}keys"), column], f"{at}seen")
        return node("Where", [seen, "zero", "far"], f"{at}mask")

    def decoder(self, has_past, has_keys):
        """Logits, and the caches of each layer: keys and values so far, and those of the encoder."""
        node, at, presents = self.node, self.branch, []
        encoder_mask = self.encoder_mask()
        mask = self.causal_mask(has_past) if at else "mask"
        x = node("Gather", [self.weight("words", VOCABULARY, HIDDEN), "input_ids"], f"{at}x.words")
        x = node("Add", [x, node("Gather", [self.weight("places", 200, HIDDEN), "position_ids"], f"{at}x.places")], f"{at}x")
        for layer in range(LAYERS):
            name, own, cross = f"l{layer}", [], []
            for which in "kv":
                new = self.heads(x, f"{name}.{which}")
                own.append(node("Concat", [f"past.{layer}.{which}", new], f"{at}{name}.{which}.all", axis=2) if has_past else new)
                cross.append(f"encoder.{layer}.{which}" if has_keys else self.heads("encoder_hidden_states", f"{name}.c{which}"))
            x = node("Add", [x, self.attention(self.heads(x, f"{name}.q"), *own, mask, name)], f"{at}{name}.x")
            x = node("Add", [x, self.attention(self.heads(x, f"{name}.cq"), *cross, encoder_mask, f"{name}.c")], f"{at}{name}.y")
            presents.append((own, cross))
        return node("MatMul", [x, self.weight("head", HIDDEN, VOCABULARY)], f"{at}logits"), presents


def inputs_of(spelling):
    ids = [info(n, "batch", "seq", element=TensorProto.INT64) for n in ("input_ids", "position_ids")]
    encoder = [info("encoder_attention_mask", "batch", "enc", element=TensorProto.INT64)]
    if spelling in ("computed", "merged"):
        encoder.append(info("encoder_hidden_states", "batch", "enc", HIDDEN))
    caches = [info(f"past.{i}.{w}", "batch", HEADS, "past", SIZE) for i in range(LAYERS) for w in "kv"]
    # Optimum has a name of its own for their length.
    length = "enc_out" if spelling == "merged" else "enc"
    if spelling != "computed":
        caches += [info(f"encoder.{i}.{w}", "batch", HEADS, length, SIZE) for i in range(LAYERS) for w in "kv"]
    mask = [info("mask", "batch", 1, "seq", "past + seq")] if spelling != "merged" else []
    branch = [info("use_cache_branch", 1, element=TensorProto.BOOL)] if spelling == "merged" else []
    return [*ids, *mask, *encoder, *caches, *branch]


def encoder_decoder(spelling):
    graph = DecoderBuilder()
    own = [f"present.{i}.{w}" for i in range(LAYERS) for w in "kv"]
    cross = [f"present.encoder.{i}.{w}" for i in range(LAYERS) for w in "kv"]
    if spelling != "merged":
        logits, presents = graph.decoder(True, spelling != "computed")
        made = [(logits, "logits"), *zip([v for layer in presents for v in layer[0]], own)]
        if spelling == "returned":
            made += zip([v for layer in presents for v in layer[1]], cross)
        for value, name in made:
            graph.nodes.append(helper.make_node("Identity", [value], [f"{name}.out" if name == value else name], name=f"{name}.id"))
        names = [f"{name}.out" if name == value else name for value, name in made]
        return graph.model(inputs_of(spelling), [info(name) for name in names])
    branches = []
    for is_step in (True, False):
        graph.branch, graph.nodes = "step/" if is_step else "prompt/", []
        logits, presents = graph.decoder(is_step, is_step)
        outputs = [logits, *(v for layer in presents for v in layer[0])]
        for number, value in enumerate(v for layer in presents for v in layer[1]):
            if is_step:  # nothing, since it is what was given
                value = graph.node("Constant", [], f"none.{number}", value=numpy_helper.from_array(np.zeros((0, HEADS, 1, SIZE), np.float32)))
            outputs.append(value)
        branches.append(helper.make_graph(graph.nodes, graph.branch, [], [info(v) for v in outputs]))
    names = ["logits.out", *own, *cross]
    choose = helper.make_node("If", ["use_cache_branch"], names, then_branch=branches[0], else_branch=branches[1], name="choose")
    graph.nodes = [choose]
    return graph.model(inputs_of(spelling), [info(name) for name in names])


def cross_keys(states):
    """What the encoder's output becomes, by name of the cache."""
    graph = DecoderBuilder()
    graph.decoder(True, False)
    return {f"encoder.{i}.{w}": (states @ graph.weights[f"l{i}.c{w}"]).reshape(*states.shape[:2], HEADS, SIZE).transpose(0, 2, 1, 3)
            for i in range(LAYERS) for w in "kv"}  # fmt: skip


class Text:
    """A sequence, and what its encoder gave: `hidden` of its keys are padding."""

    def __init__(self, seed, encoder_length, hidden=0):
        rng = np.random.default_rng(seed)
        self.ids = rng.integers(0, VOCABULARY, (1, 40))
        self.states = rng.standard_normal((1, encoder_length, HIDDEN)).astype(np.float32)
        self.shown = np.arange(encoder_length)[None] < encoder_length - hidden

    def feeds(self, model, past, count, has_encoder=True):
        """Of a request for so many positions behind others; a cache that grows is empty."""
        batch = {"input_ids": self.ids[:, past : past + count], "position_ids": np.arange(past, past + count)[None]}
        seen = np.arange(past + count) <= np.arange(past, past + count)[:, None]
        batch["mask"] = np.where(seen, 0, -1e9).astype(np.float32)[None, None]
        batch["encoder_attention_mask"] = self.shown.astype(np.int64)
        given = self.states if has_encoder else self.states[:, :0]
        batch["encoder_hidden_states"] = given
        batch.update(cross_keys(given))
        batch["use_cache_branch"] = np.array([past > 0])
        empty = np.zeros((1, HEADS, 0, SIZE), np.float32)
        return {v.name: batch.get(v.name, empty) for v in model.graph.input}

    def write(self, folder, *request, **flags):
        folder.mkdir(parents=True)
        for i, (name, value) in enumerate(self.feeds(*request, **flags).items()):
            onnx.save_tensor(numpy_helper.from_array(np.ascontiguousarray(value), name), folder / f"input_{i}.pb")
        return folder
