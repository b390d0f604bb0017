#include "dialects/onnx/QuantizedMatrix.h"

using namespace mlir;

namespace shardc::onnx {

static constexpr llvm::StringLiteral kAttribute = "onnx.quantized";

uint64_t QuantizedMatrix::dataBytes() const {
  return llvm::divideCeil(
      uint64_t(batch) * rows * columns * stored.getIntOrFloatBitWidth(), 8);
}

uint64_t QuantizedMatrix::scaleBytes() const {
  return isScaled() ? uint64_t(batch) * rows * groups() *
                          (element.getIntOrFloatBitWidth() / 8)
                    : 0;
}

void setQuantizedMatrices(ModuleOp module, ArrayRef<QuantizedMatrix> matrices) {
  Builder b(module.getContext());
  SmallVector<Attribute> list;
  for (const QuantizedMatrix &m : matrices) {
    auto number = [&](StringRef name, int64_t value) {
      return b.getNamedAttr(name, b.getI64IntegerAttr(value));
    };
    list.push_back(b.getDictionaryAttr(
        {b.getNamedAttr("name", m.name), b.getNamedAttr("file", m.file),
         number("offset", m.offset), number("length", m.length),
         b.getNamedAttr("element", TypeAttr::get(m.element)),
         b.getNamedAttr("stored", TypeAttr::get(m.stored)),
         b.getNamedAttr("dims",
                        b.getDenseI64ArrayAttr({m.batch, m.rows, m.columns})),
         b.getNamedAttr("transposed", b.getBoolAttr(m.isTransposed)),
         number("group", m.group), number("data", m.dataOffset),
         number("scales", m.scaleOffset)}));
  }
  module->setAttr(kAttribute, b.getArrayAttr(list));
}

/// Nothing where text that nobody checked says something else.
static std::optional<QuantizedMatrix> readMatrix(Attribute attribute) {
  auto entry = dyn_cast<DictionaryAttr>(attribute);
  if (!entry)
    return std::nullopt;
  QuantizedMatrix m;
  bool isWhole = true;
  auto number = [&](StringRef name) -> int64_t {
    auto value = entry.getAs<IntegerAttr>(name);
    isWhole &= value != nullptr;
    return value ? value.getInt() : 0;
  };
  m.name = entry.getAs<StringAttr>("name");
  m.file = entry.getAs<StringAttr>("file");
  m.offset = number("offset");
  m.length = number("length");
  auto element = entry.getAs<TypeAttr>("element");
  auto stored = entry.getAs<TypeAttr>("stored");
  auto dims = entry.getAs<DenseI64ArrayAttr>("dims");
  auto transposed = entry.getAs<BoolAttr>("transposed");
  m.group = number("group");
  m.dataOffset = number("data");
  m.scaleOffset = number("scales");
  if (!isWhole || !m.name || !m.file || !element || !stored || !dims ||
      dims.size() != 3 || !transposed)
    return std::nullopt;
  m.element = element.getValue();
  m.stored = stored.getValue();
  m.batch = dims[0], m.rows = dims[1], m.columns = dims[2];
  m.isTransposed = transposed.getValue();
  const bool isSane = m.stored.isIntOrFloat() && m.element.isIntOrFloat() &&
                      llvm::all_of(dims.asArrayRef(), [](int64_t size) {
                        return size > 0 && size < int64_t(1) << 40;
                      });
  return isSane && m.group >= 0 ? std::optional(m) : std::nullopt;
}

SmallVector<QuantizedMatrix> quantizedMatrices(ModuleOp module) {
  SmallVector<QuantizedMatrix> matrices;
  if (auto list = module->getAttrOfType<ArrayAttr>(kAttribute))
    for (Attribute attribute : list)
      if (std::optional<QuantizedMatrix> matrix = readMatrix(attribute))
        matrices.push_back(*matrix);
  return matrices;
}

} // namespace shardc::onnx
