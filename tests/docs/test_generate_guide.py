"""The blocks and commands of docs/generate.md run one after the other."""

import json
import shlex
import subprocess
import sys

import onnx

from tests.docs.page import commands
from tests.docs.python_pages import ENVIRONMENT, check_blocks
from tests.e2e.caches import decoder
from tests.python.small_tokenizers import letters
from tests.support import ROOT, EndToEnd, model_file

PAGE = ROOT / "docs/generate.md"
TEMPLATE = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:"


class Guide(EndToEnd):
    def test_blocks_and_commands(self):
        folder = self.folder / "model"
        folder.mkdir()
        onnx.save(decoder(), folder / "model.onnx")
        letters().save(str(folder / "tokenizer.json"))
        (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": TEMPLATE}))
        (folder / "config.json").write_text(json.dumps({"eos_token_id": 1}))
        (self.folder / "bert").symlink_to(model_file("bert-ts-op17").parent)
        check_blocks(self, PAGE, self.folder, blocks=10, lines=1)
        found = commands(PAGE)
        self.assertEqual(len(found), 3)
        for command in found:
            words = shlex.split(command.text)
            self.assertEqual((words[0], command.shown), ("shardrt", ["..."]))
            done = subprocess.run([sys.executable, "-m", *words], cwd=self.folder,
                                  capture_output=True, text=True, env=ENVIRONMENT, timeout=120)  # fmt: skip
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertGreater(len(done.stdout), 5)
