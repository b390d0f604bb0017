//===- OnnxRuntime.h - What ONNX Runtime makes of requests ----------------===//
//
// An engine that shares nothing with this one: the model's own file is run in a
// Python that has the package onnxruntime. Inputs and outputs travel in .npz
// files of a folder that goes again.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_TOOLS_SHARDC_VERIFY_ONNXRUNTIME_H
#define SHARDC_TOOLS_SHARDC_VERIFY_ONNXRUNTIME_H

#include "tools/shardc/verify/Requests.h"

namespace shardc::verifier {

/// Of one request: its outputs in order, or why it was refused.
struct ForeignResult {
  std::vector<runtime::Tensor> outputs;
  std::string refusal;
};

/// `python`: the interpreter to use; empty: SHARDC_PYTHON, else the first of
/// python3 on the PATH and .venv/bin/python that has the package.
/// InvalidArgument where there is none.
runtime::Status runOnnxRuntime(const std::string &model,
                               const std::string &python,
                               std::span<const Request> requests,
                               std::span<const runtime::TensorInfo> outputs,
                               std::vector<ForeignResult> &results);

} // namespace shardc::verifier

#endif // SHARDC_TOOLS_SHARDC_VERIFY_ONNXRUNTIME_H
