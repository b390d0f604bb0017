"""shardrt.join: one Python process a rank, against the same as threads."""

import os
import subprocess
import sys
import unittest

from tests.e2e.processes import by_hand, free_port, torchrun
from tests.python import support
from tests.python.served_decoder import PROMPT, Served

import shardrt  # isort: skip

GENERATE = """
import sys, shardrt
with shardrt.join() as processes, shardrt.Session(sys.argv[1], processes=processes) as session:
    print(repr(processes))
    if processes.rank > 0:
        session.follow()
    else:
        with shardrt.Generator(session) as generator:
            print(generator.generate([[5, 7, 11]], max_tokens=6, n=2, temperature=1)[1].ids)
            generator._inputs.words = None     # the step finds it
            try:
                generator.generate([[500]])
            except shardrt.InvalidArgument as error:
                print(error)
            print(generator.generate([[5, 7, 11]], max_tokens=6)[0].ids)
"""
NO_ROW = "input 'input_ids': there is no row 500 in a table of 40: expected 0 to 39, or from the end -40 to -1"
FAIL = """
import sys, shardrt
with shardrt.join() as processes, shardrt.Session(sys.argv[1], processes=processes) as session:
    if processes.rank > 0:
        session.follow()
    else:
        raise ValueError("the user's own mistake")
"""
BY_ARGUMENTS = """
import sys, shardrt
rank = int(sys.argv[3])
with shardrt.join(rendezvous=f"127.0.0.1:{sys.argv[2]}", rank=rank, num_ranks=2, job="mine", timeout=50) as processes:
    print(processes.rank, processes.num_ranks)
"""


class Ranks(Served):
    def start(self, script, places, *arguments):
        """What each process said of a script, which gets the artifact and its rank, too."""
        return self.run_each(places, lambda rank: ["-c", script, self.artifact, *arguments, rank])

    def run_each(self, places, arguments):
        """The status of each process, and what it said."""
        path = os.pathsep.join(map(str, support.PACKAGES))
        processes = []
        for rank, place in enumerate(places):
            environment = os.environ | {"PYTHONPATH": path} | {name: str(value) for name, value in place.items()}
            command = [sys.executable, *map(str, arguments(rank))]
            processes.append(subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
            self.addCleanup(processes[-1].kill)
        ended = [process.communicate(timeout=120) for process in processes]
        return [(process.returncode, *said) for process, said in zip(processes, ended, strict=True)]

    def test_generate(self):
        with self.open() as generator:
            drawn = generator.generate([PROMPT], max_tokens=6, n=2, temperature=1)[1].ids
            greedy = generator.generate([PROMPT], max_tokens=6)[0].ids
        for places in (by_hand(2), torchrun(2)):
            ended = self.start(GENERATE, places)
            self.assertEqual([status for status, *_ in ended], [0, 0], ended)
            self.assertEqual(ended[0][1].splitlines(), ["<shardrt.Processes, rank 0 of 2>", str(drawn), NO_ROW, str(greedy)])
            self.assertEqual(ended[1][1].splitlines(), ["<shardrt.Processes, rank 1 of 2>"])

    def test_all_end_alike(self):
        ended = self.start(FAIL, by_hand(2))
        self.assertEqual([status for status, *_ in ended], [1, 1], ended)
        for _, _, said in ended:
            self.assertIn("the user's own mistake", said)

    def test_the_program(self):
        command = ["-m", "shardrt", "generate", self.artifact, "--max-tokens", 6, "--prompt-ids"]
        with self.open() as generator:
            ids = generator.generate([PROMPT], max_tokens=6)[0].ids
        ended = self.run_each(by_hand(2), lambda rank: [*command, "5,7,11"])
        self.assertEqual(ended, [(0, " ".join(map(str, ids)) + "\n", ""), (0, "", "")])
        ended = self.run_each(by_hand(2), lambda rank: [*command, "5,700"])
        self.assertEqual([status for status, *_ in ended], [2, 2])
        said = [text for *_, text in ended if text]
        self.assertEqual(len(said), 1, said)
        self.assertRegex(said[0], "^shardrt generate: .*there is no token 700")

    def test_by_arguments(self):
        ended = self.start(BY_ARGUMENTS, [{}, {}], free_port())
        self.assertEqual([said for _, said, _ in ended], ["0 2\n", "1 2\n"], ended)

    def test_one_alone(self):
        with shardrt.join() as processes, shardrt.Session(self.artifact, processes=processes) as session:
            self.assertEqual((processes.rank, processes.num_ranks, processes.is_speaker, session.world_size), (0, 1, True, 2))
            with shardrt.Generator(session) as generator:
                self.assertEqual(generator.generate([PROMPT], max_tokens=3)[0].ids, self.reference.greedy(PROMPT, 3))
        self.assertEqual(repr(processes), "<shardrt.Processes, closed>")
        with self.assertRaisesRegex(ValueError, "join again"):
            shardrt.Session(self.artifact, processes=processes)
        with self.assertRaisesRegex(shardrt.InvalidArgument, "expected HOST:PORT"):
            shardrt.join(rendezvous="nowhere")
        with self.assertRaisesRegex(KeyError, "mine"), shardrt.join():
            raise KeyError("mine")


if __name__ == "__main__":
    unittest.main()
