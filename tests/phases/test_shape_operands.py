"""After import no op keeps an operand that only carries a known shape, but for those of shape-operands.txt."""

import re
import unittest
from pathlib import Path

from tests.equivalence.mutants import Op
from tests.support import LAYERS, EndToEnd, model_file

ALLOWED = Path(__file__).with_name("shape-operands.txt")

# Operands that ONNX gives shapes, bounds, axes and counts in; the ops are the dialect's.
SHAPES = {
    "ConstantOfShape": [0], "CumSum": [1], "Expand": [1], "Pad": [1, 3], "Range": [0, 1, 2], "Reshape": [1],
    "Slice": [1, 2, 3, 4], "Split": [1], "Squeeze": [1], "Tile": [1], "TopK": [1], "Trilu": [1], "Unsqueeze": [1],
} | {f"Reduce{kind}": [1] for kind in ("LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")}  # fmt: skip
# Ops that are nothing but shapes.
GONE = ("Shape", "Size", "ConstantOfShape")


def left_over(text):
    """"NODE OP OPERAND" of each shape operand in a module."""
    names = dict(re.findall(r'^(#loc\d*) = loc\("([^"]*)"', text, re.M))
    ops = [Op.parse(line) for line in text.splitlines() if re.match(r"    (%\w+(:\d+)? = )?onnx\.", line)]
    nothing = {op.results for op in ops if op.name == "onnx.None"}
    for op in ops:
        stem = op.name.removeprefix("onnx.")
        node = names.get(op.loc[len("loc(") : -1], op.loc).replace(" ", "_")
        if stem in GONE:
            yield f"{node} {stem} -"
        for index in SHAPES.get(stem, []):
            if index < len(op.operands) and op.operands[index] not in nothing:
                yield f"{node} {stem} {index}"


class ShapeOperands(EndToEnd):
    def printed(self, model, phase):
        return self.run_ok("shardc", model_file(model), "--to", phase)

    def test_only_those_of_the_list_are_left(self):
        lines = ALLOWED.read_text().splitlines()
        allowed = [line for line in lines if line and not line.startswith("#")]
        found = [f"{model} {operand}" for model in LAYERS for operand in left_over(self.printed(model, "imported"))]
        self.assertEqual(sorted(found), sorted(allowed))

    def test_finds_them_before_import(self):
        for model in LAYERS:
            with self.subTest(model=model):
                found = {entry.split()[1] for entry in left_over(self.printed(model, "raw"))}
                self.assertTrue(found & {"Reshape", "Shape"}, found)


if __name__ == "__main__":
    unittest.main()
