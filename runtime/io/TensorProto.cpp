#include "runtime/io/TensorProto.h"

#include "runtime/artifact/ElementNames.h"
#include "runtime/base/Message.h"
#include "runtime/io/DenseBytes.h"

#include <cstring>
#include <vector>

namespace shardc::runtime {
namespace {

using artifact::ElementType;

/// Field numbers of onnx.TensorProto.
enum Field : uint32_t {
  kDims = 1,
  kDataType = 2,
  kSegment = 3,
  kFloatData = 4,
  kInt32Data = 5,
  kStringData = 6,
  kInt64Data = 7,
  kName = 8,
  kRawData = 9,
  kDoubleData = 10,
  kUInt64Data = 11,
  kDocString = 12,
  kExternalData = 13,
  kDataLocation = 14,
  kMetadata = 16,
};

enum WireType : uint32_t {
  kVarint = 0,
  kFixed64 = 1,
  kBytes = 2,
  kFixed32 = 5
};

/// TensorProto.DataType by our element types, and the field of unpacked data.
struct TypeCode {
  uint64_t onnx;
  Field field;
};
constexpr TypeCode kTypes[] = {
    {9, kInt32Data},   {3, kInt32Data},  {2, kInt32Data},   {5, kInt32Data},
    {4, kInt32Data},   {6, kInt32Data},  {12, kUInt64Data}, {7, kInt64Data},
    {13, kUInt64Data}, {10, kInt32Data}, {16, kInt32Data},  {1, kFloatData},
    {11, kDoubleData}, {22, kInt32Data}, {21, kInt32Data},  {17, kInt32Data},
    {18, kInt32Data},  {19, kInt32Data}, {20, kInt32Data},  {24, kInt32Data},
    {26, kInt32Data},  {25, kInt32Data}};
static_assert(std::size(kTypes) == artifact::ElementType_MAX + 1);

class ProtoReader {
public:
  explicit ProtoReader(std::string_view bytes) : rest(bytes) {}

  bool atEnd() const { return rest.empty(); }
  bool varint(uint64_t &value) {
    value = 0;
    for (int shift = 0; shift < 64 && !rest.empty(); shift += 7) {
      auto byte = static_cast<unsigned char>(rest[0]);
      rest.remove_prefix(1);
      if (shift == 63 && byte > 1)
        return false;
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (!(byte & 0x80))
        return true;
    }
    return false;
  }
  bool take(uint64_t count, std::string_view &bytes) {
    if (count > rest.size())
      return false;
    bytes = rest.substr(0, count);
    rest.remove_prefix(count);
    return true;
  }

private:
  std::string_view rest;
};

/// What a file holds before it becomes a tensor.
struct Message {
  std::vector<int64_t> dims;
  uint64_t dataType = 0;
  std::string_view name;
  std::string_view raw;
  bool hasRaw = false;
  bool external = false;
  bool unsupported = false;    ///< strings, segments
  std::vector<uint64_t> words; ///< unpacked data, as bits
  Field wordsField = kDims;    ///< where they came from
};

bool appendVarints(std::string_view bytes, std::vector<uint64_t> &into) {
  ProtoReader reader(bytes);
  while (!reader.atEnd()) {
    uint64_t value = 0;
    if (!reader.varint(value))
      return false;
    into.push_back(value);
  }
  return true;
}

bool appendFixed(std::string_view bytes, size_t size,
                 std::vector<uint64_t> &into) {
  if (bytes.size() % size != 0)
    return false;
  for (size_t at = 0; at < bytes.size(); at += size) {
    uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + at, size); // little-endian, as the wire
    into.push_back(bits);
  }
  return true;
}

/// A numeric field: one value, or many packed into bytes.
bool readNumbers(Field field, uint32_t wire, uint64_t value,
                 std::string_view bytes, Message &message) {
  std::vector<uint64_t> numbers;
  const bool fixed = field == kFloatData || field == kDoubleData;
  const size_t size = field == kFloatData ? 4 : 8;
  if (wire == kBytes) {
    if (!(fixed ? appendFixed(bytes, size, numbers)
                : appendVarints(bytes, numbers)))
      return false;
  } else if (wire == (!fixed ? kVarint : size == 4 ? kFixed32 : kFixed64)) {
    numbers.push_back(value);
  } else {
    return false;
  }
  if (field == kDims) {
    message.dims.insert(message.dims.end(), numbers.begin(), numbers.end());
    return true;
  }
  bool fresh = message.words.empty() || message.wordsField == field;
  message.wordsField = field;
  message.words.insert(message.words.end(), numbers.begin(), numbers.end());
  return fresh;
}

bool readField(Field field, uint32_t wire, uint64_t value,
               std::string_view bytes, Message &message) {
  switch (field) {
  case kDims:
  case kFloatData:
  case kInt32Data:
  case kInt64Data:
  case kDoubleData:
  case kUInt64Data:
    return readNumbers(field, wire, value, bytes, message);
  case kDataType:
    message.dataType = value;
    return wire == kVarint;
  case kName:
    message.name = bytes;
    return wire == kBytes;
  case kRawData:
    message.raw = bytes;
    message.hasRaw = true;
    return wire == kBytes;
  case kDocString:
  case kMetadata:
    return wire == kBytes;
  case kExternalData:
    message.external = true;
    return wire == kBytes;
  case kDataLocation:
    message.external |= value != 0;
    return wire == kVarint;
  case kStringData:
  case kSegment:
    message.unsupported = true;
    return wire == kBytes;
  }
  return false; // no field of a tensor
}

bool readMessage(std::string_view bytes, Message &message) {
  ProtoReader reader(bytes);
  while (!reader.atEnd()) {
    uint64_t tag = 0, value = 0;
    if (!reader.varint(tag) || tag > UINT32_MAX)
      return false;
    std::string_view payload;
    const auto wire = static_cast<uint32_t>(tag & 7);
    bool fine = false;
    if (wire == kVarint)
      fine = reader.varint(value);
    else if (wire == kBytes)
      fine = reader.varint(value) && reader.take(value, payload);
    else if (wire == kFixed32 || wire == kFixed64)
      fine = reader.take(wire == kFixed32 ? 4 : 8, payload);
    if (fine && (wire == kFixed32 || wire == kFixed64))
      std::memcpy(&value, payload.data(), payload.size());
    if (!fine ||
        !readField(static_cast<Field>(tag >> 3), wire, value, payload, message))
      return false;
  }
  return true;
}

int findType(uint64_t onnx) {
  for (int type = 0; type <= artifact::ElementType_MAX; ++type)
    if (kTypes[type].onnx == onnx &&
        artifact::elementBits(static_cast<ElementType>(type)) >= 8)
      return type;
  return -1; // parts of bytes are for weights
}

/// Whether `bits`, read as a varint of int32_data or uint64_data, is a value of
/// the type.
bool isInRange(ElementType type, uint64_t bits) {
  auto value = static_cast<int64_t>(bits);
  switch (type) {
  case artifact::ElementType_Bool:
    return bits <= 1;
  case artifact::ElementType_Int8:
    return value >= INT8_MIN && value <= INT8_MAX;
  case artifact::ElementType_UInt8:
  case artifact::ElementType_Float8E4M3FN:
  case artifact::ElementType_Float8E4M3FNUZ:
  case artifact::ElementType_Float8E5M2:
  case artifact::ElementType_Float8E5M2FNUZ:
  case artifact::ElementType_Float8E8M0:
    return bits <= UINT8_MAX;
  case artifact::ElementType_Int16:
    return value >= INT16_MIN && value <= INT16_MAX;
  case artifact::ElementType_UInt16:
  case artifact::ElementType_Float16:
  case artifact::ElementType_BFloat16:
    return bits <= UINT16_MAX;
  case artifact::ElementType_Int32:
    return value >= INT32_MIN && value <= INT32_MAX;
  case artifact::ElementType_UInt32:
    return bits <= UINT32_MAX;
  default:
    return true;
  }
}

/// Whether there is as much data as the dims say, or that is impossible.
Status checkAmount(std::string_view file, const Message &message,
                   ElementType type) {
  const int64_t expected = denseBytes(type, message.dims);
  const int64_t size = artifact::elementBytes(type);
  if (expected < 0)
    return Status::ok(); // whoever makes the tensor says so
  if (message.hasRaw && message.raw.size() != static_cast<size_t>(expected))
    return argumentError(file, ": ", message.raw.size(),
                         " bytes of data, expected ", expected, " for ",
                         shapeText(message.dims));
  if (!message.hasRaw &&
      message.words.size() != static_cast<size_t>(expected / size))
    return argumentError(file, ": ", message.words.size(), " values, expected ",
                         expected / size, " for ", shapeText(message.dims));
  return Status::ok();
}

Status copyWords(std::string_view file, const Message &message,
                 Tensor &tensor) {
  const auto size =
      static_cast<size_t>(artifact::elementBytes(tensor.element()));
  for (size_t i = 0; i < message.words.size(); ++i) {
    if (!isInRange(tensor.element(), message.words[i]))
      return argumentError(file, ": value ", i, " is no ",
                           artifact::elementName(tensor.element()));
    std::memcpy(tensor.data() + i * size, &message.words[i], size);
  }
  return Status::ok();
}

void appendVarint(std::string &into, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    into += static_cast<char>(value | 0x80);
  into += static_cast<char>(value);
}

void appendBytes(std::string &into, Field field, std::string_view bytes) {
  appendVarint(into, field << 3 | kBytes);
  appendVarint(into, bytes.size());
  into += bytes;
}

} // namespace

Status parseTensorProto(std::string_view file, std::string_view bytes,
                        NamedTensor &tensor) {
  Message message;
  if (!readMessage(bytes, message))
    return argumentError(file, ": not a serialized TensorProto (damaged, or "
                               "another kind of file)");
  if (message.external)
    return argumentError(file, ": its data is in another file, expected it "
                               "inside");
  int type = findType(message.dataType);
  if (message.unsupported || type < 0)
    return argumentError(file, ": element type ", message.dataType,
                         " of ONNX is not supported");
  const auto element = static_cast<ElementType>(type);
  if (message.hasRaw && !message.words.empty())
    return argumentError(file, ": its data is there twice");
  if (!message.words.empty() && message.wordsField != kTypes[type].field)
    return argumentError(file, ": its data is in a field for another type");
  SHARDC_RETURN_IF_ERROR(checkAmount(file, message, element));
  SHARDC_RETURN_IF_ERROR(tensor.tensor.reshape(element, message.dims));
  tensor.name = message.name;
  if (!message.hasRaw)
    return copyWords(file, message, tensor.tensor);
  if (!message.raw.empty())
    std::memcpy(tensor.tensor.data(), message.raw.data(), message.raw.size());
  return Status::ok();
}

std::string serializeTensorProto(std::string_view name, const Tensor &tensor) {
  std::string out;
  for (int64_t dim : tensor.dims()) {
    appendVarint(out, kDims << 3 | kVarint);
    appendVarint(out, static_cast<uint64_t>(dim));
  }
  appendVarint(out, kDataType << 3 | kVarint);
  appendVarint(out, kTypes[tensor.element()].onnx);
  appendBytes(out, kName, name);
  appendBytes(out, kRawData,
              {reinterpret_cast<const char *>(tensor.data()),
               static_cast<size_t>(tensor.bytes())});
  return out;
}

} // namespace shardc::runtime
