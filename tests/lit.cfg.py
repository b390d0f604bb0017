# lit's settings for FileCheck tests: .mlir and .test files anywhere under tests/, run by `./run-tests lit`.
import os

import lit.formats

config.name = "shardc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["models", "unit"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.shardc_build, "tests")

# shardc, shardrun and shard-opt; FileCheck, not and count; the Python that has numpy and onnx.
tools = [os.path.join(config.shardc_build, "bin"), config.llvm_tools, os.path.join(config.shardc_root, ".venv", "bin")]
config.environment["PATH"] = os.pathsep.join(tools + [config.environment["PATH"]])

config.substitutions.append(("%models", os.path.join(config.test_source_root, "models")))
