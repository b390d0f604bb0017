"""Single operators with random attributes, operands, types and sizes, beside independent references.

Each family of operators has functions that draw one case; `build(name, seed)` gives the case of a seed, always the same.
"""

from tests.fuzz.operators import attention, dense, images, indexing, layout, microsoft, quantized, recurrent
from tests.fuzz.operators.case import Draw

FAMILIES = {
    name: make
    for module in (dense, layout, indexing, images, recurrent, attention, quantized, microsoft)
    for name, make in module.FAMILIES.items()
}


def build(name, seed):
    """Case `seed` of a family; a third of them have products around, that a plan for two ranks can split."""
    draw = Draw(f"{name}/{seed}")
    case = FAMILIES[name](draw)
    case.name = f"{name}/{seed}"
    if draw.chance(0.7):
        case.use_symbol(draw)
    if seed % 3 == 2:
        case.surround(draw)
    return case
