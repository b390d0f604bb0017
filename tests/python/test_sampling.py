"""shardrt.sampling against formulas of its own: the generator's published numbers, probabilities, what filters leave."""

import collections
import math
import unittest

import ml_dtypes
import numpy as np

from tests.python import support  # noqa: F401  before what follows

from shardrt._philox import philox, uniforms  # isort: skip
from shardrt.sampling import Sampling, likeliest, log_probabilities  # isort: skip


def softmax(values):
    powers = [math.exp(value) for value in values]
    return [power / sum(powers) for power in powers]


class Philox(unittest.TestCase):
    def test_published_numbers(self):
        """kat_vectors of Random123."""
        ones, pi = 0xFFFFFFFF, [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344]
        for counter, key, expected in (
            ([0] * 4, 0, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
            ([ones] * 4, ones << 32 | ones, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
            (pi, 0x299F31D0 << 32 | 0xA4093822, [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]),
        ):
            found = philox(np.array(counter, np.uint64)[:, None], key)
            self.assertEqual([int(word) for word in found[:, 0]], expected)

    def test_numbers_are_of_their_place(self):
        ids = np.arange(1000)
        every = uniforms(5, 3, 0, ids)
        np.testing.assert_array_equal(uniforms(5, 3, 0, ids[[7, 8, 9, 501]]), every[[7, 8, 9, 501]])
        self.assertTrue((every > 0).all() and (every < 1).all() and len(set(every)) == 1000)
        for other in (uniforms(6, 3, 0, ids), uniforms(5, 4, 0, ids), uniforms(5, 3, 1, ids), uniforms(5 + (1 << 32), 3, 0, ids),
                      uniforms(5, 3 + (1 << 32), 0, ids)):  # fmt: skip
            self.assertFalse((other == every).any())
        many = np.concatenate([uniforms(1, position, 0, ids) for position in range(100)])
        self.assertAlmostEqual(many.mean(), 0.5, delta=0.005)
        self.assertAlmostEqual(many.var(), 1 / 12, delta=0.002)


class Penalties(unittest.TestCase):
    def test_tokens_without_logits(self):
        """Of a model that takes more tokens than it gives."""
        logits = np.random.default_rng(3).normal(0, 2, 40)
        options = {"repetition_penalty": 1.3, "presence_penalty": 0.5, "frequency_penalty": 0.25}
        found = Sampling(**options).adjusted(logits, [3, 47, 3, 5, 45], 1)
        np.testing.assert_array_equal(found, Sampling(**options).adjusted(logits, [3, 3, 5], 1))


class Candidates(unittest.TestCase):
    def setUp(self):
        self.logits = np.random.default_rng(4).normal(0, 2, 5000)
        self.probabilities = softmax(self.logits)
        self.order = sorted(range(5000), key=lambda token: -self.logits[token])

    def kept(self, **options):
        return set(Sampling(temperature=1, **options).candidates(self.logits).tolist())

    def test_top_k(self):
        self.assertEqual(self.kept(top_k=40), set(self.order[:40]))
        self.assertEqual(self.kept(top_k=0), set(range(5000)))
        self.assertEqual(self.kept(top_k=9999), set(range(5000)))

    def test_top_p(self):
        for share in (0.001, 0.3, 0.9, 0.999):
            expected, total = set(), 0.0
            for token in self.order:
                if total >= share:
                    break
                expected.add(token)
                total += self.probabilities[token]
            self.assertEqual(self.kept(top_p=share), expected)

    def test_top_p_of_what_top_k_leaves(self):
        kept = self.order[:5]
        within = softmax(self.logits[kept])
        count = next(i for i in range(1, 6) if sum(within[:i]) >= 0.7)
        self.assertLess(count, 5)
        self.assertEqual(self.kept(top_k=5, top_p=0.7), set(kept[:count]))

    def test_min_p(self):
        least = 0.2 * max(self.probabilities)
        self.assertEqual(self.kept(min_p=0.2), {token for token, p in enumerate(self.probabilities) if p >= least})
        self.assertEqual(self.kept(min_p=1), {self.order[0]})

    def test_impossible_tokens_stay_out(self):
        self.logits[self.order[:3]] = -np.inf
        self.assertEqual(self.kept(top_k=2), set(self.order[3:5]))
        self.assertEqual(len(self.kept()), 4997)


class Adjusted(unittest.TestCase):
    def test_penalties(self):
        logits, history = [2.0, -2.0, 1.0, 0.5], [0, 1, 1, 3, 3]
        found = Sampling(repetition_penalty=2, logit_bias={2: -5, 0: 2}).adjusted(np.array(logits), history)
        self.assertEqual(found.tolist(), [2.0, -4.0, -4.0, 0.25])
        found = Sampling(presence_penalty=0.5, frequency_penalty=0.25).adjusted(np.array(logits), history, prompt=2)
        self.assertEqual(found.tolist(), [2.0, -2.75, 1.0, -0.5])
        self.assertEqual(Sampling(presence_penalty=1).adjusted(np.array(logits), history, prompt=5).tolist(), logits)


class Choose(unittest.TestCase):
    LOGITS = np.array([1.0, 3.0, -1.0, 2.5, 0.0])

    def test_greedy(self):
        token, logprob = Sampling().choose(self.LOGITS, [], 0)
        self.assertEqual(token, 1)
        self.assertAlmostEqual(logprob, math.log(softmax(self.LOGITS)[1]), places=12)
        self.assertEqual(Sampling().choose([0.0, 7.0, 7.0], [], 0)[0], 1, "of equal ones the first")
        token, logprob = Sampling(logit_bias={1: -100}).choose(self.LOGITS, [], 0)
        self.assertEqual(token, 3)
        self.assertAlmostEqual(logprob, math.log(softmax(self.LOGITS)[3]), places=12, msg="the model's own")

    def test_types_and_sizes(self):
        for dtype in (np.float16, np.float32, ml_dtypes.bfloat16):
            logits = np.linspace(-50000, 50000, 7).astype(dtype)
            self.assertEqual(Sampling().choose(logits, [], 0), (6, 0.0))
            self.assertEqual(Sampling(temperature=1e-300, seed=3).choose(logits, [], 0)[0], 6)
        masked = np.array([-np.inf, 0, 0], np.float32)
        self.assertAlmostEqual(Sampling().choose(masked, [], 0)[1], math.log(0.5))

    def test_draws_by_probability(self):
        for options in ({}, {"top_k": 3}, {"top_p": 0.8}, {"temperature": 2.0}, {"stream": 5, "seed": 1 << 40}):
            sampling = Sampling(**{"temperature": 1.0, "seed": 11} | options)
            draws = [sampling.choose(self.LOGITS, [], position)[0] for position in range(8000)]
            scaled = self.LOGITS / sampling.temperature
            kept = sampling.candidates(scaled)
            expected = dict(zip(kept.tolist(), softmax(scaled[kept]), strict=True))
            counts = collections.Counter(draws)
            self.assertLessEqual(set(counts), set(expected))
            chi = sum((counts[token] - 8000 * p) ** 2 / (8000 * p) for token, p in expected.items())
            self.assertLess(chi, 20, options)  # of 4 degrees or fewer: 0.0005

    def test_a_seed_says_it_all(self):
        texts = [[Sampling(temperature=1, **options).choose(self.LOGITS, [], position)[0] for position in range(50)]
                 for options in ({"seed": 1}, {"seed": 1}, {"seed": 2}, {"seed": 1, "stream": 1}, {"seed": 1 + 2**64})]  # fmt: skip
        self.assertEqual(texts[0], texts[1])
        self.assertEqual(texts[0], texts[4])
        self.assertNotEqual(texts[0], texts[2])
        self.assertNotEqual(texts[0], texts[3])

    def test_rounding_changes_next_to_no_draw(self):
        rng = np.random.default_rng(9)
        sampling, differ = Sampling(temperature=0.9, top_p=0.99, seed=5), 0
        for position in range(500):
            logits = rng.normal(0, 3, 1000)
            other = logits + rng.normal(0, 1e-6, 1000)
            differ += sampling.choose(logits, [], position)[0] != sampling.choose(other, [], position)[0]
        self.assertEqual(differ, 0)

    def test_mistakes(self):
        for options, said in (({"temperature": -1}, "temperature is -1, expected 0 or more"),
                              ({"temperature": math.nan}, "temperature is nan"), ({"top_p": 0}, "top_p is 0, expected more than 0"),
                              ({"top_k": -1}, "top_k"), ({"min_p": 2}, "min_p"), ({"repetition_penalty": 0}, "repetition"),
                              ({"frequency_penalty": math.inf}, "frequency_penalty is inf")):  # fmt: skip
            with self.assertRaisesRegex(ValueError, said):
                Sampling(**options)
        with self.assertRaisesRegex(ValueError, "logit_bias is for token 5, expected 0 to 4"):
            Sampling(logit_bias={5: 1}).choose(self.LOGITS, [], 0)
        for broken in (math.nan, math.inf):
            with self.assertRaisesRegex(ValueError, "expected a finite number"):
                Sampling().choose([0.0, broken], [], 0)


class Logprobs(unittest.TestCase):
    def test_likeliest(self):
        logprobs = log_probabilities(np.array([1.0, 3.0, 3.0, 0.0], np.float32))
        np.testing.assert_allclose(np.exp(logprobs), softmax([1, 3, 3, 0]), rtol=1e-12)
        self.assertEqual([token for token, _ in likeliest(logprobs, 3)], [1, 2, 0])
        self.assertEqual(likeliest(logprobs, 2)[1], (2, logprobs[2]))
        self.assertEqual(len(likeliest(logprobs, 9)), 4)
        self.assertEqual(likeliest(logprobs, 0), [])


if __name__ == "__main__":
    unittest.main()
