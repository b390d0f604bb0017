#include "tools/shardc/verify/OnnxRuntime.h"

#include "runtime/base/Message.h"
#include "runtime/io/Npz.h"
#include "tools/python/PythonScript.h"
#include "tools/shardc/verify/Build.h"
#include "tools/tensors/Compare.h"

#include <fstream>
#include <sstream>

using namespace shardc::runtime;

namespace shardc::verifier {
namespace {

/// Arguments: model, folder, number of requests. Reads I.in.npz, writes
/// I.out.npz with arr_0, arr_1, ... or I.refusal. NumPy has no bfloat16: such
/// inputs and outputs are floats in the files.
constexpr const char kScript[] = R"py(
import sys
sys.path = [folder for folder in sys.path if folder]
try:
    import ctypes
    import numpy as np
    import onnxruntime
except ImportError as error:
    print(error, file=sys.stderr)
    sys.exit(77)
model, folder, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
options = onnxruntime.SessionOptions()
options.log_severity_level = 3
session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
floats = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(double)": np.float64}
BFLOAT16 = 16  # of onnx.TensorProto
names = [output.name for output in session.get_outputs()]
types = [info.type for info in (*session.get_inputs(), *session.get_outputs())]

def narrow(array, type):
    if type != "tensor(bfloat16)":
        return onnxruntime.OrtValue.ortvalue_from_numpy(array)
    bits = (np.asarray(array, np.float32, order="C").view(np.uint32) >> 16).astype(np.uint16)
    return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, BFLOAT16)

def widen(value):
    if value.data_type() != "tensor(bfloat16)":
        return value.numpy()
    shape = value.shape()
    bits = np.frombuffer(ctypes.string_at(value.data_ptr(), 2 * int(np.prod(shape))), np.uint16)
    return (bits.astype(np.uint32) << 16).view(np.float32).reshape(shape)

def run(feeds):
    if "tensor(bfloat16)" not in types:
        return session.run(names, feeds)
    values = {info.name: narrow(feeds[info.name], info.type) for info in session.get_inputs() if info.name in feeds}
    return [widen(value) for value in session.run_with_ort_values(names, values)]

for i in range(count):
    try:
        with np.load(f"{folder}/{i}.in.npz") as given:
            feeds = {}
            for info in session.get_inputs():
                if info.name in given:
                    array = given[info.name]
                    feeds[info.name] = array.astype(floats.get(info.type, array.dtype), copy=False)
        np.savez(f"{folder}/{i}.out.npz", *run(feeds))
    except Exception as error:
        with open(f"{folder}/{i}.refusal", "w") as file:
            file.write(" ".join(str(error).split()))
)py";

std::string readText(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class OnnxRuntime {
public:
  OnnxRuntime(const std::string &model, const std::string &python)
      : model(model), asked(python) {}

  Status run(std::span<const Request> requests,
             std::span<const TensorInfo> outputs,
             std::vector<ForeignResult> &results) {
    SHARDC_RETURN_IF_ERROR(makeFolder(folder));
    for (size_t i = 0; i < requests.size(); ++i) {
      std::vector<Tensor> given(requests[i].inputs.size());
      std::vector<NamedTensorView> views;
      for (size_t k = 0; k < given.size(); ++k) {
        const NamedTensor &named = requests[i].inputs[k];
        SHARDC_RETURN_IF_ERROR(asNumPyHasIt(named.tensor, given[k]));
        views.emplace_back(named.name,
                           given[k].data() ? &given[k] : &named.tensor);
      }
      SHARDC_RETURN_IF_ERROR(writeNpz(path(i, ".in.npz"), views));
    }
    SHARDC_RETURN_IF_ERROR(runScript(requests.size()));
    results.resize(requests.size());
    for (size_t i = 0; i < requests.size(); ++i)
      SHARDC_RETURN_IF_ERROR(read(i, outputs, results[i]));
    return Status::ok();
  }

private:
  std::string path(size_t request, const char *suffix) const {
    return folder.path() + "/" + std::to_string(request) + suffix;
  }

  Status runScript(size_t count) {
    const ScriptResult result =
        runPythonScript(kScript, {model, folder.path(), std::to_string(count)},
                        asked, folder.path() + "/log");
    if (result.status == 0)
      return Status::ok();
    if (result.status > 0)
      return artifactError(
          "--against onnxruntime: it does not run ", model, ": ",
          result.said.empty() ? "no reason given" : result.said);
    return argumentError("--against onnxruntime: no Python that has it: tried ",
                         result.tried,
                         "; install it (pip install onnxruntime), or name such "
                         "a Python with --python or SHARDC_PYTHON");
  }

  Status read(size_t request, std::span<const TensorInfo> infos,
              ForeignResult &result) {
    result.refusal = readText(path(request, ".refusal"));
    if (!result.refusal.empty())
      return Status::ok();
    std::vector<NamedTensor> tensors;
    SHARDC_RETURN_IF_ERROR(readNpz(path(request, ".out.npz"), tensors));
    if (tensors.size() != infos.size())
      return artifactError("--against onnxruntime: it has ", tensors.size(),
                           " outputs, expected ", infos.size());
    for (size_t o = 0; o < infos.size(); ++o) {
      Tensor &output = result.outputs.emplace_back();
      SHARDC_RETURN_IF_ERROR(
          inType(infos[o].element, std::move(tensors[o].tensor), output));
    }
    return Status::ok();
  }

  /// bfloat16 as floats; nothing for all else.
  static Status asNumPyHasIt(const Tensor &from, Tensor &to) {
    return from.element() == artifact::ElementType_BFloat16
               ? tensors::convert(from, artifact::ElementType_Float32, to)
               : Status::ok();
  }

  /// With --precision f64 this side's floats are wider; and what NumPy does not
  /// have came as floats.
  static Status inType(ElementType element, Tensor from, Tensor &to) {
    const bool converts = element == artifact::ElementType_Float64 ||
                          element == artifact::ElementType_BFloat16;
    if (from.element() == element || !converts) {
      to = std::move(from);
      return Status::ok();
    }
    return tensors::convert(from, element, to);
  }

  const std::string &model, &asked;
  files::ScratchFolder folder;
};

} // namespace

Status runOnnxRuntime(const std::string &model, const std::string &python,
                      std::span<const Request> requests,
                      std::span<const TensorInfo> outputs,
                      std::vector<ForeignResult> &results) {
  return OnnxRuntime(model, python).run(requests, outputs, results);
}

} // namespace shardc::verifier
