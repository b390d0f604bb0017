//===- Attributes.cpp - ONNX's attributes and tensors as MLIR's -----------===//

#include "compiler/import/Attributes.h"

#include "dialects/onnx/ElementTypes.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using ::onnx::AttributeProto;
using ::onnx::TensorProto;

namespace shardc::importer {

Type elementType(MLIRContext *context, int32_t dataType) {
  Type type = onnx::elementTypeOf(dataType, context);
  bool isKnown = type && (onnx::isStored(type) || isa<IntegerType>(type));
  return isKnown ? type : Type();
}

std::string elementName(int32_t dataType) {
  const std::string &name = TensorProto::DataType_Name(dataType);
  return name.empty() ? "data type " + std::to_string(dataType) : name;
}

static unsigned byteWidth(Type element) {
  return llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}

/// How many elements share a byte.
static int64_t elementsOfByte(Type element) {
  return onnx::isStored(element) ? 1 : 8 / element.getIntOrFloatBitWidth();
}

/// Bytes of all elements, of which those of 4 and 2 bits share bytes; nothing if
/// no memory could hold them.
static std::optional<uint64_t> byteSize(const TensorProto &tensor,
                                        Type element) {
  const int64_t ofByte = elementsOfByte(element);
  int64_t size = byteWidth(element);
  for (int64_t dim : tensor.dims())
    if (dim < 0 || llvm::MulOverflow(size, dim, size))
      return std::nullopt;
  return size / ofByte + (size % ofByte != 0);
}

/// Appends numbers in `width` bytes each, little-endian like this machine.
template <typename Numbers>
static void append(std::string &bytes, const Numbers &numbers, unsigned width) {
  for (auto number : numbers)
    bytes.append(reinterpret_cast<const char *>(&number), width);
}

/// The elements as they stand in memory, whichever field holds them.
static std::string inlineBytes(const TensorProto &tensor, unsigned width) {
  if (tensor.has_raw_data())
    return tensor.raw_data();
  std::string bytes;
  append(bytes, tensor.float_data(), 4);
  append(bytes, tensor.double_data(), 8);
  append(bytes, tensor.int64_data(), 8);
  append(bytes, tensor.int32_data(), std::min(width, 4u));
  append(bytes, tensor.uint64_data(), width);
  return bytes;
}

static DenseElementsAttr denseAttr(RankedTensorType type, StringRef bytes) {
  if (type.getNumElements() == 0)
    return DenseElementsAttr::get(type, ArrayRef<Attribute>());
  if (const int64_t ofByte = elementsOfByte(type.getElementType());
      ofByte > 1) {
    const unsigned bits = 8 / ofByte;
    SmallVector<APInt> fields;
    for (int64_t i = 0; i < type.getNumElements(); ++i)
      fields.emplace_back(bits, bytes[i / ofByte] >> (i % ofByte * bits) &
                                    ((1 << bits) - 1));
    return DenseElementsAttr::get(type, fields);
  }
  if (!type.getElementType().isInteger(1))
    return DenseElementsAttr::getFromRawBuffer(
        type, ArrayRef<char>(bytes.data(), bytes.size()));
  SmallVector<bool> bits;
  for (char byte : bytes)
    bits.push_back(byte != 0);
  return DenseElementsAttr::get(type, bits);
}

llvm::Expected<TensorValue>
readTensor(ModelFile &file, const TensorProto &tensor, Type element) {
  std::optional<uint64_t> size = byteSize(tensor, element);
  if (!size)
    return llvm::createStringError("has an impossible shape");
  TensorValue result;
  result.type = RankedTensorType::get(
      SmallVector<int64_t>(tensor.dims().begin(), tensor.dims().end()),
      element);
  std::string bytes;
  if (ModelFile::isByReference(tensor)) {
    llvm::Expected<DataRange> range = file.place(tensor, *size);
    if (!range)
      return range.takeError();
    result.range = *range;
    if (*size > kMaxInlineBytes)
      return result;
    llvm::Expected<std::string> read = file.read(*range);
    if (!read)
      return read.takeError();
    bytes = std::move(*read);
  } else {
    bytes = inlineBytes(tensor, byteWidth(element));
  }
  if (bytes.size() != *size)
    return llvm::createStringError(
        "holds " + llvm::Twine(bytes.size()) + " bytes: expected " +
        llvm::Twine(*size) +
        ", its elements times their size; export the model again");
  result.value = denseAttr(result.type, bytes);
  return result;
}

static Attribute convertTensor(MLIRContext *context, ModelFile &file,
                               const TensorProto &tensor, std::string &why) {
  Type element = elementType(context, tensor.data_type());
  if (!element) {
    why = "is a tensor of " + elementName(tensor.data_type());
    return Attribute();
  }
  llvm::Expected<TensorValue> value = readTensor(file, tensor, element);
  if (!value) {
    why = llvm::toString(value.takeError());
    return Attribute();
  }
  if (!value->value)
    why = "is a tensor of " + std::to_string(value->range.length) + " bytes";
  return value->value;
}

Attribute convertAttribute(MLIRContext *context, ModelFile &file,
                           const AttributeProto &attribute, std::string &why) {
  Builder builder(context);
  switch (attribute.type()) {
  case AttributeProto::INT:
    return builder.getI64IntegerAttr(attribute.i());
  case AttributeProto::FLOAT:
    return builder.getF32FloatAttr(attribute.f());
  case AttributeProto::STRING:
    return builder.getStringAttr(attribute.s());
  case AttributeProto::INTS:
    return builder.getDenseI64ArrayAttr(
        SmallVector<int64_t>(attribute.ints().begin(), attribute.ints().end()));
  case AttributeProto::FLOATS:
    return builder.getF32ArrayAttr(SmallVector<float>(
        attribute.floats().begin(), attribute.floats().end()));
  case AttributeProto::STRINGS:
    return builder.getStrArrayAttr(SmallVector<StringRef>(
        attribute.strings().begin(), attribute.strings().end()));
  case AttributeProto::TENSOR:
    return convertTensor(context, file, attribute.t(), why);
  default:
    why = "is of kind " + AttributeProto::AttributeType_Name(attribute.type());
    return Attribute();
  }
}

} // namespace shardc::importer
