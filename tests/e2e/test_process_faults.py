"""A process that dies, stops, does not come, or gets something else ends all of them, in time and with a reason."""

import contextlib
import os
import shutil
import signal
import time
import unittest
from pathlib import Path

from tests.e2e.processes import LLAMA, ProcessTest, by_hand
from tests.support import BUILD, data_sets, model_file

# What whoever is told of, or finds it, was last known to do.
AT_WHAT = r"(all_reduce|all_gather) at node '.+'|\) between kernels"


class FaultTest(ProcessTest):
    def setUp(self):
        super().setUp()
        self.data = data_sets(LLAMA)

    def tp(self, size):
        return self.artifact(model_file(LLAMA), f"--tp {size}")

    def ended(self, processes, seconds=5):
        start = time.monotonic()
        result = self.finish(processes, timeout=seconds + 10)
        self.assertLess(time.monotonic() - start, seconds)
        return result


class Replacements(FaultTest):
    """Others go on with a process that takes the place of one that is gone."""

    def test_another_process_takes_its_place(self):
        for gone in (1, 0):
            with self.subTest(rank=gone):
                places, artifact = by_hand(2), self.tp(2)
                arguments = ("--inputs", self.data[0], "--rejoin", 1, "--repeat")
                processes = self.start(places, artifact, *arguments, 10**6)
                self.wait_until(lambda: all(self.has_started(process.pid) for process in processes))
                processes[gone].kill()
                processes[gone].wait()
                # A rank 0 that is new says how much is still to be done.
                other = self.start([places[gone]], artifact, *arguments, 20)[0]
                if gone == 0:
                    statuses, out, errors = self.finish([other, processes[1]])
                    self.assertEqual(statuses, [0, 0], errors)
                    self.assertIn("2 ranks, 20 runs", out)
                else:
                    self.wait_until(lambda: self.has_started(other.pid))
                    self.assertEqual([processes[0].poll(), other.poll()], [None, None])
                    other.kill()  # more often than it is waited for
                    statuses, _, errors = self.finish(processes)
                    self.assertEqual(statuses, [4, -9], errors)
                    self.assertEqual(errors.count("waits for another process"), 1, errors)


class Losses(FaultTest):
    """Each ends all processes, in time and with a reason."""

    def test_a_rank_that_dies(self):
        for dead in (2, 0):
            with self.subTest(rank=dead):
                processes = self.running(by_hand(4), self.tp(4), self.data[0])
                processes[dead].kill()
                statuses, _, errors = self.ended(processes)
                self.assertEqual(statuses, [-9 if rank == dead else 4 for rank in range(4)], errors)
                self.assertRegex(errors, rf"rank {dead} \(tp {dead}\).* has died")
                self.assertRegex(errors, AT_WHAT)
                self.assertEqual(errors.count("error:"), 1, errors)

    def test_a_rank_that_stalls(self):
        processes = self.running(by_hand(4), self.tp(4), self.data[0])
        processes[3].send_signal(signal.SIGSTOP)
        statuses, _, errors = self.ended(processes[:3])
        self.assertEqual(statuses, [4] * 3, errors)
        self.assertRegex(errors, r"no sign of life .* rank 3 \(tp 3\)")
        self.assertRegex(errors, AT_WHAT)
        processes[3].send_signal(signal.SIGCONT)
        self.assertEqual(self.ended(processes[3:])[0], [4], "it learns of it")

    def test_a_rank_that_is_slow(self):
        """Its process lives, but does not come: the others name it and what they wait for."""
        places = [place | {"SHARDC_TIMEOUT": 1, "SHARDC_HEARTBEAT": 0} for place in by_hand(2)]
        processes = self.running(places, self.tp(2), self.data[0])
        processes[1].send_signal(signal.SIGSTOP)
        statuses, _, errors = self.ended(processes[:1])
        self.assertEqual(statuses, [4], errors)
        # Where it was stopped decides whether a collective or its part of an output is missing.
        self.assertRegex(errors, r"rank 0 \(tp 0\) waited 1 s.* rank 1 \(tp 1\)")
        processes[1].send_signal(signal.SIGCONT)
        self.ended(processes[1:])


class LossesOverTcp(Losses):
    environment = {"SHARDC_SHARED_MEMORY": 0}


@unittest.skipUnless((BUILD / "lib/libshardrt_ucx.so").exists(), "needs UCX (libucx-dev)")
class LossesOverUcx(Losses):
    environment = {"SHARDC_SHARED_MEMORY": 0, "SHARDC_NETWORK": "ucx"}


class Networks(FaultTest):
    def test_processes_that_were_told_different_ones(self):
        places = [place | {"SHARDC_SHARED_MEMORY": 0} for place in by_hand(2)]
        places[1]["SHARDC_NETWORK"] = "ucx"
        statuses, _, errors = self.ended(self.start(places, self.tp(2), "--inputs", self.data[0]))
        self.assertEqual(statuses, [4, 4], errors)
        if (BUILD / "lib/libshardrt_ucx.so").exists():
            self.assertIn("SHARDC_NETWORK is ucx here, and tcp at rank 0: expected the same everywhere", errors)
        else:
            self.assertIn("install UCX (libucx-dev)", errors)


class SharedMemory(FaultTest):
    """What processes of one machine send each other lies in their outboxes, files without a name."""

    def outboxes(self, process):
        """The paths at which others find those of a process."""
        found = []
        for entry in Path(f"/proc/{process.pid}/fd").iterdir():
            with contextlib.suppress(OSError):  # closed meanwhile
                if "memfd:shardc-outbox" in os.readlink(entry):
                    found.append(entry)
        return found

    def test_is_mapped_by_all_and_nobody_makes_it_shorter(self):
        processes = self.running(by_hand(4), self.tp(4), self.data[0])
        for process in processes:
            files = self.outboxes(process)
            self.assertEqual(len(files), 4, "its own, and those of the others")
            for file in files:
                with self.assertRaises(PermissionError):
                    os.truncate(file, 0)
        time.sleep(0.5)
        self.assertEqual([process.poll() for process in processes], [None] * 4)

    def test_is_not_used_where_it_is_switched_off(self):
        for process in self.running([place | {"SHARDC_SHARED_MEMORY": 0} for place in by_hand(2)], self.tp(2), self.data[0]):
            self.assertEqual(self.outboxes(process), [])

    @unittest.skipUnless(shutil.which("unshare") and os.geteuid() == 0, "needs root and unshare")
    def test_where_processes_do_not_see_each_other(self):
        """As those of containers: they say why, and go on over TCP."""
        prefix = lambda rank: ["unshare", "--pid", "--fork", "--kill-child"] if rank else []
        processes = self.start(by_hand(2), self.tp(2), "--inputs", self.data[0], "--expect", self.data[0], prefix=prefix)
        statuses, _, errors = self.ended(processes, 30)
        self.assertEqual(statuses, [0, 0], errors)
        for rank in range(2):
            text = f"warning: rank {rank} shares no memory with rank {1 - rank}: its processes are not seen from here"
            self.assertEqual(errors.count(text), 1, errors)


class Faults(FaultTest):
    """Each ends all processes, in time and with a reason."""

    def test_inputs_are_those_of_rank_0(self):
        """Others may have none, or other ones: rank 0 sends them its own."""
        for others in (self.data[1], self.folder / "none"):
            processes = []
            for rank, place in enumerate(by_hand(4)):
                data = others if rank else self.data[0]
                processes += self.start([place], self.tp(4), "--inputs", data, "--expect", data)
            statuses, _, errors = self.ended(processes, 30)
            self.assertEqual(statuses, [0] * 4, errors)

    def test_an_input_that_rank_0_lacks(self):
        processes = []
        for rank, place in enumerate(by_hand(2)):
            processes += self.start([place], self.tp(2), "--inputs", self.data[0] if rank else self.folder / "none")
        statuses, _, errors = self.ended(processes, 30)
        self.assertEqual(statuses, [2] * 2, errors)
        self.assertRegex(errors, "none")
        self.assertEqual(errors.count("error:"), 1, errors)

    def test_another_number_of_processes(self):
        statuses, _, errors = self.finish(self.start(by_hand(2), self.tp(4), "--inputs", self.data[0]))
        self.assertEqual(statuses, [4, 4])
        self.assertIn("is for 4 ranks, but 2 processes were started", errors)

    def test_another_artifact_on_one_rank(self):
        other = self.artifact(model_file(LLAMA), "--cp 2", to="other.shard")
        processes = []
        for rank, place in enumerate(by_hand(2)):
            processes += self.start([place], self.tp(2) if rank == 0 else other, "--inputs", self.data[0])
        statuses, _, errors = self.ended(processes, 30)
        self.assertEqual(statuses, [4, 4])
        self.assertRegex(errors, "the artifact .* differs between the processes")

    def test_a_rank_that_never_comes(self):
        places = [place | {"SHARDC_TIMEOUT": 2} for place in by_hand(3)]
        statuses, _, errors = self.ended(self.start(places[:2], self.tp(3), "--inputs", self.data[0]), 10)
        self.assertEqual(statuses, [4, 4])
        self.assertRegex(errors, r"1 of 3 processes did not come \(rank 2\)")

    def test_a_secret_of_the_job(self):
        """All know it; one knows another; one knows none."""
        secrets = lambda *texts: [place | ({"SHARDC_JOB_SECRET": t} if t else {}) for place, t in zip(by_hand(2), texts)]
        inputs = ["--inputs", self.data[0], "--expect", self.data[0]]
        self.run_processes(secrets("s3cret", "s3cret"), self.tp(2), *inputs)
        for texts in (("right", "wrong"), ("right", ""), ("", "right")):
            with self.subTest(texts):
                places = [place | {"SHARDC_TIMEOUT": 3} for place in secrets(*texts)]
                statuses, _, errors = self.ended(self.start(places, self.tp(2), *inputs), 20)
                self.assertEqual(statuses, [4, 4], errors)
                self.assertRegex(errors, "rank 0 at 127.0.0.1:.* SHARDC_JOB_SECRET to the same text")
                self.assertLessEqual(len(errors.strip().splitlines()), 2, errors)

    def test_an_interface_that_is_not_there(self):
        places = [place | {"SHARDC_INTERFACE": "nosuch0"} for place in by_hand(2)]
        statuses, _, errors = self.ended(self.start(places, self.tp(2), "--inputs", self.data[0]), 20)
        self.assertEqual(statuses, [2, 2])
        self.assertIn("SHARDC_INTERFACE is 'nosuch0', expected the name or an address of", errors)

    def test_a_comparison_that_fails(self):
        expected = ["--inputs", self.data[0], "--expect", self.data[1]]
        statuses, _, errors = self.finish(self.start(by_hand(2), self.tp(2), *expected))
        self.assertEqual(statuses, [1, 1], errors)
        self.assertEqual(errors.count("error:"), 1, errors)

    def test_malformed_variables(self):
        for name, value in (("SHARDC_RANK", "x"), ("SHARDC_WORLD_SIZE", "0"), ("SHARDC_RENDEZVOUS", "host"), ("SHARDC_SHARED_MEMORY", "yes"), ("SHARDC_NETWORK", "fax")):
            place = by_hand(2)[1] | {name: value}
            statuses, _, errors = self.finish(self.start([place], self.tp(2), "--inputs", self.data[0]))
            self.assertEqual(statuses, [2], name)
            self.assertIn(name, errors)
