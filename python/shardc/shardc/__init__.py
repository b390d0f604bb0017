"""Compiles ONNX transformers for many devices, from Python: a thin layer over the program shardc.

    import shardc

    plan = shardc.compile("model.onnx", "model.shard", tp=8, pp=4, sp=True)
    print(plan)                        # collectives and memory
    plan.collectives[0].why            # each of them, and why it is there
    plan.choices[0].why                # what splits each node and weight
    plan.text("partitioned")           # the program of each rank, as MLIR
"""

from .candidates import Candidate, Candidates
from .choices import Choice, Split
from .compiler import compile, explain, plan
from .errors import CompileError, Note
from .plans import PHASES, Collective, Plan, RankMemory, Transfer

__version__ = "0.1.0"
__all__ = [
    "PHASES", "Candidate", "Candidates", "Choice", "Collective", "CompileError", "Note", "Plan", "RankMemory", "Split", "Transfer",
    "compile", "explain", "plan",
]  # fmt: skip
