"""ONNX Runtime, OpenVINO, PyTorch and shardrt behind one interface, each in a process of its own that is pinned to the cores it may use.

`start(kind, path, threads)` gives a proxy; its calls run in that process, one at a time, and the process sleeps between them.
Requests are dicts of arrays by input name. A decoder's keys and values stay inside: `prompt` starts a sequence, `step` goes on
with it, `rewind` returns to the end of the prompt, and past inputs are left out of all of them.
"""
import ctypes
import multiprocessing
import os
import resource
import time

import numpy as np

PAST, PRESENT = "past", "present"


class OnnxRuntime:
    """Inputs and outputs are bound, so that none is copied; a step's present is the next one's past as it lies."""

    def __init__(self, model, threads):
        import onnxruntime
        self.runtime = onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self.inputs = [i.name for i in self.session.get_inputs()]
        self.names = [o.name for o in self.session.get_outputs()]
        self.pasts = [i for i in self.session.get_inputs() if i.name.startswith(PAST)]
        self.presents = [n for n in self.names if n.startswith(PRESENT)]
        self.past = self.first = None

    def empty_past(self):
        types = {"tensor(float)": np.float32, "tensor(float16)": np.float16}
        value = self.runtime.OrtValue.ortvalue_from_numpy
        return [value(np.zeros([d if isinstance(d, int) else 0 if "past" in d else 1 for d in i.shape], types[i.type]))
                for i in self.pasts]

    def call(self, request, past):
        binding = self.session.io_binding()
        for name, array in request.items():
            binding.bind_cpu_input(name, array)
        for info, value in zip(self.pasts, past):
            binding.bind_ortvalue_input(info.name, value)
        for name in self.names:
            binding.bind_output(name, "cpu")
        self.session.run_with_iobinding(binding)
        self.results = binding.get_outputs()
        return [v for n, v in zip(self.names, self.results) if n.startswith(PRESENT)]

    def run(self, request):
        self.call(request, self.empty_past())

    def prompt(self, request, capacity):
        self.past = self.first = self.call(request, self.empty_past())

    def step(self, request):
        self.past = self.call(request, self.past)

    def rewind(self):
        self.past = self.first

    def outputs(self):
        return {n: v.numpy() for n, v in zip(self.names, self.results) if not n.startswith(PRESENT)}


class OpenVino:
    """In its own choice of types (bfloat16 where the processor has it). A decoder's caches are states of the compiled model."""

    def __init__(self, model, threads):
        import openvino
        from openvino import _offline_transformations as transformations
        self.openvino = openvino
        core = openvino.Core()
        read = core.read_model(model)
        self.pasts = {i.get_any_name(): i.get_partial_shape() for i in read.inputs if i.get_any_name().startswith(PAST)}
        self.types = {i.get_any_name(): i.get_element_type() for i in read.inputs}
        if self.pasts:
            presents = [n for n in (o.get_any_name() for o in read.outputs) if n.startswith(PRESENT)]
            transformations.apply_make_stateful_transformation(read, dict(zip(self.pasts, presents, strict=True)))
        self.compiled = core.compile_model(read, "CPU", {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1,
                                                         "PERFORMANCE_HINT": "LATENCY", "ENABLE_CPU_PINNING": False})
        self.request = self.compiled.create_infer_request()
        self.first = None

    def empty(self):
        self.request.reset_state()
        for state in self.request.query_state():
            name = next(n for n in self.pasts if n in state.name)
            sizes = [d.get_length() if d.is_static else 1 if i == 0 else 0 for i, d in enumerate(self.pasts[name])]
            state.state = self.openvino.Tensor(self.types[name], sizes)

    def call(self, request):
        self.results = self.request.infer(request, share_inputs=True, share_outputs=True)

    def run(self, request):
        if self.pasts:
            self.empty()
        self.call(request)

    def prompt(self, request, capacity):
        self.run(request)
        self.first = [(s, self.openvino.Tensor(np.array(s.state.data))) for s in self.request.query_state()]

    def step(self, request):
        self.call(request)

    def rewind(self):
        for state, tensor in self.first:
            state.state = tensor

    def outputs(self):
        named = {o.get_any_name(): o for o in self.compiled.outputs}
        return {n: np.array(self.results[o]) for n, o in named.items() if not n.startswith(PRESENT)}


class Tensor(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("type", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("dims", ctypes.POINTER(ctypes.c_int64)), ("data", ctypes.c_void_p)]


class Shardrt:
    """The C API. A decoder's caches are a state, which each step appends to."""

    TYPES = {np.dtype(np.bool_): 0, np.dtype(np.int32): 5, np.dtype(np.int64): 7, np.dtype(np.float16): 9,
             np.dtype(np.float32): 11}
    BFLOAT16 = 10

    def __init__(self, artifact, threads, library):
        self.library = lib = ctypes.CDLL(library)
        for name in ("shardrt_last_error", "shardrt_output_name"):
            getattr(lib, name).restype = ctypes.c_char_p
        lib.shardrt_num_outputs.restype = ctypes.c_size_t
        self.session = ctypes.c_void_p()
        self.check(lib.shardrt_open(os.fsencode(artifact), None, ctypes.byref(self.session)))
        self.state = self.first = None

    def check(self, status):
        if status:
            raise RuntimeError(self.library.shardrt_last_error().decode())

    def tensors(self, request):
        made = (Tensor * len(request))()
        for tensor, (name, array) in zip(made, request.items()):
            dims = (ctypes.c_int64 * array.ndim)(*array.shape)
            tensor.name, tensor.type, tensor.rank = name.encode(), self.TYPES[array.dtype], array.ndim
            tensor.dims, tensor.data = dims, array.ctypes.data
        return made, ctypes.c_size_t(len(request))

    def run(self, request):
        if self.first:  # the caches of a prompt are written where they stay
            self.library.shardrt_state_reset(self.first)
            self.check(self.library.shardrt_run_state(self.session, self.first, *self.tensors(request)))
        else:
            self.check(self.library.shardrt_run(self.session, *self.tensors(request)))

    def prompt(self, request, capacity):
        self.library.shardrt_state_destroy(self.first)
        self.first = ctypes.c_void_p()
        self.check(self.library.shardrt_state_create(self.session, ctypes.c_int64(capacity), ctypes.byref(self.first)))
        self.run(request)
        self.rewind()

    def step(self, request):
        self.check(self.library.shardrt_run_state(self.session, self.state, *self.tensors(request)))

    def rewind(self):
        self.library.shardrt_state_destroy(self.state)
        self.state = ctypes.c_void_p()
        self.check(self.library.shardrt_state_fork(self.first, ctypes.byref(self.state)))

    def outputs(self):
        found = {}
        for i in range(self.library.shardrt_num_outputs(self.session)):
            name = self.library.shardrt_output_name(self.session, ctypes.c_size_t(i)).decode()
            if name.startswith(PRESENT):
                continue
            tensor = Tensor()
            self.check(self.library.shardrt_output(self.session, ctypes.c_size_t(i), ctypes.byref(tensor)))
            dims = tensor.dims[:tensor.rank]
            if tensor.type == self.BFLOAT16:  # which numpy has not: as floats whose lower half is 0
                data = ctypes.string_at(tensor.data, int(np.prod(dims)) * 2)
                found[name] = (np.frombuffer(data, np.uint16).astype(np.uint32) << 16).view(np.float32).reshape(dims)
                continue
            kind = next(t for t, number in self.TYPES.items() if number == tensor.type)
            data = ctypes.string_at(tensor.data, int(np.prod(dims)) * kind.itemsize)
            found[name] = np.frombuffer(data, kind).reshape(dims)
        return found


def processor_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def make(kind, arguments):
    if kind == "openvino":
        return OpenVino(*arguments)
    if kind == "torch":
        import torch_models  # not where PyTorch is not there
        return torch_models.MODELS[arguments[0]["family"]](*arguments)
    return {"onnxruntime": OnnxRuntime, "shardrt": Shardrt}[kind](*arguments)


def serve(pipe, kind, cores, arguments):
    os.sched_setaffinity(0, cores)
    try:
        engine = make(kind, arguments)
        pipe.send(None)
        while (message := pipe.recv()) is not None:
            method, given, repeat = message
            clock, processor = [], processor_seconds()
            for _ in range(repeat):
                begin = time.perf_counter()
                result = getattr(engine, method)(*given)
                clock.append(time.perf_counter() - begin)
            pipe.send((result, clock, (processor_seconds() - processor) / repeat))
    except Exception as error:  # whatever it is ends the benchmark, in the other process
        pipe.send(error)


class Proxy:
    """RuntimeError where the engine fails, dies, or does not answer for `limit` seconds; it is to be closed all the same."""

    def __init__(self, kind, cores, arguments, limit=None):
        self.kind, self.limit = kind, limit
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=serve, args=(other, kind, cores, arguments), daemon=True)
        self.process.start()
        other.close()
        try:
            self.receive()
        except RuntimeError:
            self.close()
            raise

    def receive(self):
        if not self.pipe.poll(self.limit):
            raise RuntimeError(f"{self.kind} has not answered for {self.limit} s")
        try:
            answer = self.pipe.recv()
        except EOFError:
            self.process.join()
            raise RuntimeError(f"{self.kind} has died: exit status {self.process.exitcode}") from None
        if isinstance(answer, Exception):
            raise RuntimeError(f"{self.kind}: {type(answer).__name__}: {answer}")
        return answer

    def timed(self, method, *given, repeat=1):
        """(the last result, seconds by the clock of each call, processor seconds of one)"""
        self.pipe.send((method, given, repeat))
        return self.receive()

    def __getattr__(self, method):
        return lambda *given: self.timed(method, *given)[0]

    def close(self):
        try:
            self.pipe.send(None)
        except OSError:
            pass  # it is gone
        self.process.join(10)
        self.process.kill()  # one that hangs
        self.process.join()
