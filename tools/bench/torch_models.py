"""The models of tools/gpu-bench in PyTorch, as somebody would write them who wants them fast: fused attention
(scaled_dot_product_attention), keys and values in buffers of fixed size, and a CUDA graph of each shape.

Every model takes a case (gpu_cases.py), its folder and a device, and does what engines.py says of an engine.
"""
import statistics
import time

import numpy as np
import torch
import torch.nn.functional as F

import weights

DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


class Graphed:
    """Runs a function of tensors of one shape; on a GPU from its second run on as a CUDA graph. The result is on the host."""

    def __init__(self, function, device):
        self.function, self.device = function, torch.device(device)
        self.graph = self.inputs = self.result = self.host = None

    def __call__(self, *arrays):
        tensors = [torch.from_numpy(array) for array in arrays]
        if self.device.type == "cpu":
            return self.function(*tensors)
        if self.graph is None:
            self.inputs = [tensor.to(self.device) for tensor in tensors]
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):  # libraries set themselves up, which may not be captured
                for _ in range(2):
                    self.function(*self.inputs)
            torch.cuda.current_stream().wait_stream(side)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.result = self.function(*self.inputs)
            self.host = torch.empty(self.result.shape, dtype=self.result.dtype, pin_memory=True)
        for to, tensor in zip(self.inputs, tensors):
            to.copy_(tensor, non_blocking=True)
        self.graph.replay()
        self.host.copy_(self.result, non_blocking=True)
        torch.cuda.synchronize()
        return self.host


class Model:
    output = "logits"

    def __init__(self, case, folder, device):
        torch.set_grad_enabled(False)
        self.case, self.folder, self.device = case, folder, torch.device(device)
        self.dtype = DTYPES[case["dtype"]]
        self.result, self.graphs = None, {}

    def graphed(self, key, function):
        if key not in self.graphs:
            self.graphs[key] = Graphed(function, self.device)
        return self.graphs[key]

    def matrix(self, *dims):
        return torch.randn(dims, dtype=self.dtype, device=self.device) * dims[-1] ** -0.5

    def vector(self, size):
        return 1 + 0.1 * torch.randn(size, dtype=self.dtype, device=self.device)

    def limits(self):
        return measured_limits(self.dtype, self.device)

    def outputs(self):
        return {self.output: self.result.float().numpy()}

    def stored(self):
        """Names and values of the model's own weights."""
        import onnx  # not before: the others need none

        model = onnx.load(self.folder / "model.onnx", load_external_data=False)
        for name, _, dims, location, offset, size in weights.external(model):
            data = np.fromfile(self.folder / location, np.uint8, size, offset=offset)
            yield name, torch.from_numpy(data).view(self.dtype).view(dims).to(self.device)

    def split(self, x, count):
        return x.view(*x.shape[:-1], count, -1).transpose(1, 2)


class Encoder(Model):
    """Layers of BERT (norms behind the residual) and ViT (before it); values are random, since only their speed is asked."""

    def __init__(self, case, folder, device):
        super().__init__(case, folder, device)
        h, f = case["hidden"], case["ffn"]
        self.layers = [{"qkv": (self.matrix(3 * h, h), self.vector(3 * h)), "out": (self.matrix(h, h), self.vector(h)),
                        "up": (self.matrix(f, h), self.vector(f)), "down": (self.matrix(h, f), self.vector(h)),
                        "norm1": (self.vector(h), self.vector(h)), "norm2": (self.vector(h), self.vector(h))}
                       for _ in range(case["layers"])]  # fmt: skip
        self.final_norm = (self.vector(h), self.vector(h))

    def norm(self, x, parameters):
        return F.layer_norm(x, x.shape[-1:], *parameters, 1e-12)

    def attend(self, x, layer):
        parts = F.linear(x, *layer["qkv"]).chunk(3, dim=-1)
        q, k, v = (self.split(part, self.case["heads"]) for part in parts)
        mixed = F.scaled_dot_product_attention(q, k, v)
        return F.linear(mixed.transpose(1, 2).flatten(2), *layer["out"])

    def mlp(self, x, layer):
        return F.linear(F.gelu(F.linear(x, *layer["up"])), *layer["down"])

    def run(self, request):
        arrays = list(request.values())
        self.result = self.graphed(arrays[0].shape, self.forward)(*arrays)


class Bert(Encoder):
    output = "last_hidden_state"

    def __init__(self, case, folder, device):
        super().__init__(case, folder, device)
        self.words, self.positions = self.matrix(case["vocab"], case["hidden"]), self.matrix(512, case["hidden"])

    def forward(self, ids, mask):
        x = self.norm(F.embedding(ids, self.words) + self.positions[: ids.shape[1]], self.final_norm)
        for layer in self.layers:
            x = self.norm(x + self.attend(x, layer), layer["norm1"])
            x = self.norm(x + self.mlp(x, layer), layer["norm2"])
        return x


class Vit(Encoder):
    def __init__(self, case, folder, device):
        super().__init__(case, folder, device)
        h, patch = case["hidden"], case["patch"]
        self.patches = self.matrix(h, 3, patch, patch)
        self.first = self.matrix(1, 1, h)
        self.positions = self.matrix((case["image"] // patch) ** 2 + 1, h)
        self.classifier = (self.matrix(case["classes"], h), self.vector(case["classes"]))

    def forward(self, pixels):
        x = F.conv2d(pixels, self.patches, stride=self.case["patch"]).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(len(x), 1, -1), x], dim=1) + self.positions
        for layer in self.layers:
            x = x + self.attend(self.norm(x, layer["norm1"]), layer)
            x = x + self.mlp(self.norm(x, layer["norm2"]), layer)
        return F.linear(self.norm(x, self.final_norm)[:, 0], *self.classifier)


class Mixture(Model):
    """One expert after the other, with the model's own weights; how many tokens an expert has the host waits for."""

    output = "y"

    def __init__(self, case, folder, device):
        super().__init__(case, folder, device)
        self.weights = dict(self.stored())

    def forward(self, x, router):
        shares, chosen = router.float().softmax(-1).topk(self.case["chosen"])
        shares = shares / shares.sum(-1, keepdim=True)
        y = torch.zeros_like(x)
        for expert, (up, down) in enumerate(zip(self.weights["up"], self.weights["down"])):
            tokens, place = (chosen == expert).nonzero(as_tuple=True)
            pairs = F.linear(x[tokens], up)
            part = F.linear(F.silu(pairs[:, ::2]) * pairs[:, 1::2], down)
            y.index_add_(0, tokens, part * shares[tokens, place, None].to(part.dtype))
        return y

    def run(self, request):
        x, router = (torch.from_numpy(array).to(self.device) for array in request.values())
        self.result = self.forward(x, router).cpu()


class Llama(Model):
    """With the model's own weights, so that its logits can be compared."""

    def __init__(self, case, folder, device):
        super().__init__(case, folder, device)
        self.weights = {}
        for name, value in self.stored():
            # Of products: columns first, as PyTorch's linear has them.
            is_product = value.dim() == 2 and "embed" not in name
            self.weights[name.removesuffix(".weight")] = value.t().contiguous() if is_product else value
        size = case["hidden"] // case["heads"]
        self.frequencies = 5e5 ** -(torch.arange(0, size, 2, device=self.device).double() / size)
        self.caches, self.position, self.capacity = None, 0, 0

    def rms(self, x, name):
        return F.rms_norm(x, x.shape[-1:], self.weights[name], 1e-5)

    def rotate(self, x, tables):
        first, second = x.chunk(2, dim=-1)
        return x * tables[0] + torch.cat([-second, first], dim=-1) * tables[1]

    def forward(self, ids, positions):
        """ids [batch, length] at positions [length], which are all or, of one, those behind what the caches hold."""
        case, is_step = self.case, ids.shape[1] == 1
        x = F.embedding(ids, self.weights["model.embed_tokens"])
        angles = (positions[:, None].float() * self.frequencies.float()).repeat(1, 2)
        tables = angles.cos().to(self.dtype), angles.sin().to(self.dtype)
        mask = (torch.arange(self.capacity, device=self.device) <= positions[-1])[None] if is_step else None
        for i in range(case["layers"]):
            pre = f"model.layers.{i}."
            y = self.rms(x, pre + "input_layernorm")
            q, k, v = (self.split(F.linear(y, self.weights[f"{pre}self_attn.{part}_proj"]), count)
                       for part, count in (("q", case["heads"]), ("k", case["kv_heads"]), ("v", case["kv_heads"])))  # fmt: skip
            q, k = self.rotate(q, tables), self.rotate(k, tables)
            keys, values = self.caches[i]
            keys.index_copy_(2, positions, k)
            values.index_copy_(2, positions, v)
            if is_step:
                k, v = keys, values
            if is_step:  # no fused kernel takes both a mask and groups: a group's heads are rows of one head
                groups = q.view(q.shape[0], case["kv_heads"], -1, q.shape[3])
                y = F.scaled_dot_product_attention(groups, k, v, mask).view(q.shape)
            else:
                y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
            x = x + F.linear(y.transpose(1, 2).flatten(2), self.weights[pre + "self_attn.o_proj"])
            y = self.rms(x, pre + "post_attention_layernorm")
            gate = F.silu(F.linear(y, self.weights[pre + "mlp.gate_proj"]))
            x = x + F.linear(gate * F.linear(y, self.weights[pre + "mlp.up_proj"]), self.weights[pre + "mlp.down_proj"])
        return F.linear(self.rms(x[:, -1:], "model.norm"), self.weights["lm_head"])

    def run(self, request):
        ids = request["input_ids"]
        positions = np.arange(ids.shape[1])
        self.result = self.graphed(("prompt", ids.shape, self.capacity), self.forward)(ids, positions)

    def prompt(self, request, capacity):
        batch, length = request["input_ids"].shape
        size = self.case["hidden"] // self.case["heads"]
        dims = (batch, self.case["kv_heads"], capacity, size)
        self.capacity, self.graphs = capacity, {}  # graphs know the old caches
        self.caches = [[torch.zeros(dims, dtype=self.dtype, device=self.device) for _ in range(2)]
                       for _ in range(self.case["layers"])]  # fmt: skip
        self.run(request)
        self.first = length
        self.rewind()

    def rewind(self):
        self.position = self.first

    def step(self, request):
        positions = np.array([self.position])
        self.result = self.graphed("step", self.forward)(request["input_ids"], positions)
        self.position += 1


def measured_limits(dtype, device):
    """(bytes read and written in a second by a copy, multiply-adds in a second of the best product)"""
    is_gpu = device.type == "cuda"
    wait = torch.cuda.synchronize if is_gpu else lambda: None

    def seconds(function):
        times = []
        for _ in range(9):
            wait()
            begin = time.perf_counter()
            for _ in range(4):
                function()
            wait()
            times.append((time.perf_counter() - begin) / 4)
        return statistics.median(times)

    count = 1 << (32 if is_gpu else 26)
    source = torch.empty(count, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    copied = 2 * count / seconds(lambda: target.copy_(source))
    best = 0.0
    for m, n, k in ((2048, 14336, 4096), (4096, 4096, 4096), (8192, 8192, 8192)) if is_gpu else ((256, 256, 256),):
        a, b = (torch.randn(dims, device=device).to(dtype) for dims in ((m, k), (n, k)))
        best = max(best, m * n * k / seconds(lambda a=a, b=b: F.linear(a, b)))
    return copied, best


MODELS = {"llama": Llama, "bert": Bert, "vit": Vit, "mixture": Mixture}
