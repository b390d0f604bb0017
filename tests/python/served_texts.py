"""A decoder that a server takes, over two ranks, and what it says by a plain loop over ONNX Runtime."""

import json

import onnx

from tests.e2e.caches import VOCABULARY
from tests.e2e.test_rows import PAGE, text_decoder
from tests.python.served_decoder import Reference
from tests.python.small_tokenizers import letters
from tests.support import EndToEnd


class ServedTexts(EndToEnd):
    """Tests of it."""

    PLAN = ("--tp", "2")

    @classmethod
    def setUpClass(cls):
        compiler = cls.of_class()
        cls.model = compiler.folder
        file = cls.model / "model.onnx"
        onnx.save(text_decoder(), file)
        letters(VOCABULARY).save(str(cls.model / "tokenizer.json"))
        config = {"chat_template": "{% for m in messages %}{{ m.content }}{% endfor %}:", "eos_token": "</s>"}
        (cls.model / "tokenizer_config.json").write_text(json.dumps(config))
        (cls.model / "config.json").write_text(json.dumps({"max_position_embeddings": 200}))
        cls.artifact = cls.model / "served.shard"
        compiler.run_ok("shardc", file, *cls.PLAN, f"--serve={PAGE}", "-o", cls.artifact)
        cls.reference = Reference(file)
