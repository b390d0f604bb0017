//===- StripModel.cpp - An ONNX model without its big tensors -------------===//

#include "compiler/import/StripModel.h"

#include "compiler/import/Wire.h"

#include <optional>

namespace shardc::importer {

using namespace wire;

namespace {

/// Messages that hold tensors, directly or not; Copy and Drop are what happens
/// to the other fields.
enum class Kind {
  Copy,
  Drop,
  Model,
  Graph,
  Node,
  Attribute,
  Function,
  Sparse,
  Tensor
};

/// Protobuf's own limit of nesting.
constexpr unsigned kMaxDepth = 100;

/// Field numbers of TensorProto.
enum TensorField : uint32_t {
  DataType = 2,
  FloatData = 4,
  RawData = 9,
  DoubleData = 10,
  TensorDoc = 12,
  ExternalData = 13,
  DataLocation = 14,
  TensorMetadata = 16
};
/// Numbers of TensorProto.DataType.
enum : uint64_t { Float = 1, Double = 11 };

/// What the fields of a message are, by their numbers in onnx.proto.
Kind kindOf(Kind message, uint32_t field) {
  switch (message) {
  case Kind::Model:
    return field == 7    ? Kind::Graph
           : field == 25 ? Kind::Function
           : field == 20 ? Kind::Drop // training_info
                         : Kind::Copy;
  case Kind::Graph:
    return field == 1    ? Kind::Node
           : field == 5  ? Kind::Tensor
           : field == 15 ? Kind::Sparse
           : field == 10 || field == 13 || field == 14 || field == 16
               ? Kind::Drop // doc_string, value_info, annotations, metadata
               : Kind::Copy;
  case Kind::Node:
    return field == 5                 ? Kind::Attribute
           : field == 6 || field == 9 ? Kind::Drop // doc_string, metadata
                                      : Kind::Copy;
  case Kind::Attribute:
    return field == 5 || field == 10    ? Kind::Tensor
           : field == 6 || field == 11  ? Kind::Graph
           : field == 22 || field == 23 ? Kind::Sparse
           : field == 13                ? Kind::Drop // doc_string
                                        : Kind::Copy;
  case Kind::Function:
    return field == 7    ? Kind::Node
           : field == 11 ? Kind::Attribute
           : field == 8 || field == 12 || field == 14
               ? Kind::Drop // doc_string, value_info, metadata
               : Kind::Copy;
  case Kind::Sparse:
    return field == 1 || field == 2 ? Kind::Tensor : Kind::Copy;
  default:
    return Kind::Copy;
  }
}

class Stripper {
public:
  explicit Stripper(llvm::StringRef model) : file(model.data()) {}

  llvm::Error message(Kind kind, llvm::StringRef text, unsigned depth);
  StrippedModel result;

private:
  llvm::Error tensor(llvm::StringRef text);
  llvm::Error readPlace(llvm::StringRef entry, TensorPlace &place);
  std::optional<TensorPlace> placeOfPayload(llvm::ArrayRef<Field> fields);
  llvm::Error nested(Kind kind, const Field &field, unsigned depth);

  void copy(const char *begin, const char *end) {
    result.bytes.append(begin, end);
  }
  void number(uint64_t value) { appendVarint(result.bytes, value); }
  void bytes(uint32_t field, llvm::StringRef value) {
    appendBytes(result.bytes, field, value);
  }

  const char *file;
};

llvm::Error Stripper::message(Kind kind, llvm::StringRef text, unsigned depth) {
  if (depth > kMaxDepth)
    return llvm::createStringError("messages are nested more than " +
                                   llvm::Twine(kMaxDepth) + " deep");
  Reader reader(text, file);
  while (!reader.atEnd()) {
    Field field;
    if (llvm::Error error = reader.next(field))
      return error;
    Kind child = kindOf(kind, field.number);
    if (child == Kind::Copy || field.wire != Bytes) {
      copy(field.start, reader.position());
      continue;
    }
    if (child == Kind::Drop)
      continue;
    if (llvm::Error error = nested(child, field, depth))
      return error;
  }
  return llvm::Error::success();
}

/// The size of what was copied is known afterwards: leaves five bytes for it,
/// which is room for any size that fits in memory.
llvm::Error Stripper::nested(Kind kind, const Field &field, unsigned depth) {
  number(field.number << 3 | Bytes);
  size_t start = result.bytes.size();
  result.bytes.append(5, '\0');
  llvm::Error error = kind == Kind::Tensor
                          ? tensor(field.payload)
                          : message(kind, field.payload, depth + 1);
  if (error)
    return error;
  uint64_t size = result.bytes.size() - start - 5;
  for (unsigned i = 0; i < 5; ++i, size >>= 7)
    result.bytes[start + i] = char((size & 127) | (i < 4 ? 128 : 0));
  return llvm::Error::success();
}

llvm::Error Stripper::readPlace(llvm::StringRef entry, TensorPlace &place) {
  llvm::StringRef key, value;
  Reader reader(entry, file);
  while (!reader.atEnd()) {
    Field field;
    if (llvm::Error error = reader.next(field))
      return error;
    if (field.wire == Bytes && field.number == 1)
      key = field.payload;
    if (field.wire == Bytes && field.number == 2)
      value = field.payload;
  }
  if (key == "location")
    place.location = value.str();
  if (key == "offset")
    place.offset = value.str();
  if (key == "length")
    place.length = value.str();
  return llvm::Error::success();
}

/// The one big payload that stands in the file as the tensor's elements stand
/// in memory, if that is how the tensor is written.
std::optional<TensorPlace>
Stripper::placeOfPayload(llvm::ArrayRef<Field> fields) {
  uint64_t type = 0;
  const Field *payload = nullptr;
  for (const Field &field : fields) {
    if (field.number == DataType)
      type = field.value;
    bool isPayload = field.number == RawData || field.number == FloatData ||
                     field.number == DoubleData;
    if (isPayload && (payload || field.wire != Bytes))
      return std::nullopt;
    if (isPayload)
      payload = &field;
  }
  if (!payload || payload->payload.size() <= kMaxInlineBytes ||
      (payload->number == FloatData && type != Float) ||
      (payload->number == DoubleData && type != Double))
    return std::nullopt;
  TensorPlace place;
  place.inModel = true;
  place.offset = std::to_string(payload->payload.data() - file);
  place.length = std::to_string(payload->payload.size());
  return place;
}

llvm::Error Stripper::tensor(llvm::StringRef text) {
  llvm::SmallVector<Field, 16> fields;
  Reader reader(text, file);
  bool isExternal = false;
  TensorPlace external;
  while (!reader.atEnd()) {
    Field &field = fields.emplace_back();
    if (llvm::Error error = reader.next(field))
      return error;
    if (field.number == DataLocation)
      isExternal = field.value == 1;
    if (field.number == ExternalData && field.wire == Bytes)
      if (llvm::Error error = readPlace(field.payload, external))
        return error;
  }

  std::optional<TensorPlace> place =
      isExternal ? std::optional(external) : placeOfPayload(fields);
  for (auto [i, field] : llvm::enumerate(fields)) {
    const char *end = i + 1 < fields.size() ? fields[i + 1].start : text.end();
    bool isPayload = field.number == RawData || field.number == FloatData ||
                     field.number == DoubleData;
    bool isDropped =
        field.number == TensorDoc || field.number == TensorMetadata ||
        field.number == ExternalData || field.number == DataLocation ||
        (isPayload && place && place->inModel);
    if (!isDropped)
      copy(field.start, end);
  }
  if (!place)
    return llvm::Error::success();
  std::string index = "#" + std::to_string(result.places.size());
  number(DataLocation << 3 | Varint);
  number(1);
  number(ExternalData << 3 | Bytes);
  number(2 + 8 + 2 + index.size());
  bytes(1, "location");
  bytes(2, index);
  result.places.push_back(std::move(*place));
  return llvm::Error::success();
}

} // namespace

llvm::Expected<StrippedModel> stripModel(llvm::StringRef model) {
  Stripper stripper(model);
  if (llvm::Error error = stripper.message(Kind::Model, model, 1))
    return error;
  return std::move(stripper.result);
}

} // namespace shardc::importer
