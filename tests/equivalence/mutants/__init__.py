"""Wrong variants of a partitioned module, made from its text: each mutant is one change by one kind of mistake.

A change edits the program of a stage alone, or the program and its plan alike: the partitioner turns each reshard into
collectives, and where it is one each, the n-th op of both is the same op.
"""

from tests.equivalence.mutants.choice import Mutant, choose
from tests.equivalence.mutants.text import Body, Module, Op, Tensor, split

__all__ = ["Body", "Module", "Mutant", "Op", "Tensor", "choose", "split"]
