#include "compiler/quantize/QuantizedFile.h"

#include "compiler/files/OutputFile.h"
#include "compiler/files/SourceFile.h"
#include "compiler/quantize/MatrixQuantizer.h"
#include "dialects/onnx/QuantizedMatrix.h"

#include <map>

using namespace mlir;

namespace shardc::quantize {

bool hasQuantizedWeights(ModuleOp module) {
  return !onnx::quantizedMatrices(module).empty();
}

std::string pathOf(StringRef file, const std::string &modelFolder,
                   const std::string &quantizedFile) {
  return file == onnx::kQuantizedFile ? quantizedFile
                                      : modelFolder + "/" + file.str();
}

std::string writeQuantizedFile(ModuleOp module, const std::string &modelFolder,
                               const std::string &path,
                               const std::function<void(double)> &progress) {
  const auto matrices = onnx::quantizedMatrices(module);
  double all = 0, done = 0;
  for (const onnx::QuantizedMatrix &matrix : matrices)
    all += double(matrix.length);
  std::string problem;
  auto write = [&](llvm::raw_ostream &out) {
    auto padTo = [&](uint64_t offset) {
      if (out.tell() < offset)
        out.write_zeros(offset - out.tell());
    };
    // Those of a stack of matrices lie behind the data of all of them.
    std::map<uint64_t, std::string> scales;
    auto writeScales = [&](uint64_t before) {
      while (!scales.empty() && scales.begin()->first < before) {
        const auto next = scales.extract(scales.begin());
        padTo(next.key());
        out << next.mapped();
      }
    };
    for (const onnx::QuantizedMatrix &matrix : matrices) {
      writeScales(matrix.dataOffset);
      padTo(matrix.dataOffset);
      std::string &ownScales = scales[matrix.scaleOffset];
      if (matrix.isZero()) {
        out.write_zeros(matrix.dataBytes());
        ownScales.assign(matrix.scaleBytes(), '\0');
        continue;
      }
      files::SourceFile source(modelFolder + "/" + matrix.file.str());
      MatrixQuantizer quantizer(matrix, [&](uint64_t offset,
                                            llvm::MutableArrayRef<char> to) {
        const std::string why = source.read(matrix.offset + offset, to);
        return why.empty() ? why
                           : "cannot read " + matrix.file.str() + ": " + why;
      });
      problem = quantizer.writeData(out);
      if (!problem.empty())
        return;
      llvm::raw_string_ostream text(ownScales);
      quantizer.writeScales(text);
      done += double(matrix.length);
      if (progress)
        progress(done / all);
    }
    writeScales(UINT64_MAX);
  };
  const std::error_code error = files::writeFile(path, write);
  return error ? "cannot write " + path + ": " + error.message() : problem;
}

} // namespace shardc::quantize
