"""What requests of OpenAI's interface have. Fields that mean nothing here are taken and left alone (IGNORED); those that would
change the answer are an error."""

from __future__ import annotations

from typing import Annotated, Any, Optional, Union

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, TypeAdapter, WithJsonSchema, model_validator

from ..sampling import Sampling
from .tensors import TensorAsked

IGNORED = {"user", "metadata", "store", "service_tier", "parallel_tool_calls", "safety_identifier", "prompt_cache_key",
           "prompt_cache_retention", "verbosity"}  # fmt: skip
_PLAIN: dict[str, tuple[Any, ...]] = {"suffix": (None, ""), "best_of": (None, 1), "response_format": (None, {"type": "text"}),
          "tool_choice": (None, "none", "auto"), "modalities": (None, ["text"]), "functions": (None,), "function_call": (None,),
          "audio": (None,), "prediction": (None,), "web_search_options": (None,), "reasoning_effort": (None, "none"),
          "dimensions": (None,), "tools": (None, [])}  # fmt: skip
"""Fields that may be there with these values alone."""

Probability = Field(default=1.0, gt=0, le=1, allow_inf_nan=False)


class StreamOptions(BaseModel):
    include_usage: bool = False


class Asked(BaseModel):
    model_config = ConfigDict(extra="allow", strict=False)

    model: str

    @model_validator(mode="after")
    def _others(self) -> Asked:
        for name, value in (self.model_extra or {}).items():
            if name in _PLAIN and value not in _PLAIN[name]:
                raise ValueError(f"{name} is not supported")
            if name not in IGNORED and name not in _PLAIN:
                raise ValueError(f"there is no field {name}")
        return self


class TextAsked(Asked):
    """What completions and chats have in common."""

    temperature: float = Field(default=1.0, ge=0, le=100, allow_inf_nan=False)
    top_p: float = Probability
    top_k: int = Field(default=0, ge=-1)
    min_p: float = Field(default=0.0, ge=0, le=1, allow_inf_nan=False)
    repetition_penalty: float = Field(default=1.0, gt=0, le=100, allow_inf_nan=False)
    presence_penalty: float = Field(default=0.0, ge=-2, le=2, allow_inf_nan=False)
    frequency_penalty: float = Field(default=0.0, ge=-2, le=2, allow_inf_nan=False)
    logit_bias: Optional[dict[int, float]] = None
    seed: Optional[int] = None
    n: int = Field(default=1, ge=1)
    stop: Union[str, list[str], None] = None
    stop_token_ids: list[int] = Field(default_factory=list)
    ignore_eos: bool = False
    stream: bool = False
    stream_options: Optional[StreamOptions] = None

    @model_validator(mode="after")
    def _nulls(self) -> TextAsked:
        if self.stream_options is not None and not self.stream:
            raise ValueError("stream_options is for stream alone")
        return self

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, given: Any) -> Any:
        """null is the default, as of OpenAI."""
        return {name: value for name, value in given.items() if value is not None} if isinstance(given, dict) else given

    def stops(self) -> list[str]:
        return [self.stop] if isinstance(self.stop, str) else list(self.stop or ())

    def sampling(self, seed: int, stream: int) -> Sampling:
        return Sampling(self.temperature, max(self.top_k, 0), self.top_p, self.min_p, self.repetition_penalty, self.presence_penalty,
                        self.frequency_penalty, self.logit_bias or {}, seed, stream)  # fmt: skip


def _prompts(given: Any) -> Any:
    """Of long lists, pydantic's union takes seconds."""

    def are_ids(values: Any) -> bool:
        return isinstance(values, list) and all(type(each) is int and 0 <= each < 2**63 for each in values)

    if isinstance(given, str) or are_ids(given):
        return given
    if isinstance(given, list) and (all(isinstance(each, str) for each in given) or all(map(are_ids, given))):
        return given
    raise ValueError("expected a text, a list of texts, a list of ids, or a list of lists of ids")


_PromptTypes = Union[str, list[str], list[int], list[list[int]]]
Prompts = Annotated[_PromptTypes, PlainValidator(_prompts), WithJsonSchema(TypeAdapter(_PromptTypes).json_schema())]
"""In the schema as what they are: a plain validator has none in older versions of pydantic."""


class CompletionAsked(TextAsked):
    prompt: Prompts
    inputs: Union[list[TensorAsked], list[list[TensorAsked]]] = Field(default_factory=list)
    """What an encoder gave for the prompt, or for each of several."""
    max_tokens: int = Field(default=16, ge=1)
    logprobs: Optional[int] = Field(default=None, ge=0)
    echo: bool = False


class Message(BaseModel):
    model_config = ConfigDict(extra="allow")

    role: str
    content: Union[str, list[dict[str, Any]], None] = None

    @model_validator(mode="after")
    def _has_content(self) -> Message:
        """But for calls of tools, which an answer may be alone."""
        if self.content is None and not (self.role == "assistant" and (self.model_extra or {}).get("tool_calls")):
            raise ValueError(f"a message of role {self.role} has no content, expected a text")
        return self

    def plain(self) -> dict[str, Any]:
        """With its content as text."""
        content = self.content
        if isinstance(content, list):
            other = next((part.get("type") for part in content if part.get("type") != "text"), None)
            if other is not None:
                raise ValueError(f"a message has a part of type {other}, expected text")
            content = "".join(str(part.get("text", "")) for part in content)
        return {**(self.model_extra or {}), "role": self.role, "content": content}


class ChatAsked(TextAsked):
    messages: list[Message] = Field(min_length=1)
    max_tokens: Optional[int] = Field(default=None, ge=1)
    max_completion_tokens: Optional[int] = Field(default=None, ge=1)
    logprobs: bool = False
    top_logprobs: int = Field(default=0, ge=0)
    chat_template_kwargs: dict[str, Any] = Field(default_factory=dict)


class EmbeddingAsked(Asked):
    input: Prompts
    encoding_format: str = Field(default="float", pattern="^(float|base64)$")
