"""The blocks of docs/python.md run one after the other, and print what the page shows."""

import onnx

from tests.docs.python_pages import check_blocks
from tests.e2e.caches import decoder
from tests.support import ROOT, EndToEnd, model_file


class Guide(EndToEnd):
    def test_blocks(self):
        (self.folder / "model.onnx").symlink_to(model_file("llama-dynamo-op18"))
        for file in model_file("llama-dynamo-op18").parent.glob("model.onnx?*"):
            (self.folder / file.name).symlink_to(file)
        onnx.save(decoder(), self.folder / "decoder.onnx")
        check_blocks(self, ROOT / "docs/python.md", self.folder, blocks=10, lines=7)
