"""Plans that nobody would write but that any user may: splits moved, cut, dropped and added, region by region."""

import json
import re
from collections import defaultdict

# Whose plans tell where the ops of a model can be split.
STRATEGIES = ["--tp 2", "--tp 2 --sp", "--cp 2", "--cp 2 --cp-mode ulysses", "--ep 2 --ep-mode batch", "--fsdp 2"]
FLAGS = ["--tp 2", "--tp 3", "--tp 4", "--tp 4 --sp", "--tp 6", "--tp 2 --cp 2", "--cp 4", "--cp 3 --cp-mode ulysses"]
FLAGS += ["--tp 2 --cp 2 --cp-mode gather --sp", "--ep 2 --tp 2", "--ep 2 --tp 2 --ep-mode batch", "--fsdp 2 --tp 2"]
# Over several nodes each rank sends a part of what all hold.
FLAGS += ["--pp 2 --tp 2", "--pp 2 --tp 2 --topology h100:2x2", "--pp 2 --tp 4 --sp --topology h100:2x4", "--dp 2 --tp 2", "--tp 2 --shares 3,1", "--tp 3 --sp --shares 2,1,1", "--ep 4", "--fsdp 4"]


def key_of(entry):
    return entry["node"], entry["op"], entry.get("index", 0)


def entry_of(key, splits):
    node, op, index = key
    return {"node": node, "op": op, **({"index": index} if index else {}), "splits": splits}


class Places:
    """Which factors of which ops some plan splits."""

    def __init__(self, plans):
        self.of = defaultdict(lambda: defaultdict(dict))
        for plan in plans:
            for program, entries in plan["programs"].items():
                for entry in entries:
                    here = self.of[program][key_of(entry)]
                    for split in entry.get("splits", []):
                        here[split["of"], split["dim"], split["factor"]] = split["size"]

    def keys(self, program):
        return list(self.of[program])

    def draw_splits(self, draw, program, key, axes):
        """Splits of one op over axes none of which overlap, mostly of one factor."""
        places = sorted(self.of[program][key].items())
        chosen = draw.sample(places, min(len(places), draw.choice([1, 1, 1, 2])))
        splits = []
        for ((of, dim, factor), size), axis in zip(chosen, filter(None, draw.choice(axes))):
            splits.append({"of": of, "dim": dim, "factor": factor, "size": size, "axes": axis})
        return splits


def parts_of(name, size):
    """The axis and what it consists of: "tp", "tp:(1)2", "tp:(2)2"."""
    parts = [(1, size)] + [(pre, ways) for pre in range(1, size) for ways in range(2, size) if size % (pre * ways) == 0]
    return [(name if ways == size else f"{name}:({pre}){ways}", pre, ways) for pre, ways in parts]


def axis_lists(mesh):
    """Pairs of lists of axes that may split one op."""
    parts = [(name, *part) for name, size in mesh.items() if size > 1 for part in parts_of(name, size)]

    def apart(a, b):
        return a[0] != b[0] or a[2] * a[3] <= b[2] or b[2] * b[3] <= a[2]

    lists = [([a[1]], [b[1]]) for a in parts for b in parts if apart(a, b)]
    lists += [([a[1], b[1]], []) for a in parts for b in parts if a[0] != b[0]]
    return lists + [([a[1]], []) for a in parts]


def split_axes(plan):
    """Of the mesh, those that split values."""
    return {axis["name"]: axis["size"] for axis in plan["mesh"] if axis["name"] not in ("dp", "pp")}


class Editor:
    def __init__(self, draw, plan, places):
        self.draw, self.plan, self.places = draw, plan, places
        self.axes = axis_lists(split_axes(plan))

    def run(self):
        edits = [self.recut, self.recut, self.drop, self.replace, self.replace, self.add, self.carry, self.deal]
        for edit in self.draw.sample(edits, self.draw.choice([1, 1, 2, 3])):
            for program, entries in self.plan["programs"].items():
                self.plan["programs"][program] = edit(program, entries) if self.axes else entries
        return self.plan

    def region(self, entries):
        """Neighbours in the program's order."""
        size = max(1, int(len(entries) * self.draw.choice([0.02, 0.1, 0.3])))
        first = self.draw.randrange(max(1, len(entries) - size + 1))
        return range(first, min(len(entries), first + size))

    def recut(self, program, entries):
        """Some axes by others throughout a region."""
        change = defaultdict(lambda: self.draw.choice(self.axes)[0])
        for i in self.region(entries):
            for split in entries[i].get("splits", []):
                split["axes"] = change[json.dumps(split["axes"])]
        return entries

    def drop(self, program, entries):
        gone = set(self.region(entries)) if self.draw.random() < 0.5 else {i for i in range(len(entries)) if self.draw.random() < 0.1}
        return [entry for i, entry in enumerate(entries) if i not in gone]

    def replace(self, program, entries):
        for i in self.region(entries) if self.draw.random() < 0.5 else range(len(entries)):
            if key_of(entries[i]) in self.places.of[program] and self.draw.random() < 0.4:
                splits = self.places.draw_splits(self.draw, program, key_of(entries[i]), self.axes)
                entries[i] = entry_of(key_of(entries[i]), splits)
        return entries

    def add(self, program, entries):
        there = {key_of(entry) for entry in entries}
        others = [key for key in self.places.keys(program) if key not in there]
        for key in self.draw.sample(others, min(len(others), self.draw.choice([1, 3, 10]))):
            entries.append(entry_of(key, self.places.draw_splits(self.draw, program, key, self.axes)))
        return entries

    def carry(self, program, entries):
        for entry in entries:
            if "carries" in entry and self.draw.random() < 0.3:
                del entry["carries"]
            elif self.draw.random() < 0.03:
                entry["carries"] = self.draw.choice(self.axes)[0]
        return entries

    def deal(self, program, entries):
        """What comes in turn, and what is dealt out zig-zag."""
        for entry in entries:
            if "in_turn" in entry and self.draw.random() < 0.3:
                del entry["in_turn"]
            elif "Attention" in entry["op"] and self.draw.random() < 0.3:
                entry["in_turn"] = self.draw.choice(self.axes)[0]
            for split in entry.get("splits", []):
                if "zig_zag" in split and self.draw.random() < 0.2:
                    del split["zig_zag"]
                elif self.draw.random() < 0.02:
                    split["zig_zag"] = True
        return entries


def draw_pins(draw, ranks, flags):
    """One to three, of nodes and weights of the model."""
    mesh = {name: int(size) for name, size in re.findall(r"--(tp|cp|ep|fsdp) (\d+)", flags)}
    axes = axis_lists(mesh)
    pins = []
    for node in draw.sample(sorted(ranks), min(len(ranks), draw.choice([1, 2, 3, 5]))):
        dims = [[] for _ in range(ranks[node])]
        if dims and draw.random() < 0.8:
            for axis in draw.choice(axes):
                dims[draw.randrange(len(dims))] += axis
        pins.append(f"{node}=[{', '.join('{' + ', '.join(dim) + '}' for dim in dims)}]")
    return pins
