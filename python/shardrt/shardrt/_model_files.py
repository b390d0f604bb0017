"""What lies beside a model: genai_config.json (ONNX Runtime GenAI), config.json and generation_config.json (Hugging Face)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional, Union

from ._checks import shown
from ._json_files import part, read_object


@dataclass
class ModelFiles:
    """What they say, as far as they do."""

    eos_ids: tuple[int, ...] = ()
    """Tokens that end a text."""
    context: Optional[int] = None
    """Positions that the model knows."""
    start_id: Optional[int] = None
    """What the decoder of an encoder-decoder begins with."""
    inputs: dict[str, str] = field(default_factory=dict)
    """Names of the decoder's inputs by role."""
    logits: Optional[str] = None


def model_folder(artifact: Path, weights_root: Union[str, os.PathLike[str], None] = None) -> Optional[Path]:
    """Where the model of an artifact is: at weights_root, where that is given, else where its manifest says, if it is still there."""
    if weights_root is not None:
        return Path(weights_root) if Path(weights_root).is_dir() else None
    try:
        manifest = json.loads((artifact / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):  # whoever opens it says what is wrong
        return None
    root = manifest.get("model_root") if isinstance(manifest, dict) else None
    folder = (artifact / root).resolve() if isinstance(root, str) else None
    return folder if folder is not None and folder.is_dir() else None


def tokenizer_folder(artifact: Path, beside: Optional[Path]) -> Optional[Path]:
    """Which has a tokenizer: an artifact to which weights were copied, or the folder of its model."""
    return next((folder for folder in (artifact, beside) if folder is not None and (folder / "tokenizer.json").is_file()), None)


def read(folders: Iterable[Path]) -> ModelFiles:
    """Of the first folder that has one of them."""
    for folder in folders:
        genai, config, generation = (
            _File(folder / name) for name in ("genai_config.json", "config.json", "generation_config.json")
        )
        if genai.all or config.all or generation.all:
            return _merged(genai, config, generation)
    return ModelFiles()


class _File:
    """One of them, and what it says of the type that it has to be."""

    def __init__(self, path: Path) -> None:
        self.path, self.all = path, read_object(path)

    def part(self, *names: str) -> dict[str, Any]:
        return part(self.path, self.all, *names)

    def ids(self, of: dict[str, Any], name: str) -> tuple[int, ...]:
        """One id, or a list of them; null and -1 are none."""
        value = of.get(name)
        values = value if isinstance(value, list) else [value]
        if not all(each is None or _is_whole(each) for each in values):
            raise self._error(name, value, "an id, or a list of ids")
        return tuple(each for each in values if each is not None and each >= 0)

    def size(self, of: dict[str, Any], name: str) -> Optional[int]:
        """More than 0."""
        value = of.get(name)
        if value is not None and not _is_whole(value):
            raise self._error(name, value, "a whole number")
        return value if value is not None and value > 0 else None

    def text(self, of: dict[str, Any], name: str) -> Optional[str]:
        value = of.get(name)
        if value is not None and not isinstance(value, str):
            raise self._error(name, value, "a text")
        return value

    def _error(self, name: str, value: Any, expected: str) -> ValueError:
        return ValueError(f"{self.path}: {name} is {shown(value)}, expected {expected}")


def _merged(genai: _File, config: _File, generation: _File) -> ModelFiles:
    model, inputs = genai.part("model"), genai.part("model", "decoder", "inputs")
    text = config.part("text_config") or config.all  # of models that see, too
    contexts = genai.size(model, "context_length"), config.size(text, "max_position_embeddings"), config.size(text, "n_positions")
    starts = generation.ids(generation.all, "decoder_start_token_id") + config.ids(config.all, "decoder_start_token_id")
    ends = (generation.ids(generation.all, "eos_token_id") or genai.ids(model, "eos_token_id")
            or config.ids(config.all, "eos_token_id") or config.ids(text, "eos_token_id"))  # fmt: skip
    return ModelFiles(
        eos_ids=ends,
        context=next((size for size in contexts if size is not None), None),
        start_id=next(iter(starts), None),
        inputs={role: name for role in inputs if (name := genai.text(inputs, role)) is not None},
        logits=genai.text(genai.part("model", "decoder", "outputs"), "logits"),
    )


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
