"""Every mutant of a module, and some of each kind."""

import random
from dataclasses import dataclass

from tests.equivalence.mutants.collectives import collective_changes
from tests.equivalence.mutants.computations import computation_changes
from tests.equivalence.mutants.text import Module
from tests.equivalence.mutants.transfers import transfer_changes

ALONE = ("count", "claim", "op kind", "reorder")  # changes of types and ops that plans do not have, or whose order is free


@dataclass
class Mutant:
    kind: str
    what: str
    text: str


def in_program(index, change):
    return lambda module: change(module.edit(index))


def in_both(index, change):
    def apply(module):
        for side in range(2):
            change(module.edit(index + side))

    return apply


def movements(module, locals_):
    """(kind, what, change) of collectives and transfers."""
    yield from transfer_changes(module, locals_)
    for index in module.programs:
        yield from in_bodies(module, index, collective_changes(module.bodies[index], locals_))


def computations(module, locals_, rng):
    for index in module.programs:
        yield from in_bodies(module, index, computation_changes(module.bodies[index], locals_, rng))


def in_bodies(module, index, changes):
    """Of the program alone, and of program and plan alike where these have the same ops."""
    aligned = module.is_aligned(index)
    stage = module.stage(index)[0]
    for kind, what, change in changes:
        yield kind, f"stage {stage}: {what}", in_program(index, change)
        if aligned and kind not in ALONE:
            yield f"{kind}, plan too", f"stage {stage}: {what}", in_both(index, change)


def by_kind(changes, rng):
    kinds = {}
    for kind, what, change in changes:
        kinds.setdefault(kind, []).append((what, change))
    for entries in kinds.values():
        rng.shuffle(entries)
    return kinds


def choose(text, count, seed, only_movements=False):
    """So many mutants, of all kinds in turn; fewer where there are no more."""
    module, rng = Module.parse(text), random.Random(seed)
    locals_ = module.local_sizes()
    changes = [*movements(module, locals_)]
    if not only_movements:
        changes += computations(module, locals_, rng)
    kinds = by_kind(changes, rng)
    chosen, seen = 0, {str(module)}
    while chosen < count and any(kinds.values()):
        for kind, entries in kinds.items():
            if not entries or chosen == count:
                continue
            what, change = entries.pop()
            mutant = module.copy()
            change(mutant)
            if (changed := str(mutant)) not in seen:
                seen.add(changed)
                chosen += 1
                yield Mutant(kind, what, changed)
