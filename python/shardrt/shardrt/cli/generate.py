"""shardrt generate ARTIFACT --tokenizer tokenizer.json --prompt TEXT"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any, Optional

from .. import _checks
from ..generation import Generation, Options
from ..generator import Generator, PromptLike
from ..processes import join
from ..session import Session
from ._flags import seconds, whole
from ._status import status_of

# Fields of Options that are numbers, by flag.
_NUMBERS = ("max_tokens", "temperature", "top_k", "top_p", "min_p", "repetition_penalty", "presence_penalty",
            "frequency_penalty", "seed", "n", "beams", "length_penalty", "top_logprobs")  # fmt: skip


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("artifact", help="a compiled decoder; with shardc --serve all texts run in one step")
    parser.add_argument("--tokenizer", help="tokenizer.json or its folder; else that in the artifact (--weights copy), or beside the model")
    prompts = parser.add_argument_group("prompts, all of which run in one batch (none: what comes on stdin)")
    prompts.add_argument("--prompt", action="append", default=[], metavar="TEXT", help="may come several times")
    prompts.add_argument("--prompt-ids", type=_ids, action="append", default=[], metavar="1,2,3", help="the same as ids of tokens")
    prompts.add_argument("--chat", action="store_true", help="prompts are messages to the model, by its chat template")
    prompts.add_argument("--system", metavar="TEXT", help="what a chat begins with")
    prompts.add_argument("--tools", metavar="FILE", help="tools that the chat template tells the model of: a list in JSON")
    prompts.add_argument("--variables", type=_variables, metavar="JSON",
                         help="""further ones of the chat template, '{"enable_thinking": false}' say""")  # fmt: skip
    texts = parser.add_argument_group("texts")
    defaults = Options()
    for name in _NUMBERS:
        default = getattr(defaults, name)
        texts.add_argument(f"--{name.replace('_', '-')}", type=type(default), default=default, metavar="N",
                           help=f"{default} by default")  # fmt: skip
    texts.add_argument("--logit-bias", type=_biases, default={}, metavar="1=-100,2=0.5", help="added to the logits of tokens, by id")
    texts.add_argument("--stop", action="append", default=[], metavar="TEXT", help="a text ends before it; may come again")
    texts.add_argument("--stop-ids", type=_ids, default=[], metavar="1,2,3", help="and with these tokens")
    texts.add_argument("--ignore-eos", action="store_true", help="go on behind tokens that end a text")
    output = parser.add_argument_group("output")
    output.add_argument("--json", action="store_true", help="a line of JSON for each text, with ids and log-probabilities")
    output.add_argument("--stats", action="store_true", help="tokens a second, on stderr")
    machine = parser.add_argument_group("ranks")
    machine.add_argument("--device", help='"host", "cuda" or "cuda:0"; else as the artifact says')
    machine.add_argument("--weights-root", metavar="FOLDER", help="where the model's own files are now")
    machine.add_argument("--timeout", type=seconds, metavar="SECONDS", help="that a rank waits for others at most; else 60")
    machine.add_argument("--threads", type=whole(_checks.THREADS), default=0, metavar="N", help="of each rank; 0: an equal share of the cores")
    machine.add_argument("--positions", type=whole(_checks.COUNT), metavar="N",
                         help="of keys and values at most; else as many as the prompts need")  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    options = {name: getattr(arguments, name) for name in (*_NUMBERS, "logit_bias", "stop", "stop_ids", "ignore_eos")}
    options["continues"] = not arguments.chat
    for name in ("system", "tools", "variables"):
        if getattr(arguments, name) is not None and not arguments.chat:
            raise ValueError(f"--{name} is of a chat: give --chat")
    tools = _tools(arguments.tools) if arguments.tools is not None else None
    asked = Options(**options)  # mistakes are told before anything is opened
    processes = join()
    try:
        with processes, Session(arguments.artifact, device=arguments.device, threads=arguments.threads,
                                weights_root=arguments.weights_root, timeout=arguments.timeout, processes=processes) as session:  # fmt: skip
            if processes.rank > 0:
                session.follow()
            else:
                _generate(arguments, session, asked, options, tools)
        return 0
    except Exception as error:
        if processes.is_speaker:
            raise
        return status_of(error)


def _generate(arguments: argparse.Namespace, session: Session, asked: Options, options: dict[str, Any], tools: Optional[list[Any]]) -> None:
    with Generator(session, arguments.tokenizer, positions=arguments.positions) as generator:
        _check_inputs(arguments, generator)
        prompts = _prompts(arguments, generator, tools)
        begun = time.monotonic()
        if len(prompts) == 1 and asked.n == 1 and asked.beams == 1 and not arguments.json and generator.tokenizer:
            count = _stream(generator, prompts, options)
        else:
            texts = generator.generate(prompts, **options)
            count = sum(len(text.ids) for text in texts)
            for text in texts:
                print(_shown(text, len(texts) > 1, arguments.json))
        seconds = time.monotonic() - begun
    if arguments.stats:
        print(f"{count} tokens in {seconds:.2f} s: {count / seconds:.1f} a second", file=sys.stderr)


def _check_inputs(arguments: argparse.Namespace, generator: Generator) -> None:
    """Of what a model takes beside tokens no flag says anything."""
    others = generator._inputs.others
    if others:
        raise ValueError(f"{arguments.artifact} takes {', '.join(others)} beside tokens, which no flag gives: run requests by shardrun "
                         "--inputs FOLDER, or texts in Python, by shardrt.run_texts or shardrt.Generator with inputs=")  # fmt: skip


def _ids(text: str) -> list[int]:
    try:
        found = [int(each) for each in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} are no ids: expected 1,2,3") from None
    other = next((each for each in found if not 0 <= each <= _checks.MOST), None)
    if other is not None:
        raise argparse.ArgumentTypeError(f"there is no token {other}: expected ids from 0")
    return found


def _biases(text: str) -> dict[int, float]:
    try:
        pairs = [each.split("=") for each in text.split(",")]
        return {int(token): float(bias) for token, bias in pairs}
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} are no biases: expected ID=NUMBER, several with commas") from None


def _variables(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise argparse.ArgumentTypeError(f"{text!r} is no object of JSON: expected {{NAME: VALUE}}")
    taken = next((name for name in ("messages", "tools", "self") if name in found), None)
    if taken is not None:
        raise argparse.ArgumentTypeError(f"{taken!r} is no variable of your own: --prompt, --system and --tools say it")
    return found


def _tools(file: str) -> list[Any]:
    try:
        found = json.loads(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"--tools {file} cannot be read: {error.strerror}: expected a file with a list of tools, in JSON") from None
    except ValueError as error:
        raise ValueError(f"--tools {file} is no JSON: {error}") from None
    if not isinstance(found, list):
        raise ValueError(f"--tools {file} is no list of JSON: expected [TOOL, ...]")
    return found


def _prompts(arguments: argparse.Namespace, generator: Generator, tools: Optional[list[Any]]) -> list[PromptLike]:
    texts = list(arguments.prompt)
    if not texts and not arguments.prompt_ids:
        texts = [sys.stdin.read().removesuffix("\n")]
    prompts: list[PromptLike] = list(arguments.prompt_ids)
    if not arguments.chat:
        return [*texts, *prompts]
    if generator.tokenizer is None:
        raise ValueError("--chat needs a tokenizer: give --tokenizer")
    system = [{"role": "system", "content": arguments.system}] if arguments.system is not None else []
    chats = ([*system, {"role": "user", "content": text}] for text in texts)
    return [*(generator.tokenizer.chat(chat, tools, **(arguments.variables or {})) for chat in chats), *prompts]


def _stream(generator: Generator, prompts: list[PromptLike], options: dict[str, Any]) -> int:
    """Prints text as it comes, and says how many tokens it was."""
    count = 0
    for piece in generator.stream(prompts, **options):
        print(piece.text, end="", flush=True)
        count += 1
    print()
    return count


def _shown(text: Generation, several: bool, as_json: bool) -> str:
    if as_json:
        return json.dumps(asdict(text), ensure_ascii=False)
    shown = text.text or " ".join(map(str, text.ids))
    return f"[{text.prompt}.{text.index}] {shown}" if several else shown
