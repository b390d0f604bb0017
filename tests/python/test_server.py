"""shardrt.Server against a plain loop over ONNX Runtime: texts at once, functions that choose, what ends and refuses them."""

import asyncio
import threading
import time
import unittest

import numpy as np

from tests.e2e import test_encoder_rows
from tests.python.served_texts import ServedTexts

import shardrt  # isort: skip

PROMPTS = [[5, 7, 11], [3], list(range(2, 30)), [9, 9, 9, 9, 9]]


class Texts(ServedTexts):
    def open(self, **options):
        server = shardrt.Server(self.artifact, **{"positions": 400, **options})
        self.addCleanup(server.close)
        return server

    def test_texts_at_once_are_those_of_each_alone(self):
        server = self.open(step_tokens=24)
        texts = [server.submit(prompt, max_tokens=9) for prompt in PROMPTS * 4]
        for text in texts:
            self.assertEqual(text.result(timeout=60), self.reference.greedy(text.prompt, 9))
            self.assertTrue(text.is_done)
        counts = server.counts()
        self.assertEqual((counts.made, counts.waiting, counts.recovered), (9 * len(texts), 0, 0))
        self.assertEqual(counts.pages, 100)
        self.assertIn("of 100 pages free", repr(server))

    def test_sampling_is_that_of_the_generator(self):
        server = self.open()
        for seed in (1, 2):
            sampling = shardrt.Sampling(temperature=1.2, top_p=0.9, frequency_penalty=0.1, seed=seed)
            choose = shardrt.Chooser(sampling, prompt=3, logprobs=True, top_logprobs=2)
            text = server.submit([5, 7, 11], max_tokens=8, choose=choose)
            ids = [5, 7, 11]
            for token in (text.result(60), text.tokens)[1]:
                logprobs = self.reference.logprobs(ids)
                self.assertAlmostEqual(token.logprob, logprobs[token.id], places=4)
                self.assertEqual([each for each, _ in token.top_logprobs], list(np.argsort(-logprobs)[:2]))
                self.assertEqual(token.id, sampling.choose(logprobs, ids, len(ids), 3)[0])
                ids.append(token.id)

    def test_a_function_chooses_and_ends(self):
        server = self.open()
        seen = []

        def second(logits, ids):
            seen.append((logits.shape, list(ids)))
            return None if len(ids) == 6 else int(np.argsort(logits)[-2])

        made = server.submit([5, 7, 11], max_tokens=50, choose=second).result(60)
        self.assertEqual(len(made), 3)
        self.assertEqual(seen[0], ((40,), [5, 7, 11]))
        self.assertEqual(made[0], int(np.argsort(self.reference.logprobs([5, 7, 11]))[-2]))
        greedy = self.reference.greedy([5, 7, 11], 9)
        ended = server.submit([5, 7, 11], max_tokens=9, choose=shardrt.Chooser(ends={greedy[4]})).result(60)
        self.assertEqual(ended, greedy[: greedy.index(greedy[4]) + 1])

    def test_what_a_function_raises_ends_its_text_alone(self):
        server = self.open()

        def bad(logits, ids):
            raise KeyError("mine")

        other, text = server.submit([3], max_tokens=20), server.submit([5], choose=bad)
        with self.assertRaisesRegex(KeyError, "mine"):
            text.result(60)
        self.assertEqual(other.result(60), self.reference.greedy([3], 20))

    def test_streams_on_a_loop(self):
        server = self.open()

        async def tokens(prompt):
            return [token.id async for token in server.stream(prompt, max_tokens=7)]

        async def all_of():
            return await asyncio.gather(*map(tokens, PROMPTS))

        self.assertEqual(asyncio.run(all_of()), [self.reference.greedy(prompt, 7) for prompt in PROMPTS])
        self.assertEqual(asyncio.run(server.generate([3], max_tokens=4)), self.reference.greedy([3], 4))

    def test_who_stops_listening_ends_the_text(self):
        server = self.open()

        async def first():
            async for token in server.stream([5], max_tokens=390):
                return token.id

        async def cancelled():
            begun = asyncio.Event()

            async def read():
                async for _ in server.stream([5], max_tokens=390):
                    begun.set()

            task = asyncio.create_task(read())
            await begun.wait()
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task

        self.assertEqual(asyncio.run(first()), self.reference.greedy([5], 1)[0])
        asyncio.run(cancelled())
        self.settle(server)
        self.assertLess(server.counts().made, 500)

    def settle(self, server):
        deadline = time.monotonic() + 20
        while server.counts().running:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)

    def test_cancel_and_deadline(self):
        server = self.open()
        slow = lambda logits, ids: time.sleep(0.01) or int(logits.argmax())
        text = server.submit([5], max_tokens=300, choose=slow)
        while len(text.tokens) < 3:
            time.sleep(0.005)
        text.cancel()
        self.assertEqual(text.result(60), self.reference.greedy([5], len(text.tokens)))
        late = server.submit([5], max_tokens=300, choose=slow, deadline=0.1)
        with self.assertRaises(shardrt.DeadlineExceeded):
            late.result(60)
        with self.assertRaises(TimeoutError):
            server.submit([5], max_tokens=300, choose=slow).result(0.01)

    def test_a_full_queue(self):
        server = self.open(most_waiting=2, step_rows=1)
        gate = threading.Event()
        held = server.submit([5], max_tokens=3, choose=lambda logits, ids: gate.wait(20) and int(logits.argmax()))
        others = [server.submit([3], max_tokens=2)]
        with self.assertRaisesRegex(shardrt.Busy, "2 texts wait already"):
            server.submit([3])
        gate.set()
        self.assertEqual(held.result(60), self.reference.greedy([5], 3))
        self.assertEqual(others[0].result(60), self.reference.greedy([3], 2))
        self.assertEqual(server.submit([3], max_tokens=2).result(60), self.reference.greedy([3], 2))

    def test_mistakes(self):
        server = self.open()
        for prompt, options, why in (([], {}, "a text of 0 tokens"), ([1], {"max_tokens": 0}, "expected at least 1"),
                                     ([1], {"max_tokens": 400}, "does not fit a pool of 400"),
                                     (np.array([[1]]), {}, "2 dimensions")):  # fmt: skip
            with self.assertRaisesRegex(shardrt.InvalidArgument, why):
                server.submit(prompt, **options)
        with self.assertRaisesRegex(shardrt.Error, "no output 'none'"):
            self.open(logits="none")
        with self.assertRaisesRegex(shardrt.InvalidArgument, "no token 1000: expected 0 to 39"):
            server.submit([1000])
        server._words = None  # as where it is not known how many there are: the step finds it
        with self.assertRaisesRegex(shardrt.InvalidArgument, "there is no row 1000"):
            server.submit([1000]).result(60)
        self.assertEqual(server.submit([3], max_tokens=2).result(60), self.reference.greedy([3], 2))
        server.close()
        self.assertEqual(repr(server), "<shardrt.Server, closed>")
        with self.assertRaisesRegex(ValueError, "closed"):
            server.submit([1])

    def test_closing_ends_texts(self):
        server = self.open()
        text = server.submit([5], max_tokens=390, choose=lambda logits, ids: time.sleep(0.01) or 5)
        server.close()
        with self.assertRaisesRegex(shardrt.ArtifactError, "the server has ended"):
            text.result(60)

    def test_functions_of_texts_cannot_close(self):
        """The server's own thread would wait for itself."""
        server = self.open()
        for options in ({"choose": lambda logits, ids: server.close()}, {"listener": lambda text, token: server.close()}):
            with self.assertRaisesRegex(RuntimeError, "close the server on another thread"):
                server.submit([5], max_tokens=9, **options).result(60)
        self.assertEqual(server.submit([3], max_tokens=2).result(60), self.reference.greedy([3], 2))
        server.close()


class Encoders(unittest.TestCase):
    def test_texts_with_what_their_encoders_gave(self):
        case = test_encoder_rows.EncoderRows("compiled")
        case.setUp()
        self.addCleanup(case.doCleanups)
        case.compiled("merged", "--tp", 2)
        prompts = [case.texts[0].ids[0, :count].tolist() for count in (4, 9, 1)]
        with shardrt.Server(case.artifact, positions=400) as server:
            given = [{"encoder_hidden_states": text.states, "encoder_attention_mask": text.shown.astype(np.int64)} for text in case.texts]
            texts = [server.submit(prompt, max_tokens=5, inputs=each) for prompt, each in zip(prompts, given)]
            for text, own in zip(texts, case.texts, strict=True):
                self.assertEqual(text.result(60), case.greedy(own, text.prompt, 5))
            with self.assertRaisesRegex(shardrt.InvalidArgument, "input 'encoder_attention_mask' of a text is missing"):
                server.submit([1, 2])
            made = server.counts().made
            server._wake()  # of a text that is none, with the least that an encoder could have given
            deadline = time.monotonic() + 20
            while server.counts().made == made and time.monotonic() < deadline:
                time.sleep(0.01)
            self.assertEqual(server.counts().made, made + 1)
            with self.assertRaisesRegex(shardrt.InvalidArgument, "other dims"):
                server.submit([1, 2], inputs=given[0] | {"encoder_hidden_states": case.texts[0].states[0]})


if __name__ == "__main__":
    unittest.main()
