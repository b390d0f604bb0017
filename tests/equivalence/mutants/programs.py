"""Wrong variants of what the programs of a lowered module say of themselves: which requests they are for, which stage they
are, which caches they keep, and that there is one of each. None of it shows in the numbers of a run without a state.
"""

import re

from tests.equivalence.mutants.choice import Mutant

CACHE = re.compile(r'    rt\.cache "(\w+)" (%\w+) \{dim = (\d+) : i64, input = (\d+) : i64, output = (\d+) : i64\}.*')
PROGRAM = re.compile(r"(?ms)^  rt\.program @(\w+) attributes \{(.*?)\} \{.*?^  \}.*?\n(?=  \S)")


def cache_changes(text):
    caches = [*CACHE.finditer(text)]
    for cache in caches:
        kind, _, dim, source, target = cache.groups()

        def put(old, new, cache=cache):
            return text[: cache.start()] + cache[0].replace(old, new, 1) + text[cache.end() :]

        for other in ("append", "set", "keep"):
            if other != kind:
                yield f"{target} is {other}", put(f'"{kind}"', f'"{other}"')
        yield f"{target} grows otherwise", put(f"dim = {dim}", f"dim = {int(dim) - 1}")
        others = [c for c in caches if c[4] != source]
        yield f"{target} of another past", put(f"input = {source}", f"input = {others[0][4]}")
        yield f"{target} as another present", put(f"output = {target}", f"output = {others[0][5]}")
        yield f"{target} lost", text[: cache.start()] + text[cache.end() + 1 :]
    for a, b in zip(caches, caches[1:]):
        places = [f"{cache[0][: cache[0].index('{')]}{{dim = {cache[3]}" for cache in (a, b)]
        pairs = [cache[0].split(" : i64, ", 1)[1] for cache in (a, b)]
        yield f"{a[5]} and {b[5]} swapped", (
            f"{text[: a.start()]}{places[0]} : i64, {pairs[1]}{text[a.end() : b.start()]}{places[1]} : i64, {pairs[0]}{text[b.end() :]}"
        )


def program_changes(text):
    programs = [*PROGRAM.finditer(text)]
    for program in programs:
        name, attributes = program.groups()

        def put(attribute, program=program, attributes=attributes):
            head = program[0].replace(attributes, attribute, 1)
            return text[: program.start()] + head + text[program.end() :]

        for part in re.findall(r"onnx\.when = \{\w+ = \{.*?\}\}|onnx\.profile = \"\w+\"|dist\.stage = \d+ : i64", attributes):
            yield f"{name} without {part}", put(attributes.replace(f"{part}, ", "", 1))
            for number in re.findall(r"(?<== )\d+", part):
                other = part.replace(f"= {number} :", f"= {int(number) + 1} :", 1)
                yield f"{name} with {other}", put(attributes.replace(part, other, 1))
        yield f"{name} lost", text[: program.start()] + text[program.end() :]
    for a, b in zip(programs, programs[1:]):
        yield f"{a[1]} and {b[1]} swapped", (
            text[: a.start()] + b[0] + text[a.end() : b.start()] + a[0] + text[b.end() :]
        )


def choose_programs(text):
    """All of them."""
    for kind, changes in (("cache", cache_changes), ("program", program_changes)):
        for what, changed in changes(text):
            yield Mutant(kind, what, changed)
