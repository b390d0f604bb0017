"""Which inputs of a decoder are what, and what they get."""

import unittest

import numpy as np

from tests.python import support  # noqa: F401  before what follows

from shardrt._text_inputs import TextInputs  # isort: skip
from shardrt.session import ValueInfo  # isort: skip


def info(name, dtype="int64", rank=2, cache=False):
    return ValueInfo(name, dtype, ("n",) * rank, cache)


class Roles(unittest.TestCase):
    def row(self, *infos, tokens=(7, 8), past=3, names=None, extra=None):
        inputs = TextInputs(infos, names)
        inputs.check(extra or {})
        return inputs.row(tokens, past, extra or {})

    def test_usual_names(self):
        row = self.row(info("input_ids"), info("attention_mask"), info("position_ids"), info("past.0", "float32", 4, cache=True),
                       info("rows.past", rank=1))  # fmt: skip
        self.assertEqual({name: value.tolist() for name, value in row.items()},
                         {"input_ids": [[7, 8]], "attention_mask": [[1] * 5], "position_ids": [[3, 4]]})  # fmt: skip
        self.assertTrue(all(value.dtype == np.int64 for value in row.values()))

    def test_types(self):
        row = self.row(info("tokens", "int32"), info("padding_mask", "float32"), info("cache_position", "int32", 1))
        self.assertEqual({name: (value.dtype, value.tolist()) for name, value in row.items()},
                         {"tokens": (np.int32, [[7, 8]]), "padding_mask": (np.float32, [[1] * 5]),
                          "cache_position": (np.int32, [3, 4])})  # fmt: skip
        self.assertEqual(self.row(info("input_ids"), info("attention_mask", "bool"))["attention_mask"].tolist(), [[True] * 5])

    def test_what_each_position_sees(self):
        seen = self.row(info("input_ids"), info("mask", "bool", 4))["mask"]
        self.assertEqual(seen.tolist(), [[[[True] * 4 + [False], [True] * 5]]])
        for dtype in ("float32", "float16"):
            added = self.row(info("input_ids"), info("causal_mask", dtype, 4))["causal_mask"]
            self.assertEqual(added.dtype, np.dtype(dtype))
            np.testing.assert_array_equal(added == 0, seen)
            self.assertTrue(np.isfinite(added).all() and added.min() < -1e4)

    def test_by_type(self):
        self.assertEqual(self.row(info("x"), info("mask"))["x"].tolist(), [[7, 8]])
        with self.assertRaisesRegex(ValueError, r"which input are the tokens\? expected one named input_ids, found a: .*, b: "):
            TextInputs([info("a"), info("b")])
        with self.assertRaisesRegex(ValueError, "found none"):
            TextInputs([])

    def fixed(self, dims, *others, logits=None):
        inputs = TextInputs([ValueInfo("input_ids", "int64", dims, False), *others])
        inputs.check_sizes(ValueInfo("logits", "float32", logits or (*dims, "40"), False))
        return inputs

    def test_sizes(self):
        mask, cache = ValueInfo("attention_mask", "int64", ("2", "8"), False), info("past.0", "float32", 4, cache=True)
        for dims, others in (((("batch", "n")), ()), (("1", "n"), ()), (("batch", "1"), (cache,)), (("2", "8"), (mask,)), (("2", "n"), ())):
            self.fixed(dims, *others)
        for dims, others, logits, words in (
            (("2", "n"), (cache,), None, "expected one text of any length, as the model has caches: export the model"),
            (("1", "16"), (cache, mask), None, "expected one text of any length, as the model has caches: export the model"),
            (("1", "8"), (), None, "no attention_mask says where a text ends in it: export the model"),
            (("2", "8"), (mask,), ("2", "1", "40"), "'logits' is .2, 1, 40., expected logits of each position: export the model"),
        ):
            with self.assertRaisesRegex(ValueError, rf"input 'input_ids' is \[{dims[0]}, {dims[1]}\], .*{words}"):
                self.fixed(dims, *others, logits=logits)

    def test_fixed_sizes_are_filled(self):
        others = (ValueInfo("attention_mask", "int64", ("2", "4"), False), ValueInfo("position_ids", "int64", ("4",), False))
        image = ValueInfo("pixels", "float32", ("2", "3"), False)
        found = self.fixed(("2", "4"), *others, image).whole([7, 8], {"pixels": np.ones((1, 3), np.float32)})
        self.assertEqual(found["input_ids"][:, :2].tolist(), [[7, 8]] * 2)
        self.assertEqual(found["attention_mask"].tolist(), [[1, 1, 0, 0]] * 2)
        self.assertEqual(found["position_ids"].tolist(), [0, 1, 2, 3])
        self.assertEqual([found[name].shape for name in ("input_ids", "pixels")], [(2, 4), (2, 3)])
        self.assertEqual(self.fixed(("3", "n")).whole([7, 8], {})["input_ids"].tolist(), [[7, 8]] * 3)

    def test_names_of_files(self):
        names = {"input_ids": "a", "attention_mask": "b", "position_ids": "c", "past_key_names": "past.%d"}
        row = self.row(info("a"), info("b"), info("c"), names=names)
        self.assertEqual([value.tolist() for value in row.values()], [[[7, 8]], [[1] * 5], [[3, 4]]])

    def test_branches(self):
        infos = info("input_ids"), info("use_cache_branch", "bool", 1)
        self.assertEqual([self.row(*infos, past=past)["use_cache_branch"].tolist() for past in (0, 3)], [[False], [True]])

    def test_encoders(self):
        infos = info("encoder_attention_mask"), info("input_ids"), info("encoder_hidden_states", "float32", 3)
        inputs = TextInputs(infos)
        self.assertEqual(inputs.others, ("encoder_attention_mask", "encoder_hidden_states"))
        with self.assertRaisesRegex(ValueError, r"takes encoder_attention_mask, encoder_hidden_states beside tokens: give it"):
            inputs.check({})
        extra = {"encoder_attention_mask": np.ones((1, 4), np.int64), "encoder_hidden_states": np.ones((1, 4, 2), np.float32)}
        self.assertEqual(sorted(self.row(*infos, past=0, extra=extra)), [*inputs.others, "input_ids"])
        self.assertEqual(sorted(self.row(*infos, past=3, extra=extra)), ["encoder_attention_mask", "input_ids"])
        self.assertEqual(sorted(inputs.row([1], 3, extra, again=True)), [*inputs.others, "input_ids"])
        with self.assertRaisesRegex(ValueError, "'other' is none of those"):
            inputs.check(extra | {"other": 1})


if __name__ == "__main__":
    unittest.main()
