"""Tokenizers that are made here: none of a real model is needed."""

import json

from tests.python import support  # noqa: F401  before what follows

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers  # isort: skip

TEXT = ["Once upon a time there was a compiler that split every matrix by columns, then by rows.",
        "The ranks met at an all_reduce, and each had the sum; the stages sent what was hidden.",
        "def generate(prompt):\n    return [token for token in prompt]\n", "Žluťoučký kůň úpěl ďábelské ódy. 你好，世界。"]  # fmt: skip
SPECIAL = ["<s>", "</s>", "<|user|>", "<|assistant|>"]


def byte_level(size=600):
    """BPE over bytes, as GPT-2, Llama 3 and Qwen have it; a text begins with <s>."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    made.train_from_iterator(TEXT, trainers.BpeTrainer(vocab_size=size, special_tokens=SPECIAL, show_progress=False,
                                                       initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))  # fmt: skip
    made.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", made.token_to_id("<s>"))])
    return made


def byte_fallback():
    """Words with their space in front, and bytes for all else, as SentencePiece's tokenizers of Llama 2 have it."""
    words = [*SPECIAL, *(f"<0x{byte:02X}>" for byte in range(256)), *"▁abcdefghijklmnopqrstuvwxyz,."]
    merges = [("▁", "a"), ("o", "n"), ("▁a", "t")]
    vocabulary = {word: i for i, word in enumerate(words + [a + b for a, b in merges])}
    made = Tokenizer(models.BPE(vocabulary, merges, byte_fallback=True, unk_token="<s>", fuse_unk=True))
    made.add_special_tokens(SPECIAL)
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    made.decoder = decoders.Sequence(steps)
    return made


def letters(size=40):
    """A token is a letter; 0 begins a text and 1 ends it."""
    alphabet = "abcdefghijklmnopqrstuvwxyz ,.?!:;()-+*/="
    vocabulary = {word: i for i, word in enumerate(["<s>", "</s>", *alphabet[: size - 2]])}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="<s>"))
    made.add_special_tokens(["<s>", "</s>"])
    made.pre_tokenizer, made.decoder = pre_tokenizers.Split("", "isolated"), decoders.Fuse()
    return made


def words(size=40):
    """A token is a letter with the space in front of it, as SentencePiece has words."""
    made = letters(size)
    model = json.loads(made.to_str())
    model["model"]["vocab"] = {word if word in SPECIAL else f"▁{word}": i for word, i in model["model"]["vocab"].items()}
    made = Tokenizer.from_str(json.dumps(model))
    made.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    return made
