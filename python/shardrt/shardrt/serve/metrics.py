"""What Prometheus reads. Names are vLLM's where they mean the same, so that its dashboards show this server as well."""

from __future__ import annotations

import bisect
import threading
from collections import Counter
from collections.abc import Callable, Iterator

from ..session import Spent
from .engine import Engine, resident_bytes

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Histogram:
    def __init__(self, name: str, says: str) -> None:
        self.name, self.says = name, says
        self._counts, self._sum = [0] * (len(SECONDS) + 1), 0.0

    def add(self, seconds: float) -> None:
        self._counts[bisect.bisect_left(SECONDS, seconds)] += 1
        self._sum += seconds

    def lines(self, labels: str) -> Iterator[str]:
        yield from _head(self.name, self.says, "histogram")
        total = 0
        for bound, count in zip((*map(str, SECONDS), "+Inf"), self._counts):
            total += count
            yield f'{self.name}_bucket{{{labels},le="{bound}"}} {total}'
        yield f"{self.name}_sum{{{labels}}} {self._sum:.6f}"
        yield f"{self.name}_count{{{labels}}} {total}"


class Metrics:
    """Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answers: Counter[tuple[str, int]] = Counter()
        self._finished: Counter[str] = Counter()
        self._prompt_tokens = 0
        self._bubbles: dict[str, float] = {}
        self.first = Histogram("vllm:time_to_first_token_seconds", "From the request to its first token.")
        self.between = Histogram("vllm:inter_token_latency_seconds", "From one token to the next.")
        self.whole = Histogram("vllm:e2e_request_latency_seconds", "From the request to its last token.")

    def answered(self, path: str, status: int) -> None:
        with self._lock:
            self._answers[path, status] += 1

    def asked(self, tokens: int) -> None:
        with self._lock:
            self._prompt_tokens += tokens

    def came(self, seconds: float, is_first: bool) -> None:
        with self._lock:
            (self.first if is_first else self.between).add(seconds)

    def finished(self, reason: str, seconds: float) -> None:
        with self._lock:
            self._finished[reason] += 1
            self.whole.add(seconds)

    def text(self, engine: Engine) -> str:
        with self._lock:
            return "\n".join(self._lines(engine)) + "\n"

    def _lines(self, engine: Engine) -> Iterator[str]:
        labels = f'model_name="{_escaped(engine.name)}"'

        def one(name: str, kind: str, says: str, value: float) -> Iterator[str]:
            yield from _head(name, says, kind)
            yield f"{name}{{{labels}}} {value}"

        why = engine.unavailable
        yield from one("shardrt:up", "gauge", "1: it answers; 0: ranks are lost.", int(why is None))
        yield from one("shardrt:ranks", "gauge", "Of all stages and replicas.", engine.session.world_size)
        yield from one("shardrt:ranks_up", "gauge", "That compute: all of them, or none while one is lost.", engine.ranks_up(why))
        yield from one("process_resident_memory_bytes", "gauge", "Of this process.", resident_bytes())
        if engine.server is not None:
            c = engine.server.counts()
            yield from one("vllm:num_requests_running", "gauge", "Texts that have pages.", c.running)
            yield from one("vllm:num_requests_waiting", "gauge", "Texts that have not begun.", c.waiting)
            used = 1 - c.free_pages / c.pages if c.pages else 0.0
            yield from one("vllm:kv_cache_usage_perc", "gauge", "Pages that are taken; 1 is all.", round(used, 6))
            yield from one("vllm:generation_tokens_total", "counter", "New tokens.", c.made)
            yield from one("vllm:num_preemptions_total", "counter", "Times that a text gave up its pages.", c.evicted)
            yield from one("vllm:prefix_cache_hits_total", "counter", "Positions that another text had.", c.shared)
            yield from one("shardrt:steps_total", "counter", "Steps of the ranks.", c.steps)
            yield from one("shardrt:step_tokens_total", "counter", "Positions computed.", c.tokens)
            yield from one("shardrt:recovered_total", "counter", "Times that all was computed again.", c.recovered)
            yield from one("shardrt:pages", "gauge", "Of keys and values.", c.pages)
            yield from one("shardrt:pages_free", "gauge", "Of texts that have ended, too, until they are needed.", c.free_pages)
        yield from self._spent(engine, labels)
        yield from one("vllm:prompt_tokens_total", "counter", "Tokens of prompts.", self._prompt_tokens)
        yield from _head("vllm:request_success_total", "Texts that have ended.", "counter")
        for reason, count in sorted(self._finished.items()):
            yield f'vllm:request_success_total{{{labels},finished_reason="{reason}"}} {count}'
        for histogram in (self.first, self.between, self.whole):
            yield from histogram.lines(labels)
        yield from _head("shardrt:http_requests_total", "Answers, by path and status.", "counter")
        for (path, status), count in sorted(self._answers.items()):
            yield f'shardrt:http_requests_total{{path="{path}",status="{status}"}} {count}'


    def _spent(self, engine: Engine, labels: str) -> Iterator[str]:
        spent = engine.session.spent()

        def each(name: str, says: str, kind: str, label: str, value: Callable[[Spent], float]) -> Iterator[str]:
            yield from _head(name, says, "counter")
            for entry in spent:
                if entry.kind == kind:
                    yield f'{name}{{{labels},{label}="{entry.name}"}} {round(value(entry), 6)}'

        says = "In collectives over these axes, with the waits for others, of the ranks here together."
        yield from each("shardrt:collective_seconds_total", says, "collective", "axes", lambda entry: entry.seconds)
        yield from each("shardrt:collectives_total", "As often as each rank met.", "collective", "axes", lambda entry: entry.count)
        says = "Of a stage's ranks here together, in steps."
        yield from each("shardrt:stage_busy_seconds_total", says, "busy", "stage", lambda entry: entry.seconds)
        says = "Of them, waiting for values of other stages."
        yield from each("shardrt:stage_receive_seconds_total", says, "receive", "stage", lambda entry: entry.seconds)
        active = next((entry for entry in spent if entry.kind == "active" and entry.adders), None)
        if active is None:
            return
        yield from _head("shardrt:active_seconds_total", "Of replicas, in which a step was under way.", "counter")
        yield f"shardrt:active_seconds_total{{{labels}}} {round(active.seconds, 6)}"

        def bubble(entry: Spent) -> float:
            """It is read while all go on, and never falls."""
            idle = active.seconds * entry.adders / active.adders - entry.seconds
            self._bubbles[entry.name] = max(idle, self._bubbles.get(entry.name, 0.0))
            return self._bubbles[entry.name]

        says = "Of a stage's ranks here together: their replica was active, and they had nothing to do."
        yield from each("shardrt:bubble_seconds_total", says, "busy", "stage", bubble)


def _head(name: str, says: str, kind: str) -> Iterator[str]:
    yield f"# HELP {name} {says}"
    yield f"# TYPE {name} {kind}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
