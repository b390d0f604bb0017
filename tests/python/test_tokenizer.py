"""shardrt.tokenizer: streams against what decoding all at once gives, chats against texts written by hand."""

import json
import random
import subprocess
import sys
import unittest

from tests.python import support
from tests.python.small_tokenizers import TEXT, byte_fallback, byte_level
from tests.support import EndToEnd

import shardrt  # isort: skip
from shardrt.stopping import StopStrings  # isort: skip
from shardrt.tokenizer import Tokenizer  # isort: skip

TEMPLATE = """{{ bos_token }}{% for message in messages %}
<|{{ message.role }}|>{{ message.content | trim }}{{ eos_token }}
{% endfor %}
{% if tools %}{{ tools | tojson }}{% endif %}
{% if add_generation_prompt %}<|assistant|>{% endif %}"""


class Texts(EndToEnd):
    def write(self, inner, **config):
        inner.save(str(self.folder / "tokenizer.json"))
        (self.folder / "tokenizer_config.json").write_text(json.dumps(config))
        return Tokenizer.from_file(self.folder / "tokenizer.json")

    def test_there_and_back(self):
        tokenizer = self.write(byte_level(), eos_token={"content": "</s>"})
        for text in TEXT:
            ids = tokenizer.encode(text)
            self.assertEqual(ids[0], tokenizer.id_of("<s>"))
            self.assertEqual(tokenizer.encode(text, special=False), ids[1:])
            self.assertEqual(tokenizer.decode(ids), text)
            self.assertEqual(tokenizer.decode(ids, special=True), "<s>" + text)
        self.assertEqual(tokenizer.eos_ids, [tokenizer.id_of("</s>")])
        self.assertEqual((tokenizer.token_of(0), tokenizer.token_of(10**6)), ("<s>", None))
        self.assertEqual(repr(tokenizer), f"<shardrt.Tokenizer, {tokenizer.size} tokens>")

    def test_files_that_pad_and_cut(self):
        """As Sentence Transformers' do: of a text there are its ids, all of them."""
        inner = byte_level()
        whole = inner.encode(TEXT[0]).ids
        inner.enable_padding(length=100, pad_id=7, pad_token="</s>")
        inner.enable_truncation(4)
        tokenizer = self.write(inner)
        self.assertEqual((tokenizer.encode(TEXT[0]), tokenizer.pad_id), (whole, 7))
        self.assertEqual(self.write(inner, pad_token="</s>").pad_id, 1)
        self.assertIsNone(self.write(byte_level()).pad_id)

    def test_streams_have_whole_characters(self):
        texts = [*TEXT, "🙂👩‍👩‍👧‍👦 at noon", "a\ufffdb", "  two  spaces ", "\u20ac" * 50]
        for tokenizer in (self.write(byte_level(300)), self.write(byte_fallback())):
            for text in texts:
                ids = tokenizer.encode(text)
                stream = tokenizer.stream()
                pieces = [stream.push(token) for token in ids]
                if "\ufffd" not in text:
                    self.assertNotIn("\ufffd", "".join(pieces))
                self.assertEqual("".join(pieces) + stream.finish(), tokenizer.decode(ids))
                self.assertGreater(sum(map(bool, pieces)), len(text) // 20, "and come as early as may be")

    def test_streams_of_anything(self):
        """Of bytes each token has its own text; where tokens are bytes of their own (byte_fallback) text alone is exact."""
        rng = random.Random(1)
        for tokenizer, exact in ((self.write(byte_level(300)), True), (self.write(byte_fallback()), False)):
            for trial in range(200):
                ids = tokenizer.encode("".join(rng.choices(["é", "你", "🙂", "a", " ", "\ufffd", "  ", "b c"], k=rng.randrange(1, 40))))
                if exact and trial % 2:
                    ids = rng.choices(range(tokenizer.size), k=len(ids))
                stream = tokenizer.stream()
                self.assertEqual("".join(map(stream.push, ids)) + stream.finish(), tokenizer.decode(ids))

    def test_streams_behind_a_text(self):
        """Wherever it is cut, the rest follows with its space: "at" and "▁on" are "at on"."""
        for tokenizer in (self.write(byte_level(300)), self.write(byte_fallback())):
            ids = [*tokenizer.encode("a on at 你好 €"), *tokenizer.encode("</s> a", special=False)]
            for cut in range(len(ids) + 1):
                stream, before = tokenizer.stream(after=ids[:cut]), tokenizer.decode(ids[:cut])
                text = "".join(map(stream.push, ids[cut:])) + stream.finish()
                if "\ufffd" not in before:
                    self.assertEqual(before + text, tokenizer.decode(ids))
        self.assertEqual(tokenizer.stream().push(tokenizer.id_of("▁a")), "a")

    def test_bytes_of_parts_of_characters(self):
        for tokenizer in (self.write(byte_level(300)), self.write(byte_fallback())):
            self.assertEqual(b"".join(map(tokenizer.bytes_of, tokenizer.encode("€", special=False)))[-3:], "€".encode())
            self.assertEqual(tokenizer.bytes_of(tokenizer.id_of("a")), b"a")
            with self.assertRaises(UnicodeEncodeError):
                tokenizer.encode("\ud800")

    def test_bytes_of_tokens_are_those_of_the_text(self):
        """Each behind those before it: with the space that it begins with, and in its part of a character."""
        for inner in (byte_level(300), byte_level(), byte_fallback()):
            tokenizer = self.write(inner)
            for text in ("a on at 你好 € 🙂 b", " at", "Žluťoučký kůň", "</s> at"):
                ids = tokenizer.encode(text)
                own = [tokenizer.bytes_of(token, ids[:i]) for i, token in enumerate(ids)]
                self.assertEqual(b"".join(own).decode(), tokenizer.decode(ids, special=True))
        self.assertEqual(tokenizer.bytes_of(tokenizer.id_of("▁at"), tokenizer.encode("on")), b" at")
        self.assertEqual(tokenizer.bytes_of(tokenizer.id_of("</s>"), tokenizer.encode("on")), b"</s>")

    def test_an_added_token_is_as_it_is_written(self):
        """Also where its letters stand for bytes of others."""
        inner = byte_level(300)
        inner.add_tokens(["Ġé"])
        tokenizer = self.write(inner)
        self.assertEqual(tokenizer.bytes_of(tokenizer.id_of("Ġé"), [tokenizer.id_of("a")]).decode(), tokenizer.decode([tokenizer.id_of("Ġé")]))

    def test_broken_text_ends(self):
        for tokenizer in (self.write(byte_level(300)), self.write(byte_fallback())):
            euro = tokenizer.encode("€", special=False)[-3:]
            self.assertEqual(len(euro), 3)
            stream = tokenizer.stream()
            self.assertEqual([stream.push(token) for token in euro[:2]], ["", ""])
            self.assertIn(stream.finish(), ("\ufffd", "\ufffd\ufffd"))
            self.assertEqual(stream.finish(), "")
            stream = tokenizer.stream()
            pieces = [stream.push(euro[1]) for _ in range(500)]
            self.assertGreater(len("".join(pieces)), 400, "what is never a character is not kept for ever")
            self.assertIn("a", stream.push(tokenizer.id_of("a")))

    def test_tokens_across_characters(self):
        """Each token ends one character and begins the next."""
        inner = byte_level(300)
        tokenizer = self.write(inner)
        first, second, third = tokenizer.encode("€", special=False)
        names = [tokenizer.token_of(token) for token in (second, third, first)]
        inner = json.loads(inner.to_str())
        inner["model"]["vocab"]["".join(names)] = len(inner["model"]["vocab"])
        (self.folder / "tokenizer.json").write_text(json.dumps(inner))
        tokenizer = Tokenizer.from_file(self.folder)
        across = tokenizer.id_of("".join(names))
        stream = tokenizer.stream()
        self.assertEqual([stream.push(token) for token in (first, across, across, across)], ["", "€", "€", "€"])
        self.assertEqual(stream.push(second) + stream.push(third), "€")
        self.assertEqual(stream.finish(), "")

    def test_chats(self):
        messages = [{"role": "user", "content": " Hi "}, {"role": "assistant", "content": "<b>"}]
        tokenizer = self.write(byte_level(), bos_token="<s>", eos_token="</s>", chat_template=TEMPLATE)
        expected = "<s><|user|>Hi</s>\n<|assistant|><b></s>\n<|assistant|>"
        self.assertEqual(tokenizer.chat_text(messages), expected)
        self.assertEqual(tokenizer.chat(messages), tokenizer.encode(expected, special=False))
        self.assertEqual(tokenizer.chat(messages)[0], tokenizer.id_of("<s>"))
        self.assertEqual(tokenizer.chat_text(messages, add_generation_prompt=False), "<s><|user|>Hi</s>\n<|assistant|><b></s>\n")
        self.assertTrue(tokenizer.chat_text(messages, [{"name": "é<"}]).endswith('[{"name": "é<"}]<|assistant|>'))
        self.assertIn("tokens, chat>", repr(tokenizer))

    def test_where_templates_are(self):
        named = [{"name": "default", "template": "one"}, {"name": "tool_use", "template": "two"}]
        tokenizer = self.write(byte_level(), chat_template=named)
        self.assertEqual((tokenizer.chat_text([]), tokenizer.chat_text([], [{}])), ("one", "two"))
        (self.folder / "chat_template.jinja").write_text("{% for m in messages %}{% generation %}{{ m.n }}{% endgeneration %}"
                                                         "{% if m.n == 2 %}{% break %}{% endif %}{% endfor %}")  # fmt: skip
        self.assertEqual(Tokenizer.from_file(self.folder).chat_text([{"n": n} for n in (1, 2, 3)]), "12")

    def test_mistakes(self):
        tokenizer = self.write(byte_level())
        with self.assertRaisesRegex(ValueError, "no chat template: expected chat_template.jinja beside"):
            tokenizer.chat([])
        for template, said in (("{{ raise_exception('roles alternate') }}", "refuses these messages: roles alternate"),
                               ("\n{% if %}", r"chat template \(chat_template.jinja\) cannot be read: line 2: "), ("{{ 1/0 }}", "fails .* ZeroDivisionError"),
                               ("{{ messages[0].content + 1 }}", "refuses|fails"), ("{{ 5 + 'a' }}", "fails for these messages: TypeError"),
                               ("{% for x in range(2**40) %}{% endfor %}", "fails|refuses"), ("{{ ''.__class__.__mro__ }}", "refuses|unsafe")):  # fmt: skip
            (self.folder / "chat_template.jinja").write_text(template)
            with self.assertRaisesRegex(ValueError, said):
                Tokenizer.from_file(self.folder).chat([])
        (self.folder / "tokenizer.json").write_text("{}")
        with self.assertRaisesRegex(ValueError, "tokenizer.json is no tokenizer"):
            Tokenizer.from_file(self.folder)
        with self.assertRaisesRegex(FileNotFoundError, "no tokenizer at .*nowhere"):
            Tokenizer.from_file(self.folder / "nowhere")

    def test_configurations_that_are_wrong(self):
        """One error, which names the file and what it was to have."""
        byte_level().save(str(self.folder / "tokenizer.json"))
        file = self.folder / "tokenizer_config.json"
        for text, why in (("{", "is no JSON: Expecting"), ("[1]", r"is \[1\], expected an object"), ("\xff", "is no JSON"), ("[" * 100000, "is no JSON"),
                          ('{"chat_template": [{"x": 1}]}', "chat_template is .*, expected a text, or a list of"),
                          ('{"chat_template": 5}', "chat_template is 5, expected"), ('{"eos_token": 5}', "eos_token is 5, expected a text"),
                          ('{"pad_token": {"content": 1}}', "pad_token is .*, expected a text"), ('{"bos_token": [1]}', "bos_token is")):  # fmt: skip
            file.write_text(text, encoding="latin-1")
            with self.assertRaisesRegex(ValueError, f"^{file}(:)? {why}"):
                Tokenizer.from_file(self.folder)
        file.write_text('{"add_bos_token": true, "bos_token": null}')
        self.assertIsNone(Tokenizer.from_file(self.folder).bos_token)
        (self.folder / "chat_template.jinja").write_bytes(b"\xff")
        with self.assertRaisesRegex(ValueError, "chat_template.jinja is no text"):
            Tokenizer.from_file(self.folder)

    def test_what_is_not_installed(self):
        script = ("import sys; sys.modules['tokenizers'] = None\nimport shardrt.tokenizer\n"
                  "try:\n    shardrt.tokenizer.Tokenizer.from_file('x')\nexcept ImportError as error:\n    print(error)\n")  # fmt: skip
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=support.PACKAGES[0])
        self.assertIn("tokenizers is not installed", done.stdout)
        self.assertIn("pip install 'shardrt[generate]'", done.stdout)


class Stops(unittest.TestCase):
    def pieces(self, strings, *texts):
        stops = StopStrings(strings)
        return [stops.push(text) for text in texts] + [stops.finish()], stops.found

    def test_across_pieces(self):
        self.assertEqual(self.pieces(["\n\n"], "one\n", "\ntwo"), (["one", "", ""], "\n\n"))
        self.assertEqual(self.pieces(["\n\n"], "one\n", "two"), (["one", "\ntwo", ""], None))
        self.assertEqual(self.pieces(["abc", "bd"], "xab", "d", "y"), (["x", "a", "", ""], "bd"))
        self.assertEqual(self.pieces(["aab"], "aaa", "ab"), (["a", "aa"[:1], ""], "aab"))
        self.assertEqual(self.pieces(["END"], "the E", "N"), (["the ", "", "EN"], None))
        self.assertEqual(self.pieces([], "a", "b"), (["a", "b", ""], None))
        with self.assertRaisesRegex(ValueError, "empty"):
            StopStrings([""])

    def test_first_to_be_complete(self):
        self.assertEqual(self.pieces(["longer one", "er"], "a longer one"), (["a long", ""], "er"))


if __name__ == "__main__":
    unittest.main()
