"""Files beside a model that are not as they have to be: one error, which names the file, what is there and what was expected."""

import json
import unittest

from tests.python import support  # noqa: F401  before what follows
from tests.support import EndToEnd

from shardrt import _model_files  # isort: skip

WRONG = (("config.json", "{", "is no JSON: Expecting"), ("config.json", "[]", r"is \[\], expected an object"), ("config.json", "\xff", "is no JSON"),
         ("config.json", '{"text_config": 5}', ": text_config is 5, expected an object"),
         ("config.json", '{"max_position_embeddings": "x"}', ": max_position_embeddings is 'x', expected a whole number"),
         ("config.json", '{"eos_token_id": "</s>"}', ": eos_token_id is '</s>', expected an id, or a list of ids"),
         ("generation_config.json", '{"eos_token_id": [1, "a"]}', ": eos_token_id is .*, expected an id"),
         ("genai_config.json", '{"model": "x"}', ": model is 'x', expected an object"),
         ("genai_config.json", '{"model": {"decoder": []}}', r": model.decoder is \[\], expected an object"),
         ("genai_config.json", '{"model": {"decoder": {"inputs": []}}}', r": model.decoder.inputs is \[\], expected an object"),
         ("genai_config.json", '{"model": {"decoder": {"inputs": {"input_ids": 5}}}}', ": input_ids is 5, expected a text"),
         ("genai_config.json", '{"model": {"context_length": 2.5}}', ": context_length is 2.5, expected a whole number"))  # fmt: skip


class ModelFiles(EndToEnd):
    def test_what_is_wrong(self):
        for name, text, why in WRONG:
            file = self.folder / name
            file.write_text(text, encoding="latin-1")
            with self.subTest(text), self.assertRaisesRegex(ValueError, f"^{file} ?{why}"):
                _model_files.read([self.folder])
            file.unlink()

    def test_null_is_nothing(self):
        genai = {"model": {"decoder": None, "eos_token_id": None, "context_length": 9}}
        (self.folder / "genai_config.json").write_text(json.dumps(genai))
        (self.folder / "config.json").write_text('{"text_config": null, "eos_token_id": -1, "n_positions": 7}')
        found = _model_files.read([self.folder / "nothing", self.folder])
        self.assertEqual((found.context, found.eos_ids, found.inputs, found.logits), (9, (), {}, None))

    def test_a_manifest_that_is_none(self):
        (self.folder / "manifest.json").write_text("[]")
        self.assertIsNone(_model_files.model_folder(self.folder))


if __name__ == "__main__":
    unittest.main()
