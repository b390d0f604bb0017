"""Real exported transformers on 1, 2, 3, 4 and 8 ranks: what they compute, what they communicate, what they hold."""

import json
import shutil
import unittest

from tests.support import LAYERS, MODELS, EndToEnd, data_dims, data_sets, model_file

WAYS = (1, 2, 3, 4, 8)


class Models(EndToEnd):
    def check(self, model):
        for file, rounding in self.accuracies(model):
            expected = {}  # by data set, on one rank
            for tp in WAYS:
                with self.subTest(tp=tp, rounding=rounding):
                    artifact = self.compile(file, tp)
                    self.assertGreater(len(data_sets(model)), 0)
                    for data_set in data_sets(model):
                        outputs = self.execute(artifact, data_set)
                        self.assert_same_numbers(outputs, expected.setdefault(data_set, outputs), rounding)
        for tp in WAYS:
            with self.subTest(tp=tp):
                self.check_plan(model, tp)

    def check_plan(self, model, tp):
        plan = self.explain(model_file(model), tp)
        self.assertEqual(plan["mesh"], {"tp": tp})
        self.assertEqual([rank["rank"] for rank in plan["ranks"]], list(range(tp)))
        count = len(plan["collectives"])
        if tp == 1:
            self.assertEqual(count, 0)
            return
        self.assertGreater(count, 0)
        self.assertLessEqual(count, 2 * LAYERS[model] + 1)
        if tp not in (2, 4):
            return  # not every size divides
        all_bytes = self.explain(model_file(model), 1)["ranks"][0]["weight_bytes"]
        whole = sum(weight["bytes"] for weight in plan["whole_weights"])
        self.assertLess(whole, all_bytes / 4)
        for rank in plan["ranks"]:
            self.assertLessEqual(rank["weight_bytes"], whole + 1.1 * (all_bytes - whole) / tp)

    def test_bert(self):
        self.check("bert-ts-op17")

    def test_gpt2(self):
        self.check("gpt2-dynamo-op20")

    def test_llama(self):
        self.check("llama-dynamo-op18")

    def test_llama_of_4_bits(self):
        """Two weights a byte, in blocks of 32; on 8 ranks a head of 16 is half a block."""
        self.check("llama-genai-int4")

    def test_vit(self):
        self.check("vit-ts-static-op17")


class Communication(EndToEnd):
    """The compiler's count of bytes is the runtime's."""

    def check(self, model, tp):
        stats = self.folder / "stats.json"
        artifact = self.compile(model_file(model), tp)
        for data_set in data_sets(model):
            self.execute(artifact, data_set, "--stats-json", stats)
            counted = json.loads(stats.read_text())["collectives"]
            plan = self.explain(model_file(model), tp, *data_dims(model, data_set))["collectives"]
            self.assertGreater(len(plan), 0)
            keys = ("kind", "node", "bytes", "wire_bytes")
            self.assertEqual([[c[key] for key in keys] for c in counted], [[c[key] for key in keys] for c in plan])
            for entry in plan:
                passes = 2 if entry["kind"] == "all_reduce" else 1
                self.assertEqual(entry["wire_bytes"], passes * (tp - 1) * entry["bytes"])

    def test_bert(self):
        self.check("bert-ts-op17", 2)

    def test_gpt2_on_more_ranks_than_its_heads_divide(self):
        self.check("gpt2-dynamo-op20", 4)

    def test_llama_on_uneven_ranks(self):
        self.check("llama-dynamo-op18", 3)

    def test_vit(self):
        self.check("vit-ts-static-op17", 8)

    def test_unknown_sizes_stay_expressions(self):
        plan = self.explain(model_file("llama-dynamo-op18"), 2)
        for entry in plan["collectives"]:
            self.assertRegex(str(entry["bytes"]), "batch.*sequence")

    def test_batch_and_seq_name_the_first_dims(self):
        by_place = self.explain(model_file("gpt2-dynamo-op20"), 2, "--dims", "batch=3,seq=5")["collectives"]
        by_name = self.explain(model_file("gpt2-dynamo-op20"), 2, "--dims", "batch=3,sequence=5")["collectives"]
        self.assertEqual(by_place, by_name)


class Weights(EndToEnd):
    """Where the artifact finds them."""

    MODEL = "llama-dynamo-op18"

    def setUp(self):
        super().setUp()
        self.data_set = data_sets(self.MODEL)[0]
        self.home = self.folder / "model"
        shutil.copytree(MODELS / self.MODEL, self.home)

    def test_references_hold_no_copy(self):
        artifact = self.compile(self.home / "model.onnx", 2)
        held = sum(file.stat().st_size for file in artifact.iterdir())
        self.assertLess(held, (self.home / "model.onnx").stat().st_size / 4)

    def test_copies_need_no_model(self):
        for tp in (1, 3):
            with self.subTest(tp=tp):
                artifact = self.compile(self.home / "model.onnx", tp, "--weights", "copy")
                away = self.home.rename(self.folder / "away")
                self.execute(artifact, self.data_set)
                away.rename(self.home)

    def test_copies_of_4_bits(self):
        """Ranks of 3 hold 2 or 4 heads, packed anew."""
        artifact = self.compile(model_file("llama-genai-int4"), 3, "--weights", "copy")
        for data_set in data_sets("llama-genai-int4"):
            self.execute(artifact, data_set)

    def test_references_follow_weights_root(self):
        artifact = self.compile(self.home / "model.onnx", 2)
        expected = self.execute(artifact, self.data_set)
        moved = self.home.rename(self.folder / "moved")
        found = self.execute(artifact, self.data_set, "--weights-root", moved)
        for a, b in zip(found, expected, strict=True):
            self.assertEqual(a.tobytes(), b.tobytes())

    def test_artifact_and_model_move_together(self):
        artifact = self.compile(self.home / "model.onnx", 2, to="model/plan.shard")
        moved = self.home.rename(self.folder / "moved")
        self.execute(moved / artifact.name, self.data_set)


if __name__ == "__main__":
    unittest.main()
