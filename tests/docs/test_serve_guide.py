"""The commands of docs/serve.md run, and its blocks ask the server that they start."""

import json
import re
import shlex

import onnx

from tests.docs import python_pages
from tests.e2e.processes import free_port
from tests.e2e.test_rows import text_decoder
from tests.python.http_server import serve
from tests.python.small_tokenizers import letters
from tests.support import ROOT, EndToEnd

PAGE = ROOT / "docs/serve.md"
TEMPLATE = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:"


class Guide(EndToEnd):
    def test_commands_and_blocks(self):
        folder = self.folder / "model"
        folder.mkdir()
        onnx.save(text_decoder(), folder / "model.onnx")
        letters().save(str(folder / "tokenizer.json"))
        (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": TEMPLATE}))
        text = PAGE.read_text()
        compiling, serving = (shlex.split(each) for each in re.findall(r"^    \$ (.*)$", text, re.MULTILINE))
        paths = {"model/model.onnx": folder / "model.onnx", "model.shard": self.folder / "model.shard"}
        self.run_ok(*(paths.get(word, word) for word in compiling))
        self.assertEqual(serving, ["shardrt", "serve", "model.shard", "--port", "8000"])
        port = free_port()
        server = serve(self, self.folder / "model.shard", "--port", port)
        said = re.search(r"^    shardrt serve: (\w+) at (\S+)$", text, re.MULTILINE)
        self.assertEqual((said[1], said[2].replace("8000", str(port))), ("model", server.url))
        page = self.folder / "serve.md"
        page.write_text(text.replace("127.0.0.1:8000", f"127.0.0.1:{port}"))
        python_pages.check_blocks(self, page, self.folder, blocks=2, lines=2)
