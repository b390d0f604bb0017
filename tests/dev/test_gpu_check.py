"""tools/gpu-check counts what a program of tests says, and what it does not live to say; no bad test costs another."""

import contextlib
import importlib.util
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
from importlib.machinery import SourceFileLoader
from pathlib import Path
from unittest import mock

from tests.support import BUILD, ROOT

# A program of GoogleTest's: what its tests do, by name, is in `plan` beside it. Each process notes that it began.
PROGRAM = """#!{python}
import json, os, signal, sys, time
from pathlib import Path

home = Path(__file__).parent
plan = json.loads((home / "plan").read_text())
given = dict(argument[2:].partition("=")[::2] for argument in sys.argv[1:])
if "gtest_flagfile" in given:
    given |= dict(line[2:].partition("=")[::2] for line in Path(given["gtest_flagfile"]).read_text().split())
if "gtest_list_tests" in given:
    for name in plan:
        print(name.partition(".")[0] + ".\\n  " + name.partition(".")[2] + "  # GetParam() = 1")
    sys.exit()
with (home / "processes").open("a") as log:
    log.write(os.environ.get("CUDA_LAUNCH_BLOCKING", "0"))
status = 0
for name in given["gtest_filter"].split(":"):
    if name not in plan:
        continue
    print("[ RUN      ]", name, flush=True)
    does, said = plan[name], {{"FAILED": "File.cpp:7: Failure"}}
    if does == "die":
        print("no kernel image", flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    if does == "hang":
        time.sleep(60)
    if does not in ("OK", "SKIPPED"):
        status = 1
    if does not in ("OK", "SKIPPED", "FAILED"):
        print(does)
        does = "OK" if "=====" in does else "FAILED"
    if does == "FAILED":
        print("File.cpp:7: Failure")
    suffix = ", where GetParam() = 1" if does == "FAILED" else ""
    print(f"[ {{does:>8}} ] {{name}}{{suffix}} (3 ms)", flush=True)
sys.exit(status)
"""
STAYS = "an illegal memory access was encountered"
FINDING = "========= Invalid __global__ read of size 4 bytes"


class GpuCheck(unittest.TestCase):
    def setUp(self):
        sys.path.insert(0, str(ROOT / "tools"))
        self.addCleanup(sys.path.remove, str(ROOT / "tools"))
        loader = SourceFileLoader("gpu_check", str(ROOT / "tools/gpu-check"))
        self.check = importlib.util.module_from_spec(importlib.util.spec_from_loader("gpu_check", loader))
        loader.exec_module(self.check)
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.folder / "bin").mkdir()

    def executable(self, path, text):
        path = self.folder / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
        return path

    def run_tests(self, plan, limit=60, sanitizer=(), deadline=None, goes_on=False, **options):
        """The tally, and what was printed."""
        self.executable("bin/tests", PROGRAM.format(python=sys.executable))
        (self.folder / "bin/plan").write_text(json.dumps(plan))
        (self.folder / "bin/processes").unlink(missing_ok=True)
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            tally = self.check.Tally(self.folder, "stamp", goes_on)
            tally.start("kernels")
            program = self.check.TestProgram(self.folder, "tests", limit, sanitizer)
            self.check.run_tests(program, tally, deadline, **options)
        return tally, said.getvalue()

    def processes(self):
        return (self.folder / "bin/processes").read_text()

    def expect(self, tally, passed, failed):
        self.assertEqual((tally.passed, tally.failed), (passed, failed))

    def test_all_that_end_are_counted(self):
        tally, said = self.run_tests({"K.add": "OK", "B/S.copy/cuda": "FAILED", "B/S.copy/host": "SKIPPED"})
        self.expect(tally, 1, 1)
        self.assertIn("FAIL  B/S.copy/cuda: \nFile.cpp:7: Failure", said)
        self.assertIn("skip  B/S.copy/host", said)
        self.assertEqual((self.folder / "log/kernels.txt").read_text(), said)

    def test_what_comes_behind_a_test_that_dies_is_run(self):
        tally, said = self.run_tests({"K.add": "OK", "K.sub": "die", "K.mul": "OK", "K.div": "die", "K.neg": "OK"})
        self.expect(tally, 3, 2)
        self.assertIn("FAIL  K.sub: \nit ended with -9\nno kernel image", said)

    def test_what_comes_behind_a_test_that_hangs_is_run(self):
        tally, said = self.run_tests({"K.add": "OK", "K.sub": "hang", "K.mul": "OK"}, limit=1)
        self.expect(tally, 2, 1)
        self.assertIn("FAIL  K.sub: \ntook more than 1 s", said)

    def test_an_error_that_stays_has_one_victim(self):
        tally, _ = self.run_tests({"K.add": STAYS, "K.sub": "OK", "K.mul": "FAILED"})
        self.expect(tally, 1, 2)
        self.assertEqual(self.processes(), "0011", "two, then each that failed alone")

    def test_a_failed_test_is_run_alone(self):
        tally, said = self.run_tests({"K.add": "FAILED"})
        self.expect(tally, 0, 1)
        self.assertIn("alone, K.add: it fails, too:\nFile.cpp:7: Failure", said)
        self.assertEqual(self.processes(), "01", "where each launch is waited for")

    def test_where_nothing_works_it_ends(self):
        names = [f"K.t{i}" for i in range(60)]
        tally, said = self.run_tests(dict.fromkeys(names, "die"))
        self.assertEqual(tally.failed, 26)
        self.assertIn("35 more were not run", said)

    def test_a_program_that_does_not_start_has_failed(self):
        self.executable("bin/other", "#!/bin/sh\nexit 127\n")
        with contextlib.redirect_stdout(io.StringIO()) as said:
            tally = self.check.Tally(self.folder, "stamp", False)
            self.check.run_tests(self.check.TestProgram(self.folder, "other", 60), tally)
        self.expect(tally, 0, 1)
        self.assertIn("FAIL  other: has no test like *", said.getvalue())

    def test_a_gpu_that_does_not_answer_ends_it(self):
        with mock.patch("gpu_tests.gpu_answers", return_value=False), self.assertRaisesRegex(Exception, "does not answer"):
            self.run_tests({"K.add": "die", "K.sub": "OK"})

    def test_findings_of_the_sanitizer_are_failures(self):
        plan = {"K.add": FINDING, "K.sub": "========= ERROR SUMMARY: 0 errors", "K.mul": "OK"}
        sanitizer = self.executable("bin/sanitizer", '#!/bin/sh\necho "========= COMPUTE-SANITIZER"\nexec "$@"\n')
        tally, said = self.run_tests(plan, sanitizer=[sanitizer])
        self.expect(tally, 2, 1)
        self.assertIn(f"FAIL  K.add: \n{FINDING}", said)

    def test_each_nth_test(self):
        tally, _ = self.run_tests({f"K.t{i}": "OK" for i in range(7)}, every=3)
        self.expect(tally, 3, 0)

    def test_what_is_left_at_the_deadline_runs_later(self):
        plan = {"K.add": "FAILED", "K.sub": "hang", "K.mul": "OK"}
        import time

        tally, _ = self.run_tests(plan, deadline=time.monotonic() + 1.5)
        self.expect(tally, 0, 1)
        self.assertEqual(tally.left, 2)
        tally, said = self.run_tests(plan | {"K.sub": "OK"}, goes_on=True)
        self.expect(tally, 2, 1)
        self.assertEqual(tally.left, 0)
        self.assertIn("goes on behind 1 tests", said)
        self.assertEqual(self.processes(), "0")
        self.assertIn("K.add", (self.folder / "log/kernels.txt").read_text(), "what was said before stays")


class GpuBuild(unittest.TestCase):
    """A machine without packages: what is where."""

    def setUp(self):
        sys.path.insert(0, str(ROOT / "tools"))
        self.addCleanup(sys.path.remove, str(ROOT / "tools"))
        import gpu_build
        import gpu_tests

        self.build, self.tests = gpu_build, gpu_tests
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.enterContext(mock.patch.object(gpu_build, "INSTALLED", self.folder / "installed"))
        self.enterContext(mock.patch.object(gpu_build, "ROOT", self.folder / "tree"))
        self.enterContext(mock.patch.object(sys, "path", []))
        self.enterContext(mock.patch.object(sys, "prefix", str(self.folder / "none")))
        (self.folder / "bin").mkdir()
        self.enterContext(mock.patch.dict(os.environ, {"PATH": f"{self.folder}/bin:/bin"}))
        for name in ("CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV"):
            os.environ.pop(name, None)

    def add_nvcc(self, folder, release="13.0"):
        nvcc = self.folder / folder / "bin/nvcc"
        nvcc.parent.mkdir(parents=True)
        nvcc.write_text(f"#!/bin/sh\necho 'Cuda compilation tools, release {release}, V{release}.88'\n")
        nvcc.chmod(0o755)
        return nvcc

    def test_a_toolkit_where_installers_put_it(self):
        self.add_nvcc("installed/cuda", "12.8")
        nvcc = self.add_nvcc("installed/cuda-13.0")
        self.assertEqual(self.build.find_nvcc()[0], nvcc)

    def test_a_toolkit_in_wheels_of_an_environment_that_is_not_active(self):
        wheels = "tree/.venv/lib/python3.12/site-packages/nvidia"
        nvcc = self.add_nvcc(f"{wheels}/cu13")
        for part in ("cu13", "nccl", "cudnn"):
            (self.folder / wheels / part / "lib").mkdir(parents=True)
            (self.folder / wheels / part / "include").mkdir()
        flags = self.build.cuda_hints()
        self.assertIn(f"-DSHARDC_NVCC={nvcc}", flags)
        for part in ("cu13", "nccl", "cudnn"):
            self.assertTrue(any(f"nvidia/{part}/lib" in flag for flag in flags), part)
            self.assertTrue(any(f"nvidia/{part}/include" in flag for flag in flags), part)

    def test_the_sanitizer_is_the_toolkits(self):
        self.assertIsNone(self.tests.find_sanitizer())
        for version in ("13.0", "12.8"):
            self.add_nvcc(f"installed/cuda-{version}", version)
            found = self.folder / f"installed/cuda-{version}/bin/compute-sanitizer"
            found.write_text("#!/bin/sh\n")
            found.chmod(0o755)
        self.assertEqual(self.tests.find_sanitizer(), str(self.folder / "installed/cuda-13.0/bin/compute-sanitizer"))

    def test_no_toolkit_of_this_version(self):
        nvcc = self.add_nvcc("installed/cuda", "12.8")
        with self.assertRaisesRegex(SystemExit, f"no nvcc of CUDA 13.*{nvcc}.*set CUDA_HOME"):
            self.build.cuda_hints()

    def test_tools_beside_a_python(self):
        ninja = self.folder / "tree/.venv/bin/a-ninja"
        ninja.parent.mkdir(parents=True)
        ninja.write_text("#!/bin/sh\n")
        ninja.chmod(0o755)
        self.assertEqual(self.build.find_tool("a-ninja"), str(ninja))

    def test_a_build_that_takes_too_long_is_stopped(self):
        self.assertFalse(self.build.run_within(["sleep", "60"], 0.2))
        self.assertTrue(self.build.run_within(["true"], 60))
        with self.assertRaisesRegex(SystemExit, "false ended with 1"):
            self.build.run_within(["false"], None)


class Configure(unittest.TestCase):
    """CMake on such a machine, with a toolkit of empty files."""

    FILES = ("targets/x86_64-linux/include/cuda_runtime_api.h", "targets/x86_64-linux/lib/libcudart_static.a")
    WHEELS = ("include/cublasLt.h", "include/nccl.h", "lib/libcublasLt.so.13", "lib/libnccl.so.2")

    def configure(self, *flags, without=()):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        nvcc = self.folder / "toolkit/bin/nvcc"
        nvcc.parent.mkdir(parents=True)
        nvcc.write_text("#!/bin/sh\n")
        nvcc.chmod(0o755)
        for home, names in (("toolkit", self.FILES), ("wheels", self.WHEELS)):
            for name in names:
                if name not in without:
                    file = self.folder / home / name
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.touch()
        wheels = self.folder / "wheels"
        hints = [f"-DSHARDC_NVCC={nvcc}", f"-DSHARDC_CUDA_LIBRARIES={wheels}/lib", f"-DSHARDC_CUDA_INCLUDES={wheels}/include"]
        command = ["cmake", "-S", ROOT / "runtime", "-B", self.folder / "build", "-G", "Ninja", *hints, *flags]
        command += ["-DSHARDC_BUILD_TESTS=OFF", "-DSHARDC_CUDA_REQUIRED=ON", "-DSHARDC_CUDA=ON"]
        return subprocess.run(command, capture_output=True, text=True)

    def test_libraries_beside_nvcc_and_in_wheels(self):
        done = self.configure()
        self.assertEqual(done.returncode, 0, done.stderr)
        cache = (self.folder / "build/CMakeCache.txt").read_text()
        for name, home in (("CUDA_INCLUDE", "toolkit/targets"), ("CUDART", "toolkit/targets"), ("CUBLASLT", "wheels"),
                           ("NCCL", "wheels"), ("CUBLASLT_INCLUDE", "wheels")):  # fmt: skip
            self.assertRegex(cache, rf"SHARDC_{name}:\w+={self.folder}/{home}", name)

    def test_names_for_profilers_need_no_header(self):
        """Not each set of wheels has NVTX."""
        said = subprocess.run(["c++", "-xc++", "-E", "-v", "/dev/null"], capture_output=True, text=True).stderr
        folders = [Path(line[1:]) for line in said.splitlines() if line.startswith(" /") and Path(line[1:]).is_dir()]
        include = [ROOT, BUILD / "runtime/generated", *(f for f in folders if not (f / "nvtx3/nvToolsExt.h").exists())]
        command = ["c++", "-std=c++20", "-Wall", "-Werror", "-fsyntax-only", "-nostdinc"]
        command += [part for folder in include for part in ("-isystem", folder)]
        done = subprocess.run([*command, ROOT / "runtime/device/cuda/trace/NvtxRange.cpp"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_what_is_missing_is_said(self):
        done = self.configure("-DSHARDC_NCCL=OFF", "-DSHARDC_CUBLASLT_INCLUDE=OFF")
        self.assertNotEqual(done.returncode, 0)
        text = " ".join(done.stderr.split())
        self.assertIn("CUBLASLT_INCLUDE, NCCL", text)
        self.assertIn("SHARDC_CUDA_LIBRARIES", text)


if __name__ == "__main__":
    unittest.main()
