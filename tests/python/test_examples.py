"""What lies below examples/, as far as it runs without a cluster."""

import importlib.util
import json
import os
import re
import subprocess
import sys
import types
import unittest
from unittest import mock

import numpy as np
import yaml

from tests.e2e.processes import free_port, srun
from tests.python import support
from tests.python.served_texts import ServedTexts
from tests.support import ROOT, EndToEnd, data_sets, model_file, read_outputs

import shardrt  # isort: skip

EXAMPLES = ROOT / "examples"


class Tensor:
    def __init__(self, name, array):
        self._name, self._array = name, array

    def name(self):
        return self._name

    def as_numpy(self):
        return self._array


class Request:
    def __init__(self, inputs):
        self._inputs = inputs

    def inputs(self):
        return self._inputs


class Triton(EndToEnd):
    def test_backend(self):
        """By a stand-in of the module that Triton gives to backends."""
        name = "llama-dynamo-op18"
        utils = types.SimpleNamespace(Tensor=Tensor, TritonError=str,
                                      InferenceResponse=lambda tensors=(), error=None: types.SimpleNamespace(tensors=tensors, error=error))  # fmt: skip
        config = (EXAMPLES / "triton/model/config.pbtxt").read_text()
        outputs = re.search(r"output \[(.*?)^\]", config, re.DOTALL | re.MULTILINE)[1]
        described = {"parameters": {"artifact": {"string_value": re.search(r'string_value: "(.*?)"', config)[1]}},
                     "output": [{"name": each} for each in re.findall(r'name: "(.*?)"', outputs)]}  # fmt: skip
        (self.folder / "1").mkdir()
        self.run_ok("shardc", model_file(name), "--tp", 2, "-o", self.folder / "1/model.shard")
        with mock.patch.dict(sys.modules, {"triton_python_backend_utils": utils}):
            spec = importlib.util.spec_from_file_location("model", EXAMPLES / "triton/model/1/model.py")
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
        model = module.TritonPythonModel()
        model.initialize({"model_config": json.dumps(described), "model_repository": str(self.folder), "model_version": "1"})
        self.addCleanup(model.finalize)
        names = re.findall(r'name: "(.*?)"', re.search(r"^input \[(.*?)^\]", config, re.DOTALL | re.MULTILINE)[1])
        self.assertEqual(names, [info.name for info in model.session.inputs])
        data = data_sets(name)[0]
        import onnx

        given = [Tensor(each, onnx.numpy_helper.to_array(onnx.load_tensor(data / f"input_{i}.pb"))) for i, each in enumerate(names)]
        good, bad = model.execute([Request(given), Request(given[:1])])
        np.testing.assert_allclose(good.tensors[0].as_numpy(), read_outputs(data)[0], rtol=1e-3, atol=1e-4)
        self.assertIn("attention_mask", bad.error)


class Clusters(ServedTexts):
    def command(self, container):
        """What a container runs, here: its artifact, a free port to answer at, and this machine."""
        here = {"shardrt": [sys.executable, "-m", "shardrt"], "/models/model.shard": [str(self.artifact)], "8000": ["0"],
                "0.0.0.0": ["127.0.0.1"]}  # fmt: skip
        self.assertLessEqual(here.keys(), set(container["command"]))
        return [part for given in container["command"] for part in here.get(given, [given])]

    def serve(self, command, places):
        processes = []
        for place in places:
            process = subprocess.Popen(command, cwd=support.PACKAGES[0], env=os.environ | place, text=True,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
            self.addCleanup(lambda process=process: (process.kill(), process.communicate()))
            processes.append(process)
        import httpx

        url = re.search(r"at (http://\S+)", processes[0].stdout.readline())[1]
        asked = {"model": "served", "prompt": [5, 7, 11], "temperature": 0, "ignore_eos": True, "max_tokens": 6, "logprobs": 0}
        answer = httpx.post(f"{url}/v1/completions", json=asked, timeout=60).json()
        ids = [shardrt.Tokenizer.from_file(self.model).id_of(each) for each in answer["choices"][0]["logprobs"]["tokens"]]
        self.assertEqual(ids, self.reference.greedy([5, 7, 11], 6))
        processes[0].terminate()
        self.assertEqual([process.wait(30) for process in processes], [0, 0])

    def test_leader_worker_set(self):
        found, service = yaml.safe_load_all((EXAMPLES / "kubernetes/leaderworkerset.yaml").read_text())
        template = found["spec"]["leaderWorkerTemplate"]
        leader, worker = template["leaderTemplate"], template["workerTemplate"]
        self.assertEqual(leader["spec"]["containers"], worker["spec"]["containers"])
        self.assertEqual(service["spec"]["selector"], leader["metadata"]["labels"])
        (container,) = leader["spec"]["containers"]
        self.assertIn({"containerPort": 29500}, container["ports"], "where ranks meet, unless SHARDC_RENDEZVOUS says another one")
        rendezvous = f"127.0.0.1:{free_port()}"
        self.serve(self.command(container), [{"LWS_WORKER_INDEX": str(i), "LWS_GROUP_SIZE": str(template["size"]), "LWS_LEADER_ADDRESS": "127.0.0.1",
                                              "SHARDC_RENDEZVOUS": rendezvous} for i in range(2)])  # fmt: skip

    def test_job(self):
        service, found = yaml.safe_load_all((EXAMPLES / "kubernetes/job.yaml").read_text())
        pod = found["spec"]["template"]["spec"]
        self.assertEqual(service["metadata"]["name"], pod["subdomain"])
        self.assertEqual(service["spec"]["selector"], {"job-name": found["metadata"]["name"]})
        (container,) = pod["containers"]
        variables = {each["name"]: each["value"] for each in container["env"]}
        self.assertEqual(variables["SHARDC_WORLD_SIZE"], str(found["spec"]["completions"]))
        self.assertEqual(variables["SHARDC_RENDEZVOUS"], f"{found['metadata']['name']}-0.{pod['subdomain']}:29500")
        variables["SHARDC_RENDEZVOUS"] = f"127.0.0.1:{free_port()}"
        self.serve(self.command(container), [variables | {"JOB_COMPLETION_INDEX": str(i)} for i in range(found["spec"]["completions"])])

    def test_slurm(self):
        """srun is one that starts two tasks here with Slurm's variables; it does not tell them to end, which scancel does."""
        folder = self.folder
        places = [" ".join(f"{name}={value}" for name, value in place.items()) for place in srun(2)]
        tasks = "".join(f'{place} "$@" &\npids+=($!)\n' for place in places)
        (folder / "srun").write_text(
            f'#!/bin/bash\nwhile [[ $1 == --* ]]; do shift; done\n{tasks}'
            'echo "${pids[@]}" > "$SLURM_PIDS"\nfor pid in "${pids[@]}"; do wait $pid; done\n'
        )
        (folder / "scancel").write_text('#!/bin/bash\n[ "$*" = "--signal=TERM 4711.0" ] && kill -TERM $(cat "$SLURM_PIDS")\n')
        (folder / "shardrt").write_text(f'#!/bin/bash\nexec {sys.executable} -m shardrt "$@"\n')
        for name in ("srun", "scancel", "shardrt"):
            (folder / name).chmod(0o755)
        environment = {"PATH": f"{folder}:{os.environ['PATH']}", "PORT": "0", "SLURM_JOB_ID": "4711", "SLURM_CPUS_PER_TASK": "1",
                       "SLURM_PIDS": str(folder / "pids")}  # fmt: skip
        process = subprocess.Popen(["bash", EXAMPLES / "slurm/serve.sbatch", self.artifact], cwd=support.PACKAGES[0],
                                   env=os.environ | environment, text=True, stdout=subprocess.PIPE)  # fmt: skip
        self.addCleanup(lambda: (process.kill(), process.communicate()))
        self.assertIn("shardrt serve: served at http://0.0.0.0:", process.stdout.readline())
        process.terminate()
        self.assertEqual(process.wait(60), 0)


if __name__ == "__main__":
    unittest.main()
