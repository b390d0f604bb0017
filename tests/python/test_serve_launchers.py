"""`shardrt serve` as launchers start it: a process a rank, each with the variables of torchrun, srun, mpirun or Kubernetes."""

import os
import re
import shutil
import signal
import subprocess
import sys
import unittest

import httpx

from tests.e2e.caches import VOCABULARY
from tests.e2e.processes import free_port, srun, torchrun
from tests.python import support
from tests.python.http_server import end
from tests.python.served_texts import ServedTexts
from tests.python.small_tokenizers import letters

PROMPT = [5, 7, 11]


def leader_worker_set(size):
    place = {"LWS_GROUP_SIZE": size, "LWS_LEADER_ADDRESS": "127.0.0.1", "SHARDC_RENDEZVOUS": f"127.0.0.1:{free_port()}"}
    return [{"LWS_WORKER_INDEX": rank} | place for rank in range(size)]


def indexed_job(size):
    place = {"SHARDC_WORLD_SIZE": size, "SHARDC_RENDEZVOUS": f"127.0.0.1:{free_port()}"}
    return [{"JOB_COMPLETION_INDEX": rank} | place for rank in range(size)]


class Launchers(ServedTexts):
    def start(self, *command, **variables):
        environment = os.environ | {name: str(value) for name, value in variables.items()}
        process = subprocess.Popen([str(part) for part in command], cwd=support.PACKAGES[0], env=environment, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)  # fmt: skip
        self.addCleanup(end, process)
        return process

    def server(self):
        return sys.executable, "-m", "shardrt", "serve", self.artifact, "--port", 0, "--positions", 400

    def assert_answers(self, lead):
        """The process that says where it is."""
        line = lead.stdout.readline()
        found = re.search(r"at (http://\S+)", line)
        self.assertTrue(found, line or lead.stderr.read())
        asked = {"model": "served", "prompt": PROMPT, "max_tokens": 9, "temperature": 0, "ignore_eos": True}
        answer = httpx.post(f"{found[1]}/v1/completions", json=asked, timeout=60).json()
        self.assertEqual(answer["choices"][0]["text"], letters(VOCABULARY).decode(self.reference.greedy(PROMPT, 9)))
        self.assertEqual(httpx.get(f"{found[1]}/status").json()["world_size"], 2)

    def test_variables(self):
        for launcher in (torchrun, srun, leader_worker_set, indexed_job):
            with self.subTest(launcher.__name__):
                processes = [self.start(*self.server(), **place) for place in launcher(2)]
                self.assert_answers(processes[0])
                processes[0].send_signal(signal.SIGTERM)
                self.assertEqual([process.wait(60) for process in processes], [0, 0])
                self.assertEqual(processes[1].stdout.read(), "", "rank 0 alone says where it is")

    @unittest.skipUnless(shutil.which("mpirun"), "no mpirun")
    def test_mpirun(self):
        script = f'echo $$ > {self.folder}/pid$OMPI_COMM_WORLD_RANK; exec "$@"'
        flags = ("--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", 2)
        job = self.start("mpirun", *flags, "bash", "-c", script, "-", *self.server())
        self.assert_answers(job)
        os.kill(int((self.folder / "pid0").read_text()), signal.SIGTERM)
        self.assertEqual(job.wait(60), 0)


if __name__ == "__main__":
    unittest.main()
