"""Compiles ONNX transformers for many devices, from Python: a thin layer over the program shardc.

    import shardc

    plan = shardc.compile("model.onnx", "model.shard", tp=8, pp=4, sp=True)
    print(plan)                        # collectives and memory
    plan.collectives[0].why            # each of them, and why it is there
    plan.text("partitioned")           # the program of each rank, as MLIR
"""

from .candidates import Candidate, Candidates
from .compiler import compile, explain, plan
from .errors import CompileError, Note
from .plans import PHASES, Collective, Plan, RankMemory, Transfer

__version__ = "0.1.0"
__all__ = [
    "PHASES", "Candidate", "Candidates", "Collective", "CompileError", "Note", "Plan", "RankMemory", "Transfer", "compile",
    "explain", "plan",
]  # fmt: skip
