"""What tests with one process a rank share: starting them by hand or as launchers do, and waiting for their end."""

import os
import random
import shutil
import socket
import subprocess
import time
from pathlib import Path

from tests.support import BIN, EndToEnd

LLAMA = "llama-dynamo-op18"


def free_port():
    """Below those that the system gives to connections, one of which might take it meanwhile."""
    while True:
        port = random.randrange(10000, 30000)
        with socket.socket() as found:
            try:
                found.bind(("", port))
                return port
            except OSError:
                pass


def by_hand(size):
    port = free_port()
    place = lambda rank: {"SHARDC_RANK": rank, "SHARDC_WORLD_SIZE": size, "SHARDC_RENDEZVOUS": f"127.0.0.1:{port}"}
    return [place(rank) for rank in range(size)]


def torchrun(size):
    port = free_port() - 1  # torchrun's own store has that one; ranks meet on the next
    place = {"WORLD_SIZE": size, "MASTER_ADDR": "localhost", "MASTER_PORT": port, "TORCHELASTIC_RUN_ID": "run"}
    return [{"RANK": rank, "LOCAL_RANK": rank} | place for rank in range(size)]


def srun(size):
    place = {"SLURM_NTASKS": size, "SLURM_STEP_NODELIST": "localhost", "SLURM_STEP_ID": 0, "SLURM_JOB_ID": os.getpid()}
    return [{"SLURM_PROCID": rank} | place for rank in range(size)]


class ProcessTest(EndToEnd):
    environment = {}  # of all processes

    def start(self, places, artifact, *arguments, own=None, prefix=()):
        """A process for each of `places`, variables of its environment; `own`: more arguments of some, by rank."""
        processes = []
        for rank, place in enumerate(places):
            command = [*(prefix(rank) if prefix else ()), BIN / "shardrun", artifact, *arguments]
            command += (own or {}).get(rank, [])
            environment = os.environ | {name: str(value) for name, value in (self.environment | place).items()}
            process = subprocess.Popen(
                [str(part) for part in command],
                env=environment,
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            self.addCleanup(self.end, process)
            processes.append(process)
        return processes

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.kill()
        process.communicate()

    def wait_until(self, holds, seconds=60):
        deadline = time.monotonic() + seconds
        while not holds():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)

    @staticmethod
    def has_started(pid):
        """Whether it has used half a second of its processor: it is in the middle of its runs."""
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            return False
        return int(fields[11]) + int(fields[12]) > os.sysconf("SC_CLK_TCK") / 2

    def running(self, places, artifact, data):
        """Processes in the middle of many runs."""
        processes = self.start(places, artifact, "--inputs", data, "--repeat", 10**6)
        self.wait_until(lambda: all(self.has_started(process.pid) or process.poll() is not None for process in processes))
        self.assertEqual([process.poll() for process in processes], [None] * len(places))
        return processes

    def finish(self, processes, timeout=120):
        """Exit statuses, what rank 0 printed, and all error texts."""
        texts = [process.communicate(timeout=timeout) for process in processes]
        return [p.returncode for p in processes], texts[0][0], "".join(error for _, error in texts)

    def run_processes(self, places, artifact, *arguments, **options):
        statuses, out, errors = self.finish(self.start(places, artifact, *arguments, **options))
        self.assertEqual(statuses, [0] * len(places), errors)
        return out

    def artifact(self, model, plan, to="plan.shard"):
        target = self.folder / to
        self.run_ok("shardc", model, *plan.split(), "-o", target)
        return target

    def outputs_of(self, folder):
        return {str(f.relative_to(folder)): f.read_bytes() for f in sorted(folder.rglob("output_*.pb"))}

    def assert_like_threads(self, artifact, run, *arguments):
        """`run` writes the bits that one process with threads writes."""
        threads, processes = self.folder / "threads", self.folder / "processes"
        for folder in (threads, processes):
            shutil.rmtree(folder, ignore_errors=True)
        self.run_ok("shardrun", artifact, *arguments, "--outputs", threads)
        out = run(artifact, *arguments, "--outputs", processes)
        self.assertEqual(self.outputs_of(processes), self.outputs_of(threads))
        self.assertTrue(self.outputs_of(threads))
        return out
