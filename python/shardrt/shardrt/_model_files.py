"""What lies beside a model: genai_config.json (ONNX Runtime GenAI), config.json and generation_config.json (Hugging Face)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional, Union


@dataclass
class ModelFiles:
    """What they say, as far as they do."""

    eos_ids: tuple[int, ...] = ()
    """Tokens that end a text."""
    context: Optional[int] = None
    """Positions that the model knows."""
    words: Optional[int] = None
    """Tokens that the model knows."""
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
        root = json.loads((artifact / "manifest.json").read_text(encoding="utf-8")).get("model_root")
    except (OSError, ValueError):
        return None
    folder = (artifact / root).resolve() if isinstance(root, str) else None
    return folder if folder is not None and folder.is_dir() else None


def read(folders: Iterable[Path]) -> ModelFiles:
    """Of the first folder that has one of them."""
    for folder in folders:
        genai, config, generation = (
            _json(folder / name) for name in ("genai_config.json", "config.json", "generation_config.json")
        )
        if genai or config or generation:
            return _merged(genai, config, generation)
    return ModelFiles()


def _merged(genai: dict[str, Any], config: dict[str, Any], generation: dict[str, Any]) -> ModelFiles:
    model = genai.get("model", {})
    decoder = model.get("decoder", {})
    text = config.get("text_config", config)  # of models that see, too
    ids = _ids(generation.get("eos_token_id")) or _ids(model.get("eos_token_id")) or _ids(config.get("eos_token_id"))
    contexts = model.get("context_length"), text.get("max_position_embeddings"), text.get("n_positions")
    starts = generation.get("decoder_start_token_id"), config.get("decoder_start_token_id")
    return ModelFiles(
        eos_ids=ids or _ids(text.get("eos_token_id")),
        context=next((size for size in contexts if isinstance(size, int) and size > 0), None),
        words=next((size for size in (model.get("vocab_size"), text.get("vocab_size")) if isinstance(size, int) and size > 0), None),
        start_id=next((start for start in starts if isinstance(start, int)), None),
        inputs={role: name for role, name in decoder.get("inputs", {}).items() if isinstance(name, str)},
        logits=decoder.get("outputs", {}).get("logits"),
    )


def _ids(value: Any) -> tuple[int, ...]:
    """One id, or a list of them."""
    values = value if isinstance(value, list) else [value]
    return tuple(each for each in values if isinstance(each, int))


def _json(file: Path) -> dict[str, Any]:
    if not file.is_file():
        return {}
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{file} is no JSON: {error}") from None
    return found if isinstance(found, dict) else {}
