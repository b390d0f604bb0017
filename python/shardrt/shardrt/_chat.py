"""Chat templates, as Hugging Face's models have them: Jinja, which comes with a model and so runs in a sandbox."""

from __future__ import annotations

import datetime
import functools
import json
from typing import Any

from ._extras import need


def _to_json(value: Any, indent: Any = None, separators: Any = None, sort_keys: bool = False, ensure_ascii: bool = False) -> str:
    """Jinja's own escapes what HTML does not take."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _now(form: str) -> str:
    return datetime.datetime.now().strftime(form)


@functools.lru_cache(maxsize=16)
def _compiled(template: str) -> Any:
    jinja2, sandbox = need("jinja2", "generate"), need("jinja2.sandbox", "generate")
    nodes, extensions = need("jinja2.nodes", "generate"), need("jinja2.ext", "generate")

    class Generation(extensions.Extension):  # type: ignore[name-defined,misc]
        """{% generation %}, which says what a training would learn: here what is inside of it."""

        tags = {"generation"}

        def parse(self, parser: Any) -> Any:
            line = next(parser.stream).lineno
            return nodes.Scope(parser.parse_statements(("name:endgeneration",), drop_needle=True), lineno=line)

    def refuse(message: str) -> None:
        raise jinja2.TemplateError(message)

    environment = sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[extensions.loopcontrols, Generation]
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = refuse
    environment.globals["strftime_now"] = _now
    try:
        return environment.from_string(template)
    except (jinja2.TemplateError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        raise ValueError(f"cannot be read: {f'line {line}: ' if line else ''}{error}") from None


def render(template: str, variables: dict[str, Any], where: str = "") -> str:
    """The text of a conversation; ValueError where the template refuses it, or fails. `where` says which template it is."""
    try:
        return str(_compiled(template).render(variables))
    except need("jinja2", "generate").TemplateError as error:
        why = f"refuses these messages: {error}"
    except ImportError:
        raise
    except Exception as error:  # a template runs, and may do anything wrong that a program may
        why = str(error) if type(error) is ValueError else f"fails for these messages: {type(error).__name__}: {error}"
    raise ValueError(f"the chat template{where} {why}")
