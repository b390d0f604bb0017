"""The commands of docs/serve.md run, and its blocks ask the server that they start."""

import json
import re
import shlex
import subprocess
import sys
import urllib.request

import onnx

from tests.docs import python_pages
from tests.docs.launchers import on_path, write_launchers
from tests.docs.page import commands
from tests.docs.snippets import snippet
from tests.e2e.processes import free_port
from tests.e2e.test_rows import text_decoder
from tests.python.http_server import end, serve
from tests.python.small_tokenizers import letters
from tests.support import ROOT, EndToEnd

PAGE = ROOT / "docs/serve.md"
TEMPLATE = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:"


class Guide(EndToEnd):
    def make_model(self):
        folder = self.folder / "model"
        folder.mkdir()
        onnx.save(text_decoder(), folder / "model.onnx")
        letters().save(str(folder / "tokenizer.json"))
        (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": TEMPLATE}))
        return folder

    def test_commands_and_blocks(self):
        folder = self.make_model()
        text = PAGE.read_text()
        compiling, serving = (shlex.split(each.text) for each in commands(PAGE))
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

    def test_launcher(self):
        """The command runs in the folder of the artifact, until the launcher is told to end."""
        folder = self.make_model()
        self.run_ok("shardc", folder / "model.onnx", "--tp", 2, "--serve", "-o", self.folder / "model.shard")
        write_launchers(self.folder / "launchers")
        (self.folder / "launchers/shardrt").write_text(f'#!/bin/sh\nexec {sys.executable} -m shardrt "$@"\n')
        (self.folder / "launchers/shardrt").chmod(0o755)
        [command] = snippet(PAGE, "torchrun").lines
        environment = python_pages.ENVIRONMENT | {"PATH": on_path(self.folder / "launchers")}
        server = subprocess.Popen([*shlex.split(command), "--port", str(free_port())], cwd=self.folder, env=environment, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
        self.addCleanup(end, server)
        said = server.stdout.readline()
        self.assertRegex(said, r"^shardrt serve: model at http://")
        with urllib.request.urlopen(said.split()[-1] + "/status", timeout=60) as answer:
            self.assertEqual(json.load(answer)["world_size"], 2)
