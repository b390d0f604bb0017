"""A compiled model behind Triton's Python backend: the ranks are threads of this instance's process."""

import json
import os

import shardrt
import triton_python_backend_utils as utils


class TritonPythonModel:
    def initialize(self, arguments):
        config = json.loads(arguments["model_config"])
        artifact = config["parameters"]["artifact"]["string_value"]
        folder = os.path.join(arguments["model_repository"], arguments["model_version"])
        self.session = shardrt.Session(os.path.join(folder, artifact))
        self.outputs = [output["name"] for output in config["output"]]

    def execute(self, requests):
        return [self._answer(request) for request in requests]

    def _answer(self, request):
        inputs = {tensor.name(): tensor.as_numpy() for tensor in request.inputs()}
        try:
            found = self.session.run(inputs)
        except shardrt.Error as error:
            if self.session.is_lost:
                self.session.reopen()
            return utils.InferenceResponse(error=utils.TritonError(str(error)))
        return utils.InferenceResponse([utils.Tensor(name, found[name]) for name in self.outputs])

    def finalize(self):
        self.session.close()
