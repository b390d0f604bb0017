//===- FromHf.h - A folder of Hugging Face becomes a model in ONNX --------===//
#ifndef SHARDC_TOOLS_SHARDC_FROM_HF_FROMHF_H
#define SHARDC_TOOLS_SHARDC_FROM_HF_FROMHF_H

#include <string>

namespace shardc {

struct FromHfOptions {
  std::string folder; ///< with config.json and weights
  std::string output; ///< folder to make
  std::string exporter = "auto", precision = "fp32";
  std::string python; ///< see runPythonScript
};

/// Calls the exporter that is installed (the model builder of ONNX Runtime GenAI
/// for decoders, else optimum-onnx), with caches and an open batch, offline. The
/// folder appears once all is there, with tokenizer and configuration beside the
/// model, which is then checked. Returns the exit status.
int exportFromHf(const FromHfOptions &options);

} // namespace shardc

#endif // SHARDC_TOOLS_SHARDC_FROM_HF_FROMHF_H
