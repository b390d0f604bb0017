//===- WeightScan.cpp - Weights that are not finite -----------------------===//
//
// Weights are mapped a piece at a time and never copied: memory stays small for
// any model.
//
//===----------------------------------------------------------------------===//

#include "compiler/check/Findings.h"
#include "dialects/dist/NodeName.h"
#include "dialects/onnx/FunctionInfo.h"

#include "dialects/onnx/ops/Source.h"

#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <cstring>

using namespace mlir;

namespace shardc::check {

namespace {

struct Count {
  uint64_t nans = 0, infinities = 0;
};

} // namespace

/// Numbers whose exponent is all ones: infinite without a mantissa, else NaN.
template <typename Bits>
static void scan(StringRef bytes, Bits exponent, Count &count) {
  const Bits mantissa = static_cast<Bits>(exponent & -exponent) - 1;
  for (size_t at = 0; at + sizeof(Bits) <= bytes.size(); at += sizeof(Bits)) {
    Bits bits;
    std::memcpy(&bits, bytes.data() + at, sizeof(Bits));
    if ((bits & exponent) == exponent)
      ++(bits & mantissa ? count.nans : count.infinities);
  }
}

static void scan(StringRef bytes, Type element, Count &count) {
  if (element.isF16())
    scan<uint16_t>(bytes, 0x7c00, count);
  else if (element.isBF16())
    scan<uint16_t>(bytes, 0x7f80, count);
  else if (element.isF32())
    scan<uint32_t>(bytes, 0x7f800000, count);
  else if (element.isF64())
    scan<uint64_t>(bytes, 0x7ff0000000000000, count);
}

static void addNote(Findings &findings, StringRef name, int64_t elements,
                    const Count &count) {
  if (count.nans == 0 && count.infinities == 0)
    return;
  std::string message = "weight '" + name.str() + "' is not finite: of " +
                        std::to_string(elements) + " elements " +
                        std::to_string(count.nans) + " are NaN, " +
                        std::to_string(count.infinities) + " infinite";
  findings.notes.push_back(
      {"weight_not_finite",
       message,
       "infinities are right in a mask alone; otherwise export a checkpoint "
       "whose training did not diverge",
       {name.str()}});
}

/// Some megabytes at a time, a multiple of every element's size.
constexpr uint64_t kPiece = uint64_t(64) << 20;

static void scanWeight(onnx::WeightOp weight, StringRef folder,
                       Findings &findings) {
  auto type = cast<RankedTensorType>(weight.getResult().getType());
  if (!isa<FloatType>(type.getElementType()))
    return;
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, weight.getFile());
  Count count;
  uint64_t length = weight.getLength();
  for (uint64_t at = 0; at < length; at += kPiece) {
    auto piece = llvm::MemoryBuffer::getFileSlice(
        path, std::min(kPiece, length - at), weight.getOffset() + at);
    if (!piece) {
      findings.problems.push_back({weight.getName().str(),
                                   "cannot read " + path.str().str() + ": " +
                                       piece.getError().message(),
                                   {}});
      return;
    }
    scan((*piece)->getBuffer(), type.getElementType(), count);
  }
  addNote(findings, weight.getName(), type.getNumElements(), count);
}

/// One number may be anything: exporters write -inf for what a mask hides.
static void scanConstant(onnx::ConstantOp constant, Findings &findings) {
  auto value = dyn_cast<DenseElementsAttr>(constant.getValue());
  if (!value || !isa<FloatType>(value.getElementType()) || value.isSplat())
    return;
  Count count;
  ArrayRef<char> raw = value.getRawData();
  scan(StringRef(raw.data(), raw.size()), value.getElementType(), count);
  addNote(findings, nodeName(constant, "a constant"), value.getNumElements(),
          count);
}

void noteWeights(ModuleOp raw, Findings &findings) {
  const std::string folder = onnx::modelInfo(raw).folder;
  raw.walk(
      [&](onnx::WeightOp weight) { scanWeight(weight, folder, findings); });
  raw.walk(
      [&](onnx::ConstantOp constant) { scanConstant(constant, findings); });
}

} // namespace shardc::check
