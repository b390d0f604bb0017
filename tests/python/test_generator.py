"""shardrt.Generator against a plain loop over ONNX Runtime, and what ends, splits and refuses texts."""

import asyncio
import gc
import itertools
import json
import threading
import unittest

import numpy as np
import onnx

from tests.e2e.caches import VOCABULARY, decoder
from tests.python.served_decoder import PROMPT, Served
from tests.python.small_tokenizers import letters, words
from tests.support import model_file

import shardrt  # isort: skip


class Texts(Served):
    def test_greedy(self):
        generator = self.open()
        text = generator.generate("hello", max_tokens=9)
        ids = letters(VOCABULARY).encode("hello").ids
        self.assertEqual(text.ids, self.reference.greedy(ids, 9))
        self.assertEqual(text.text, letters(VOCABULARY).decode(text.ids))
        self.assertEqual((text.finish_reason, text.prompt_ids), ("length", ids))
        for i, logprob in enumerate(text.logprobs):
            self.assertAlmostEqual(logprob, self.reference.logprobs([*ids, *text.ids[:i]])[text.ids[i]], places=4)

    def test_prompts_share_a_batch(self):
        generator = self.open(step_tokens=6)
        prompts = [PROMPT, "a much longer prompt than the others", [4], "b"]
        ids = [each if isinstance(each, list) else letters(VOCABULARY).encode(each).ids for each in prompts]
        texts = generator.generate(prompts, max_tokens=7)
        self.assertEqual([text.ids for text in texts], [self.reference.greedy(each, 7) for each in ids])
        self.assertEqual([(text.prompt, text.index) for text in texts], [(i, 0) for i in range(4)])
        self.assertEqual(generator.generate([]), [])

    def test_replicas_share_the_texts(self):
        """Each text is what it is of one, drawn or not, in streams, beams and little room; all replicas have run."""
        artifact = self.folder / "replicas.shard"
        onnx.save(decoder(), self.folder / "model.onnx")
        self.run_ok("shardc", self.folder / "model.onnx", "--dp", 2, "--tp", 2, "--serve=4", "-o", artifact)
        prompts = [[i, i + 1, i + 2] for i in range(2, 12)]
        for options in ({"max_tokens": 6}, {"max_tokens": 5, "temperature": 1, "seed": 3, "n": 2}, {"max_tokens": 4, "beams": 3}):
            expected = self.open().generate(prompts, **options)
            for more in ({}, {"positions": 48}, {"batch": 3}):
                with self.subTest(**options, **more), shardrt.Generator(artifact, self.folder, **more) as generator:
                    self.assertEqual([text.ids for text in generator.generate(prompts, **options)], [text.ids for text in expected])
                    self.assertEqual(sorted(generator._idle), [0, 1])
        with shardrt.Generator(artifact, self.folder) as generator:
            pieces = list(generator.stream(prompts, max_tokens=6))
            for number, text in enumerate(self.open().generate(prompts, max_tokens=6)):
                self.assertEqual([piece.id for piece in pieces if piece.prompt == number], text.ids)
            busy = {entry.name: entry for entry in generator.session.spent() if entry.kind == "busy"}["0"]
            self.assertEqual((busy.adders, busy.count % 2), (4, 0))
            stream = generator.stream(prompts, max_tokens=60, ignore_eos=True)
            next(stream)
            stream.close()
            self.assertEqual({pool.free_pages == pool.pages for pool in generator._idle.values()}, {True})
            cancellation = shardrt.Cancellation()
            cancellation.cancel()
            with self.assertRaises(shardrt.Cancelled):
                generator.generate(prompts, max_tokens=6, cancellation=cancellation)
            self.assertEqual(generator.generate("hello", max_tokens=4).ids, self.open().generate("hello", max_tokens=4).ids)

    def test_little_room(self):
        """Prompts wait for others to end; pages come back."""
        generator = self.open(positions=24)
        prompts = [[i, i + 1, i + 2] for i in range(2, 12)]
        options = {"max_tokens": 6, "temperature": 1, "seed": 3}
        expected = [text.ids for text in self.open().generate(prompts, **options)]
        self.assertEqual([text.ids for text in generator.generate(prompts, **options)], expected)
        with self.assertRaisesRegex(ValueError, "may take 26 pages of 4 positions, and there are 6: give the generator"):
            generator.generate([PROMPT], max_tokens=100)
        stream = generator.stream([PROMPT], max_tokens=12)
        next(stream)
        del stream
        gc.collect()
        self.assertEqual(generator.generate([PROMPT], max_tokens=4)[0].ids, self.reference.greedy(PROMPT, 4))
        self.assertEqual(generator._idle[0].free_pages, 6)

    def test_few_at_a_time(self):
        generator = self.open(batch=3)
        pieces = list(generator.stream([[i] for i in range(2, 9)], max_tokens=4))
        self.assertEqual([piece.prompt for piece in pieces], [0, 1, 2] * 4 + [3, 4, 5] * 4 + [6] * 4)
        self.assertEqual(generator._idle[0].pages, 8, "for three texts of two pages, and a power of two")
        texts = generator.generate([PROMPT, [9]], max_tokens=4, n=5, temperature=1)
        self.assertEqual([text.ids for text in texts],
                         [text.ids for text in self.open().generate([PROMPT, [9]], max_tokens=4, n=5, temperature=1)])  # fmt: skip

    def test_texts_that_share_pages_need_no_more(self):
        """In just as much room as is asked for."""
        for pages, options in ((10, {"beams": 4}), (7, {"n": 3, "temperature": 1}), (3, {"beams": 2, "max_tokens": 1})):
            options = {"max_tokens": 5} | options
            expected = self.open().generate([PROMPT, [8, 3, 9]], **options)
            found = self.open(positions=4 * pages).generate([PROMPT, [8, 3, 9]], **options)
            self.assertEqual([text.ids for text in found], [text.ids for text in expected])
            with self.assertRaisesRegex(ValueError, f"may take {pages} pages"):
                self.open(positions=4 * pages - 1).generate([PROMPT], **options)

    def test_samples(self):
        generator = self.open()
        options = {"max_tokens": 8, "temperature": 1.3, "seed": 5}
        texts = generator.generate([PROMPT, [9]], n=3, **options)
        self.assertEqual([(text.prompt, text.index) for text in texts], [(i, j) for i in range(2) for j in range(3)])
        self.assertEqual(len({tuple(text.ids) for text in texts}), 6)
        for i, prompt in enumerate((PROMPT, [9])):
            for j in range(3):
                ids, sampling = list(prompt), shardrt.Sampling(temperature=1.3, seed=5, stream=j)
                for _ in range(8):
                    ids.append(sampling.choose(self.reference.logprobs(ids), ids, len(ids))[0])
                self.assertEqual(texts[3 * i + j].ids, ids[len(prompt) :])
        self.assertEqual(generator.generate([[9]], **options)[0].ids, texts[3].ids, "whoever is beside")

    def test_penalties_see_the_text(self):
        greedy = self.reference.greedy(PROMPT, 1)[0]
        generator = self.open()
        banned = {greedy: -100.0}
        text = generator.generate([PROMPT], max_tokens=5, logit_bias=banned)[0]
        self.assertNotIn(greedy, text.ids)
        text = generator.generate([PROMPT], max_tokens=20, frequency_penalty=1000)[0]
        self.assertEqual(len(set(text.ids)), 20, "none twice")

    def test_top_logprobs(self):
        text = self.open().generate([PROMPT], max_tokens=3, top_logprobs=4)[0]
        for i, top in enumerate(text.top_logprobs):
            expected = self.reference.logprobs([*PROMPT, *text.ids[:i]])
            self.assertEqual([token for token, _ in top], np.argsort(-expected)[:4].tolist())
            np.testing.assert_allclose([logprob for _, logprob in top], np.sort(expected)[:-5:-1], atol=1e-4)

    def varied(self, generator):
        """A drawn text with different letters, and its options."""
        options = {"max_tokens": 12, "temperature": 2.0, "seed": 1}
        text = generator.generate([PROMPT], **options)[0]
        self.assertGreater(len(set(text.ids)), 8)
        self.assertNotIn(0, text.ids)
        self.assertNotIn(1, text.ids)
        return text, options

    def test_ends(self):
        generator = self.open()
        whole, options = self.varied(generator)
        last = whole.ids[4]
        cut = generator.generate([PROMPT], stop_ids=[last], **options)[0]
        place = whole.ids.index(last)
        self.assertEqual((cut.ids, cut.text, cut.finish_reason), (whole.ids[: place + 1], whole.text[:place], "stop"))
        stop = whole.text[3:6]
        place = whole.text.index(stop)
        for given in (stop, ["no such thing", stop]):
            cut = generator.generate([PROMPT], stop=given, **options)[0]
            self.assertEqual((cut.ids, cut.text, cut.finish_reason), (whole.ids[: place + 3], whole.text[:place], "stop"))
        unfinished = whole.text[-2:] + "~"
        self.assertEqual(generator.generate([PROMPT], stop=unfinished, **options)[0].text, whole.text, "what was held back")
        self.config.write_text(json.dumps({"eos_token": letters(VOCABULARY).id_to_token(last)}))
        generator = self.open()
        self.assertEqual(generator.eos_ids, (last,))
        self.assertEqual(generator.generate([PROMPT], **options)[0].ids, whole.ids[: whole.ids.index(last) + 1])
        self.assertEqual(generator.generate([PROMPT], ignore_eos=True, **options)[0].ids, whole.ids)

    def test_streams(self):
        generator = self.open()
        whole, options = self.varied(generator)
        pieces = list(generator.stream([PROMPT, PROMPT[:1]], **options))
        mine = [piece for piece in pieces if piece.prompt == 0]
        self.assertEqual("".join(piece.text for piece in mine), whole.text)
        self.assertEqual([piece.id for piece in mine], whole.ids)
        self.assertEqual([piece.logprob for piece in mine], whole.logprobs)
        self.assertEqual([piece.finish_reason for piece in mine], [""] * 11 + ["length"])
        self.assertEqual(len(pieces), 24)
        self.assertEqual([piece.prompt for piece in pieces[:4]], [0, 1, 0, 1], "as they come")
        one, two = generator.stream([PROMPT], **options), generator.stream([PROMPT], **options)
        self.assertEqual([piece.id for pair in zip(one, two) for piece in pair][::2], whole.ids, "one within another")

    def test_beams_find_the_best(self):
        """With as many beams as there are tokens nothing is lost: all texts of two tokens are compared."""
        generator = self.open()
        texts = generator.generate([PROMPT], max_tokens=2, beams=VOCABULARY, n=3)
        every = sorted(itertools.product(range(VOCABULARY), repeat=2), key=lambda text: -self.reference.sum_of(PROMPT, text))
        self.assertEqual([tuple(text.ids) for text in texts], every[:3])
        for text in texts:
            self.assertAlmostEqual(text.score, self.reference.sum_of(PROMPT, text.ids) / 2, places=4)
            self.assertAlmostEqual(sum(text.logprobs), 2 * text.score, places=4)
        self.assertEqual([text.index for text in texts], [0, 1, 2])

    def beams(self, prompt, count, width, ends, power):
        """The search as its description has it, over whole texts."""
        going, done = [()], []
        while going:
            every = [text + (token,) for text in going for token in range(VOCABULARY)]
            ways = sorted(((self.reference.sum_of(prompt, text), text) for text in every), key=lambda way: -way[0])[: 2 * width]
            ended = [way for way in ways[:width] if way[1][-1] in ends]
            ways = [way for way in ways if way[1][-1] not in ends][:width]
            at_end = len(ways[0][1]) == count
            done += [(total / len(text) ** power, text) for total, text in ended + (ways if at_end else [])]
            done = sorted(done, key=lambda way: -way[0])[:width]
            going = [] if at_end else [text for _, text in ways]
            if len(done) == width and ways[0][0] / len(ways[0][1]) ** power <= done[-1][0]:
                going = []
        return [text for _, text in done]

    def test_beams(self):
        generator = self.open()
        common = np.argsort(-self.reference.logprobs(PROMPT))[1:4].tolist()
        for width, ends, power in ((1, [], 1.0), (3, [], 1.0), (4, common, 1.0), (4, common, 0.0), (2, common[:1], 2.0)):
            prompts = [PROMPT, [9, 3]]
            found = generator.generate(prompts, max_tokens=5, beams=max(width, 2), n=width, stop_ids=ends, length_penalty=power)
            expected = [text for prompt in prompts for text in self.beams(prompt, 5, max(width, 2), ends, power)[:width]]
            self.assertEqual([tuple(text.ids) for text in found], expected, (width, ends, power))
        self.assertEqual(generator._idle[0].free_pages, generator._idle[0].pages)

    def test_threads_and_event_loops(self):
        generator = self.open()
        expected = [self.reference.greedy([i], 6) for i in range(2, 8)]
        found = [None] * 6

        def work(i):
            found[i] = generator.generate([[i + 2]], max_tokens=6)[0].ids

        threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, expected)

        async def all_of_them():
            return await asyncio.gather(*(generator.generate_async([[i]], max_tokens=6) for i in range(2, 8)))

        self.assertEqual([texts[0].ids for texts in asyncio.run(all_of_them())], expected)
        cancellation = shardrt.Cancellation()
        cancellation.cancel()
        self.assertEqual(repr(cancellation), "<shardrt.Cancellation, cancelled>")
        with self.assertRaises(shardrt.Cancelled):
            generator.generate([PROMPT], cancellation=cancellation)
        self.assertEqual(generator.generate([PROMPT], max_tokens=3)[0].ids, self.reference.greedy(PROMPT, 3))

    def test_streams_beside_an_event_loop(self):
        generator = self.open()
        whole, options = self.varied(generator)

        async def listen(count):
            found = []
            stream = generator.stream_async([PROMPT], **options)
            async for piece in stream:
                found.append(piece.id)
                if len(found) == count:
                    break
            await stream.aclose()
            return found

        async def several():
            return await asyncio.gather(listen(100), listen(5), listen(100))

        self.assertEqual(asyncio.run(several()), [whole.ids, whole.ids[:5], whole.ids])

        async def cancelled():
            begun = asyncio.Event()

            async def listen_long():
                async for _ in generator.stream_async([PROMPT], **options | {"max_tokens": 150, "ignore_eos": True}):
                    begun.set()

            task = asyncio.create_task(listen_long())
            await begun.wait()
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task

        asyncio.run(cancelled())
        gc.collect()
        self.assertEqual(generator._idle[0].free_pages, generator._idle[0].pages)
        self.assertEqual(generator.generate([PROMPT], **options)[0].ids, whole.ids)

    def test_texts_begin_with_their_space(self):
        """Of tokens that have it in front of them; the answer of a chat has none."""
        tokenizer = words(VOCABULARY)
        tokenizer.save(str(self.folder / "tokenizer.json"))
        generator, ids = self.open(), self.reference.greedy(PROMPT, 5)
        after = tokenizer.decode(PROMPT + ids)[len(tokenizer.decode(PROMPT)) :]
        self.assertEqual((after[0], tokenizer.decode(ids)), (" ", after[1:]))
        for options, expected in (({}, after), ({"continues": False}, after[1:])):
            text = generator.generate([PROMPT], max_tokens=5, **options)[0]
            self.assertEqual(text.text, expected)
            self.assertEqual("".join(piece.text for piece in generator.stream([PROMPT], max_tokens=5, **options)), expected)
        self.assertEqual(generator.generate([PROMPT], beams=2, max_tokens=5)[0].text[0], " ")
        self.assertNotEqual(generator.chat([{"role": "user", "content": "x"}], max_tokens=5).text[0], " ")

    def test_chats(self):
        generator = self.open()
        ids = letters(VOCABULARY).encode("hi:").ids
        self.assertEqual(generator.chat([{"role": "user", "content": "hi"}], max_tokens=4).ids, self.reference.greedy(ids, 4))
        self.config.write_text(json.dumps({"chat_template": "{{ tone }}{{ tools | length }}"}))
        ids = letters(VOCABULARY).encode("softly2").ids
        answer = self.open().chat([], tools=[1, 2], variables={"tone": "softly"}, max_tokens=4)
        self.assertEqual(answer.ids, self.reference.greedy(ids, 4))

    def test_all_of_an_artifact_with_weights(self):
        """What makes tokens of texts goes with the weights, and is replaced with them."""
        model, artifact = self.folder / "model", self.folder / "whole.shard"
        model.mkdir()
        onnx.save(decoder(), model / "model.onnx")
        letters(VOCABULARY).save(str(model / "tokenizer.json"))
        (model / "config.json").write_text(json.dumps({"eos_token_id": 7, "max_position_embeddings": 30}))
        compiled = ("shardc", model / "model.onnx", "--tp", 2, "--serve=4", "--weights", "copy", "-o", artifact)
        (model / "tokenizer.json").chmod(0o600)
        self.run_ok(*compiled)
        self.assertEqual(*(oct((artifact / name).stat().st_mode) for name in ("tokenizer.json", "manifest.json")))
        model.rename(self.folder / "elsewhere")
        with shardrt.Generator(artifact) as generator:
            self.assertEqual((generator.eos_ids, generator.context), ((7,), 30))
            self.assertEqual(generator.generate("hello", max_tokens=6).text, self.open().generate("hello", max_tokens=6, stop_ids=[7]).text)
        (self.folder / "elsewhere").rename(model)
        (model / "tokenizer.json").unlink()
        self.run_ok(*compiled)
        self.assertEqual(sorted(file.name for file in artifact.glob("*.json")), ["config.json", "manifest.json"])

    def test_files_beside_the_model(self):
        greedy = self.reference.greedy(PROMPT, 8)
        write = lambda name, what: (self.folder / name).write_text(json.dumps(what))  # noqa: E731
        write("config.json", {"eos_token_id": 39, "max_position_embeddings": 7})
        generator = self.open()
        self.assertEqual((generator.eos_ids, generator.context), ((39,), 7))
        self.assertEqual(generator.generate([PROMPT])[0].ids, greedy[:5], "the last one takes no position")
        with self.assertRaisesRegex(ValueError, "a prompt has 8 tokens, and the model knows 7 positions"):
            generator.generate([[2] * 8])
        write("generation_config.json", {"eos_token_id": [greedy[0], 39]})
        self.assertEqual(self.open().generate([PROMPT])[0].ids, greedy[:1])
        write("config.json", {"decoder_start_token_id": 4})
        self.assertEqual(self.open().generate([[]], max_tokens=1)[0].prompt_ids, [4])
        for name in ("config.json", "generation_config.json"):
            (self.folder / name).unlink()
        write("genai_config.json", {"model": {"context_length": 6, "eos_token_id": 38, "decoder": {
            "inputs": {"input_ids": "input_ids", "attention_mask": "mask"}, "outputs": {"logits": "logits"}}}})  # fmt: skip
        generator = self.open()
        self.assertEqual((generator.eos_ids, generator.context), ((38,), 6))
        self.assertEqual(generator.generate([PROMPT])[0].ids, greedy[:4])
        (self.folder / "genai_config.json").write_text("{")
        with self.assertRaisesRegex(ValueError, "genai_config.json is no JSON"):
            self.open()

    def test_a_lost_session(self):
        generator = self.open()
        expected = generator.generate([PROMPT], max_tokens=3)[0].ids
        generator.session.reopen()
        self.assertTrue(generator._idle[0].is_lost)
        self.assertEqual(generator.generate([PROMPT], max_tokens=3)[0].ids, expected)

    def test_mistakes(self):
        generator = self.open()
        self.assertRegex(repr(generator), r"<shardrt.Generator '.*', 2 ranks, 40 tokens>")
        for said, prompts, options in (
            ("temperature is -1", "a", {"temperature": -1}), ("n texts are a list", "a", {"n": 2}),
            ("max_tokens is 0", "a", {"max_tokens": 0}), ("a stop string is empty", "a", {"stop": [""]}),
            ("no more than there are beams, 2", ["a"], {"beams": 2, "n": 3}),
            ("beams take no stop", "a", {"beams": 2, "temperature": 1}),
            ("a prompt has no tokens", [[]], {}), ("in a list as well", [1, 2], {}),
            ("'x' is none of those .*: there is none", "a", {"inputs": [{"x": 1}]}),
            ("inputs are for 2 prompts, expected 1", "a", {"inputs": [{}, {}]}),
        ):  # fmt: skip
            with self.assertRaisesRegex(ValueError, said):
                generator.generate(prompts, **options)
        with self.assertRaisesRegex(TypeError, "temprature"):
            generator.generate("a", temprature=1)
        with self.assertRaisesRegex(ValueError, "use generate"):
            generator.stream("a", beams=2)
        with self.assertRaisesRegex(shardrt.InvalidArgument, "no token 45: expected 0 to 39"):
            generator.generate([[VOCABULARY + 5]])
        generator._inputs.words = None  # as where it is not known how many there are: the step finds it
        with self.assertRaisesRegex(shardrt.InvalidArgument, "there is no row 45 in a table of 40"):
            generator.generate([[VOCABULARY + 5]])
        self.assertEqual(generator.generate([PROMPT], max_tokens=3)[0].ids, self.reference.greedy(PROMPT, 3), "and goes on")
        without = self.open(tokenizer=False)
        self.assertIn("no tokenizer", repr(without))
        self.assertEqual(without.generate([PROMPT], max_tokens=3)[0].text, "")
        for call in (lambda: without.generate("a"), lambda: without.generate([PROMPT], stop="a"), lambda: without.chat([])):
            with self.assertRaisesRegex(ValueError, "needs? a tokenizer"):
                call()
        without.close()
        self.assertIn("closed", repr(without))
        with self.assertRaisesRegex(ValueError, "the generator is closed"):
            without.generate([PROMPT])
        with self.assertRaisesRegex(ValueError, r"which input are the tokens\?"):
            shardrt.Generator(self.compile(model_file("vit-ts-static-op17"), 1))
        for name in ("step_tokens", "batch"):
            with self.assertRaisesRegex(ValueError, f"{name} is 0"):
                self.open(**{name: 0})

    def test_a_session_that_is_given(self):
        with shardrt.Session(self.artifact) as session:
            with shardrt.Generator(session) as generator:
                ids = generator.generate([PROMPT], max_tokens=3)[0].ids
            with shardrt.Generator(session) as generator:
                self.assertEqual(generator.generate([PROMPT], max_tokens=3)[0].ids, ids)


if __name__ == "__main__":
    unittest.main()
