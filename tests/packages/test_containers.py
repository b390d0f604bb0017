"""The Containerfiles, without an engine: a bare root stands for the image that they begin with, and each of their commands runs
in it. Debian's own packages are those of this machine, and Python's those of its environment, so that nothing is downloaded: in
place of apt-get is a script that installs files, and knows of a name only whether it is there."""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
import urllib.request
from importlib import metadata
from pathlib import Path

import onnx
from packaging.requirements import Requirement

from tests.e2e.caches import VOCABULARY
from tests.e2e.processes import free_port
from tests.e2e.test_rows import PAGE, text_decoder
from tests.packages.made import packages
from tests.packages.test_debs import bare_root, closure, names, run
from tests.python.small_tokenizers import letters
from tests.support import BIN, ROOT, model_file

FILES = ROOT / "examples/containers"
BASE = ("apt", "bash", "coreutils", "dash", "diffutils", "dpkg", "findutils", "grep", "libc-bin", "sed", "tar")  # of what a slim Debian has
APT = r"""#!/bin/sh
set -e
[ "$1" != update ] || exit 0
[ "$1" = install ] && shift
for each in "$@"; do
  case "$each" in
  -*) ;;
  /*) debs="$debs $each" ;;
  *) dpkg-query -W -f '${Status}\n' "$each" | grep -q 'ok installed' ;;
  esac
done
[ -z "$debs" ] || exec dpkg --no-triggers -i $debs
"""


def enter(root, user):
    """Before a command in it, which sees processes as in a container: where a program is, it learns by /proc."""
    script = 'chroot=$0 root=$1 user=$2; shift 2; mount --bind /proc "$root/proc" && exec "$chroot" --userspec="$user" "$root" "$@"'
    return [shutil.which("unshare"), "-m", shutil.which("sh"), "-c", script, shutil.which("chroot"), root, user]


def instructions(file):
    """(name, rest) of each, lines that go on put together."""
    text = re.sub(r"^#.*\n", "", file.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    return [tuple(line.split(" ", 1)) for line in text.splitlines() if line.strip()]


def python_packages(requirements):
    """What these need, as this environment has it: files below site-packages."""
    found, rest = {}, [Requirement(each) for each in requirements]
    while rest:
        wanted = rest.pop()
        if wanted.name in found or (wanted.marker and not wanted.marker.evaluate({"extra": ""})):
            continue
        distribution = metadata.distribution(wanted.name)
        found[wanted.name] = distribution
        rest += [Requirement(each) for each in distribution.requires or ()]
    return found.values()


@unittest.skipUnless(os.getuid() == 0 and shutil.which("dpkg-deb") and shutil.which("unshare"), "a bare root takes root, of a Debian")
class Containers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name).resolve()
        for tool in ("wheel", "deb"):
            shutil.copytree(packages(tool)[0], cls.folder / "dist", dirs_exist_ok=True)

    def build(self, name):
        """The image's root, environment, user and command."""
        directory = "/"
        root, environment, user, command, entry = self.folder / name, {"PATH": "/usr/sbin:/usr/bin", "HOME": "/tmp"}, "0", [], []
        steps = instructions(FILES / f"Containerfile.{name}")
        self.assertEqual(steps[0], ("FROM", "debian:12-slim"))
        asked = {word for step, rest in steps if step == "RUN" for part in re.findall(r"apt-get install ([^&]*)", rest)
                 for word in part.split() if word[0] not in "-/"}  # fmt: skip
        copied = [deb for step, rest in steps if step == "COPY" for each in rest.split()[:-1] for deb in self.folder.glob(each)]
        needed = {each for deb in copied if deb.suffix == ".deb" for each in names(run("dpkg-deb", "-f", deb, "Depends"))}
        own = {deb.name.split("_")[0] for deb in copied}
        bare_root(root, closure([*BASE, *asked, *(needed - own)]))
        (root / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n")
        (root / "etc/group").write_text("root:x:0:\nnogroup:x:65534:\n")
        (root / "tmp").chmod(0o1777)
        os.mknod(root / "dev/null", 0o666 | 0o020000, os.makedev(1, 3))
        (root / "dev/null").chmod(0o666)
        apt = root / "usr/sbin/apt-get"
        apt.write_text(APT)
        apt.chmod(0o755)
        for step, rest in steps[1:]:
            if step == "COPY":
                *sources, target = rest.split()
                (root / target[1:]).mkdir(parents=True, exist_ok=True)
                found = [file for each in sources for file in self.folder.glob(each)]
                self.assertEqual(len(found), len(sources), rest)
                for file in found:
                    shutil.copy(file, root / target[1:])
            elif step == "RUN":
                offline = {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_ROOT_USER_ACTION": "ignore"}
                run(*enter(root, "0"), "/bin/sh", "-c", rest, env=environment | offline)
            elif step == "ENV":
                name, value = rest.split("=", 1)
                environment[name] = value.replace("$PATH", environment["PATH"])
            elif step == "USER":
                user = {"nobody": "65534:65534"}[rest]
            elif step == "WORKDIR":
                (root / rest[1:]).mkdir(parents=True, exist_ok=True)
                directory = rest
            elif step in ("ENTRYPOINT", "CMD"):
                entry, command = (json.loads(rest), command) if step == "ENTRYPOINT" else (entry, json.loads(rest))
            else:
                self.assertEqual(step, "EXPOSE")
        self.directory = directory
        self.assertFalse(list((root / "tmp").iterdir()), "what is built with is left")
        return root, environment, user, entry, command

    def add_python_packages(self, root, requirements):
        """As pip would have put them there from an index."""
        site = next((root / "srv").glob("*/lib/python3*/site-packages"))
        for distribution in python_packages(requirements):
            for file in distribution.files:
                source = Path(distribution.locate_file(file))
                if ".." not in file.parts and source.is_file():
                    (site / file).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(source, site / file)

    def command(self, root, user, *words):
        return [*enter(root, user), "/bin/sh", "-c", 'cd "$0" && exec "$@"', self.directory, *words]

    def test_serve(self):
        root, environment, user, entry, _ = self.build("serve")
        self.add_python_packages(root, ["numpy", "fastapi", "uvicorn", "tokenizers", "jinja2"])
        onnx.save(text_decoder(), self.folder / "model.onnx")
        letters(VOCABULARY).save(str(self.folder / "tokenizer.json"))
        run(BIN / "shardc", self.folder / "model.onnx", "--tp", 2, f"--serve={PAGE}", "--weights", "copy", "-o", root / "model")
        shutil.copy(self.folder / "tokenizer.json", root / "model")
        port = free_port()
        command = self.command(root, user, *entry, "--port", str(port), "--positions", "400", "--tokenizer", "/model")
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
            try:
                said = ""
                while f":{port}" not in said:  # behind a warning that anybody may ask
                    line = process.stdout.readline()
                    said += line
                    self.assertTrue(line, said)
                asked = urllib.request.Request(f"http://127.0.0.1:{port}/v1/completions", headers={"content-type": "application/json"},
                                               data=json.dumps({"model": "model", "prompt": "hello", "max_tokens": 3}).encode())  # fmt: skip
                deadline = time.monotonic() + 60
                while True:
                    try:
                        answer = json.loads(urllib.request.urlopen(asked, timeout=60).read())
                        break
                    except OSError:
                        self.assertLess(time.monotonic(), deadline)
                        time.sleep(0.2)
                self.assertEqual(answer["usage"]["prompt_tokens"], 5)
            finally:
                process.send_signal(signal.SIGTERM)
                process.wait(60)

    def test_python(self):
        root, environment, user, entry, command = self.build("python")
        self.add_python_packages(root, ["numpy"])
        self.assertEqual((entry, command), ([], ["python3"]))
        shutil.copytree(model_file("llama-dynamo-op18").parent, root / "work/model")
        script = ("import shardc, shardrt; shardc.compile('model/model.onnx', 'model.shard', tp=2, weights_type='int8'); "
                  "print(shardrt.Session('model.shard'))")  # fmt: skip
        self.assertIn("2 ranks", run(*self.command(root, user, *command, "-c", script), env=environment))

    def test_programs(self):
        """What one compiles the other runs."""
        compiler = self.build("shardc")
        data = model_file("llama-dynamo-op18").parent
        shutil.copytree(data, compiler[0] / "work/model")
        run(*self.command(compiler[0], compiler[2], *compiler[3], "model/model.onnx", "--tp", "2", "--weights", "copy", "-o", "m.shard"),
            env=compiler[1])  # fmt: skip
        runner = self.build("shardrun")
        shutil.copytree(compiler[0] / "work", runner[0] / "work", dirs_exist_ok=True)
        said = run(*self.command(runner[0], runner[2], *runner[3], "m.shard", "--inputs", "model/test_data_set_0", "--expect",
                                 "model/test_data_set_0"), env=runner[1])  # fmt: skip
        self.assertIn("2 ranks, 1 run", said)


if __name__ == "__main__":
    unittest.main()
