"""What stands in a page as code: blocks between fences, and those that are indented by four spaces."""

import re
import textwrap
from typing import NamedTuple


class Snippet(NamedTuple):
    line: int  # of the page, that of its first line
    kind: str  # "commands": begins with `$`; "python": in a fence; "shown": what the block of Python above prints; "other"
    lines: list

    @property
    def text(self):
        return "".join(f"{line}\n" for line in self.lines)


def snippets(page):
    lines = page.read_text().splitlines()
    found, at = [], 0
    while at < len(lines):
        fence = re.match(r"```(\w*)$", lines[at])
        if fence:
            end = lines.index("```", at + 1)
            found.append(Snippet(at + 2, "python" if fence[1] == "python" else "other", lines[at + 1 : end]))
            at = end + 1
        elif lines[at].startswith("    ") and (at == 0 or not lines[at - 1]):
            block = []
            begin = at
            while at < len(lines) and (lines[at].startswith("    ") or not lines[at]):
                if lines[at].startswith("    $ ") and block and not block[-1]:
                    break
                block.append(lines[at][4:])
                at += 1
            while not block[-1]:
                block.pop()
            block = textwrap.dedent("\n".join(block)).split("\n")  # in a list it is indented further
            found.append(Snippet(begin + 1, _kind(block, found, begin), block))
        else:
            at += 1
    return found


def _kind(block, before, at):
    if block[0].startswith("$ "):
        return "commands"
    stands_below = before and before[-1].kind == "python" and before[-1].line - 1 + len(before[-1].lines) + 2 == at
    return "shown" if stands_below else "other"


def snippet(page, beginning):
    """The one of a page that begins so."""
    found = [each for each in snippets(page) if each.text.lstrip().startswith(beginning)]
    assert len(found) == 1, f"{page}: {len(found)} snippets begin with {beginning!r}"
    return found[0]
