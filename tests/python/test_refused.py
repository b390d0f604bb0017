"""Arguments that are no such number, name or thing: an error by the argument's name, of what was expected, and nothing has run."""

import asyncio
import math
import unittest

import numpy as np

from tests.python.kept_decoder import ARTIFACT, PROMPT, WHOLE, WORDS, Kept

import shardrt  # isort: skip

NO_IDS = (([1.5], TypeError, "whole numbers"), (["5"], TypeError, "whole numbers"), ([True], TypeError, "whole numbers"),
          ("ab", TypeError, "expected ids"), (b"ab", TypeError, "expected ids"), (5, TypeError, "expected ids"),
          ([-1], ValueError, f"no token -1: expected 0 to {WORDS - 1}"), ([2**70], ValueError, "no token 1180591620717411303424"),
          ([WORDS], ValueError, f"no token {WORDS}: expected 0 to {WORDS - 1}"))  # fmt: skip


class DLPack:
    """Of another framework."""

    def __init__(self, array):
        self.__dlpack__, self.__dlpack_device__ = array.__dlpack__, array.__dlpack_device__


class Inputs(Kept):
    def setUp(self):
        self.whole = self.session(WHOLE)

    def run_ids(self, ids):
        return self.whole.run({"input_ids": ids, "attention_mask": [[1] * 3]})["logits"]

    def test_lists_are_not_converted(self):
        expected = self.run_ids(np.array([PROMPT]))
        for ids in ([PROMPT], (tuple(PROMPT),), [np.array(PROMPT, np.int32)], [list(map(np.int64, PROMPT))]):
            np.testing.assert_array_equal(self.run_ids(ids), expected)
        expects = r"input 'input_ids': expected int64 \[batch, sequence\], found "
        for ids, found in (([[5.9, 7.2, 11]], "float64"), ([[5.0, 7, 11]], "float64"), ([["5", "7", "11"]], "'5'"), ([[2**70, 7, 11]], str(2**70)),
                           ([[2**63, 7, 11]], "7 to 9223372036854775808|float64"), ([[None, 7, 11]], "None"), ([[5, 7], [1]], "lists that are no array")):  # fmt: skip
            self.refuses(shardrt.InvalidArgument, expects + f"({found})", self.run_ids, ids)

    def test_ids_that_the_model_has_not(self):
        """By the input's name, before anything runs; negative ones are rows from the end, as ONNX's Gather has them."""
        mask, why = np.ones((1, 3), np.int64), f"^input 'input_ids': there is no row %d in a table of {WORDS}: expected 0 to {WORDS - 1}, "
        last = self.run_ids(np.array([[5, WORDS - 1, 11]]))
        np.testing.assert_array_equal(self.run_ids(np.array([[5, -1, 11]])), last)
        np.testing.assert_array_equal(self.run_ids([[5, WORDS - 1, -WORDS + 11]]), last)
        for token in (WORDS, -WORDS - 1, 2**40):
            ids = np.array([[5, token, 11]])
            bound = self.whole.bind({"input_ids": ids}, {})
            for call in (lambda ids=ids: self.run_ids(ids), lambda ids=ids: self.run_ids(ids.tolist()),
                         lambda ids=ids: asyncio.run(self.whole.run_async({"input_ids": ids, "attention_mask": mask})),
                         lambda ids=ids: self.whole.run_batch([{"input_ids": ids, "attention_mask": mask}]),
                         lambda bound=bound: bound.run({"attention_mask": mask})):  # fmt: skip
                error = self.refuses(shardrt.InvalidArgument, why % token, call)
                self.assertIsNone(error.rank)

    def test_ids_of_rows(self):
        pool = self.opened(self.session().pool, 64)
        sequence = pool.sequence()
        given = {"input_ids": np.array([[5, WORDS, 11]]), "attention_mask": np.ones((1, 3), np.int64), "position_ids": np.arange(3)[None]}
        given = {name: given[name] for name in (info.name for info in self.session().inputs) if name in given}
        self.refuses(shardrt.InvalidArgument, f"^input 'input_ids': there is no row {WORDS} in a table of {WORDS}", pool.step,
                     [shardrt.Row(sequence, given)])  # fmt: skip
        self.assertEqual(len(sequence), 0)

    def test_types(self):
        """Nothing is converted; how to is said."""
        expects = r"^input 'input_ids': expected int64 \[batch, sequence\], found "
        for found, why in ((np.array([PROMPT], np.int32), r"int32 \[1, 3\]: convert it by \.astype\(np\.int64\)$"),
                           (np.array([PROMPT], np.float32), r"float32 \[1, 3\]: convert it by \.astype\(np\.int64\)$"),
                           (np.int16(5), r"int16 \[\]: convert it by"),
                           (DLPack(np.array([PROMPT], np.int32)), r"int32 \[1, 3\]: convert it to int64$")):  # fmt: skip
            self.refuses(shardrt.InvalidArgument, expects + why, self.run_ids, found)
        pool = self.opened(self.session().pool, 64)
        row = shardrt.Row(pool.sequence(), {"input_ids": np.array([PROMPT], np.int32)})
        self.refuses(shardrt.InvalidArgument, r"'input_ids': expected int64 .*: convert it by \.astype\(np\.int64\)$", pool.step, [row])

    def test_what_a_run_has(self):
        given = {"input_ids": [PROMPT], "attention_mask": [[1] * 3]}
        for why, options in (("state is 5, expected a State or None", {"state": 5}), ("deadline is '1', expected a number", {"deadline": "1"}),
                             ("cancellation is 5, expected a Cancellation", {"cancellation": 5})):  # fmt: skip
            self.refuses(TypeError, why, self.whole.run, given, **options)
        for seconds in (-1, math.nan, math.inf, 1e300):
            self.refuses(shardrt.InvalidArgument, "deadline is .*, expected (a finite|0 to 1000000000 seconds)", self.whole.run, given, deadline=seconds)
            self.refuses(shardrt.InvalidArgument, "deadline is", self.whole.run_batch, [given], deadline=seconds)
        self.refuses(TypeError, r"inputs are \[1\], expected arrays by name: {'input_ids': ...}", self.whole.run, [1])
        self.refuses(TypeError, "an input has the name 5, expected a text", self.whole.run, {5: [PROMPT]})
        for call in (lambda: self.whole.run(given, out={"nope": np.zeros(3)}), lambda: self.whole.bind({}, {"nope": np.zeros(3)})):
            self.refuses(shardrt.InvalidArgument, "there is no output 'nope': the model's outputs are 'logits'", call)
        self.refuses(shardrt.InvalidArgument, "there is no input 'nope': the model's inputs are 'input_ids', 'attention_mask'",
                     self.whole.bind, {"nope": np.zeros(3)}, {})  # fmt: skip
        self.refuses(TypeError, "outputs is 5, expected a Mapping", self.whole.bind, {}, 5)
        self.refuses(TypeError, "capacity is 1.5, expected a whole number", self.whole.state, 1.5)

    def test_an_artifact_for_rows_has_no_requests(self):
        served, ids = self.session(), np.array([PROMPT])
        given = {"input_ids": ids, "attention_mask": ids * 0 + 1}
        for call in (lambda: served.run(given), lambda: served.run_batch([given]), lambda: served.state(8), lambda: served.bind(given, {}),
                     lambda: shardrt.run_texts(served, [PROMPT])):  # fmt: skip
            self.refuses(shardrt.InvalidArgument, "was compiled with --serve, for steps of rows: use Session.pool, shardrt.Generator", call)
        self.assertIn("steps of rows, pages of 64 positions\n  in   input_ids", repr(served))
        self.assertNotIn("rows.", repr(served))
        self.assertNotIn("past_key", repr(served))


class Opening(Kept):
    def test_sessions(self):
        for why, options in (("device is 5, expected a str", {"device": 5}), ("processes is 5, expected a Processes", {"processes": 5}),
                             ("threads is 1.5", {"threads": 1.5}), ("progress is 5, expected a function", {"progress": 5}),
                             ("check_replicas is 'x', expected True or False", {"check_replicas": "x"}), ("measure is 2", {"measure": 2}), ("timeout is 'a', expected a number", {"timeout": "a"}),
                             ("weights_root is 5, expected a path", {"weights_root": 5}), ("cache_positions is '5'", {"cache_positions": "5"})):  # fmt: skip
            self.refuses(TypeError, why, shardrt.Session, ARTIFACT, **options)
        for why, options in (("threads is 1099511627776, expected 0 to 4096", {"threads": 2**40}), ("threads is -1", {"threads": -1}),
                             ("timeout is nan", {"timeout": math.nan}), ("timeout is 0, expected more than 0", {"timeout": 0})):  # fmt: skip
            self.refuses(shardrt.InvalidArgument, why, shardrt.Session, ARTIFACT, **options)
        self.refuses(shardrt.InvalidArgument, "artifact is .*, which is no path", shardrt.Session, f"{ARTIFACT}\0b")
        self.refuses(shardrt.InvalidArgument, "artifact is '', which is no path", shardrt.Session, "")
        self.refuses(TypeError, "artifact is 5, expected a path", shardrt.Session, 5)

    def test_generators(self):
        self.refuses(TypeError, "tokenizer is 5, expected a path", shardrt.Generator, ARTIFACT, 5)
        self.refuses(TypeError, "tokenizer is 5, expected a path", shardrt.Tokenizer.from_file, 5)
        self.refuses(TypeError, "batch is 'x'", shardrt.Generator, ARTIFACT, batch="x")

    def test_processes(self):
        self.refuses(shardrt.InvalidArgument, "rank is 5, expected 0 to 1", shardrt.join, rendezvous="127.0.0.1:1", rank=5, num_ranks=2)
        self.refuses(shardrt.InvalidArgument, "num_ranks is 0", shardrt.join, rendezvous="127.0.0.1:1", num_ranks=0)
        self.refuses(shardrt.InvalidArgument, "timeout is -1, expected more than 0", shardrt.join, timeout=-1)
        self.refuses(TypeError, "rendezvous is 5", shardrt.join, rendezvous=5)

    def test_pools(self):
        session = self.session()
        for positions in ("a", 1.5, True):
            self.refuses(TypeError, f"positions is {positions!r}, expected a whole number", session.pool, positions)
        self.refuses(shardrt.InvalidArgument, "positions is 0, expected 1 or more", session.pool, 0)
        self.refuses(shardrt.InvalidArgument, "replica is 3, expected 0 to 0", session.pool, 64, 3)
        pool = self.opened(session.pool, 64)
        self.refuses(TypeError, "length is 'x', expected a whole number", pool.sequence().truncate, "x")
        self.refuses(TypeError, "a row is 5, expected a Row", pool.step, [5])


class Texts(Kept):
    def test_options(self):
        generator = self.generator()
        for why, options in (("max_tokens is 2.5", {"max_tokens": 2.5}), ("n is '2'", {"n": "2"}), ("beams is True", {"beams": True}),
                             ("top_k is 1.0", {"top_k": 1.0}), ("seed is 'a'", {"seed": "a"}), ("top_logprobs is 'x'", {"top_logprobs": "x"}),
                             ("temperature is '0.8', expected a number", {"temperature": "0.8"}), ("length_penalty is 'x'", {"length_penalty": "x"}),
                             ("stop_ids is .'a'.", {"stop_ids": ["a"]}), ("stop is 5, expected a string", {"stop": 5}),
                             ("logit_bias is None, expected numbers by id", {"logit_bias": None}), ("a token of logit_bias is 'a'", {"logit_bias": {"a": 1}}),
                             ("the bias of token 5 is 'a'", {"logit_bias": {5: "a"}}), ("cancellation is 5", {"cancellation": 5}),
                             ("there is no option 'max_new_tokens': did you mean 'max_tokens'?", {"max_new_tokens": 2}),
                             ("there is no option 'zzz', but temperature, ", {"zzz": 2}),
                             ("inputs is 5, expected a Sequence", {"inputs": 5})):  # fmt: skip
            self.refuses(TypeError, why, generator.generate, [PROMPT], **options)
        self.refuses(TypeError, "there is no option 'max_new_tokens'", generator.stream, [PROMPT], max_new_tokens=2)
        for why, options in (("n is 1000000000, expected 1 to 1024", {"n": 10**9}), ("beams is 2000, expected 1 to 1024", {"beams": 2000}),
                             ("max_tokens is 0, expected 1 to 2147483647", {"max_tokens": 0}), ("max_tokens is 10", {"max_tokens": 10**12}), ("no token -1", {"stop_ids": [-1]}),
                             (f"stop_ids has token {WORDS}, expected 0 to {WORDS - 1}", {"stop_ids": [5, WORDS]}),
                             ("top_p is nan", {"top_p": math.nan}), ("temperature is inf", {"temperature": math.inf})):  # fmt: skip
            self.refuses(shardrt.InvalidArgument, why, generator.generate, [PROMPT], **options)
        first = generator.generate([PROMPT], max_tokens=1)[0].ids[0]
        self.assertNotEqual(generator.generate([PROMPT], max_tokens=1, logit_bias={first: -math.inf})[0].ids, [first])
        self.refuses(shardrt.InvalidArgument, "the bias of token 5 is inf", generator.generate, [PROMPT], logit_bias={5: math.inf})
        found = generator.generate([np.array(PROMPT)], max_tokens=np.int64(2), temperature=np.float32(0), logit_bias={np.int64(3): 0}, seed=-1)
        self.assertEqual(found[0].ids, generator.generate([PROMPT], max_tokens=2)[0].ids)

    def test_prompts(self):
        generator = self.generator()
        for prompt, kind, why in NO_IDS:
            if not isinstance(prompt, (str, int)):
                self.refuses(kind, why, generator.generate, [prompt], max_tokens=1)
        self.refuses(ValueError, "in a list as well", generator.generate, np.array(PROMPT))
        for prompts in (5, None, b"ab"):
            self.refuses(TypeError, f"prompts are {prompts!r}, expected a text, or a list", generator.generate, prompts)
        whole = self.opened(shardrt.Generator, WHOLE)
        self.refuses(ValueError, "no token -1", whole.generate, [[-1]], max_tokens=1)

    def test_servers(self):
        server = self.opened(shardrt.Server, ARTIFACT, positions=256)
        for prompt, kind, why in NO_IDS:
            self.refuses(kind, why, server.submit, prompt)
        self.refuses(TypeError, "max_tokens is 2.5", server.submit, PROMPT, max_tokens=2.5)
        self.refuses(TypeError, "choose is 5, expected a function", server.submit, PROMPT, choose=5)
        self.refuses(shardrt.InvalidArgument, "deadline is -1", server.submit, PROMPT, deadline=-1)
        self.refuses(shardrt.InvalidArgument, "positions is 0, expected 1 or more", shardrt.Server, ARTIFACT, positions=0)
        self.refuses(TypeError, "most_waiting is 'a'", shardrt.Server, ARTIFACT, most_waiting="a")
        self.assertEqual(len(server.submit(np.array(PROMPT, np.int32), max_tokens=2).result(60)), 2)

    def test_what_functions_choose(self):
        server = self.opened(shardrt.Server, ARTIFACT, positions=256)
        for found, kind, why in (("a", TypeError, "choose returned 'a', expected an id, a Token, or None"), (1.5, TypeError, "returned 1.5"),
                                 (True, TypeError, "returned True"), (-5, shardrt.InvalidArgument, "that choose returned is -5, expected 0 to 1023"),
                                 (WORDS, shardrt.InvalidArgument, "is 1024, expected 0 to 1023"),
                                 (shardrt.Token(-1), shardrt.InvalidArgument, "is -1"), (shardrt.Token("a"), TypeError, "is 'a'")):  # fmt: skip
            text = server.submit(PROMPT, max_tokens=3, choose=lambda logits, ids, found=found: found)
            self.refuses(kind, why, text.result, 60)
            self.assertEqual(text.tokens, [])
        self.assertEqual(server.submit(PROMPT, max_tokens=2, choose=lambda logits, ids: np.int64(3)).result(60), [3, 3])


if __name__ == "__main__":
    unittest.main()
