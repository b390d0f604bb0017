//===- Wire.h - Protobuf messages, field by field -------------------------===//
//
// A model of many gigabytes is walked as bytes: its fields are looked at one by
// one, and those that hold tensors' elements are never copied.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_IMPORT_WIRE_H
#define SHARDC_COMPILER_IMPORT_WIRE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"

namespace shardc::importer::wire {

enum WireType : uint32_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

struct Field {
  uint32_t number = 0;
  uint32_t wire = 0;
  const char *start = nullptr; ///< of its tag
  llvm::StringRef payload;     ///< of a Bytes field
  uint64_t value = 0;          ///< of a Varint field
};

/// Walks the fields of one message.
class Reader {
public:
  Reader(llvm::StringRef message, const char *file)
      : pos(message.begin()), end(message.end()), file(file) {}

  bool atEnd() const { return pos == end; }
  const char *position() const { return pos; }

  llvm::Error next(Field &field) {
    field.start = pos;
    uint64_t tag;
    if (!varint(tag))
      return bad("a field's number is cut off");
    field.number = tag >> 3;
    field.wire = tag & 7;
    if (field.number == 0 || tag >> 32)
      return bad("a field has an impossible number");
    switch (field.wire) {
    case Varint:
      return varint(field.value) ? llvm::Error::success()
                                 : bad("a number is cut off");
    case Fixed64:
      return skip(8);
    case Fixed32:
      return skip(4);
    case Bytes: {
      uint64_t size;
      if (!varint(size))
        return bad("a size is cut off");
      if (size > uint64_t(end - pos))
        return bad("field " + llvm::Twine(field.number) + " of " +
                   llvm::Twine(size) + " bytes, but only " +
                   llvm::Twine(end - pos) + " follow: is the file complete?");
      field.payload = llvm::StringRef(pos, size);
      pos += size;
      return llvm::Error::success();
    }
    default:
      return bad("a field has an impossible wire type");
    }
  }

private:
  bool varint(uint64_t &value) {
    value = 0;
    for (unsigned shift = 0; shift < 64 && pos != end; shift += 7) {
      uint8_t byte = *pos++;
      value |= uint64_t(byte & 127) << shift;
      if (byte < 128)
        return true;
    }
    return false;
  }

  llvm::Error skip(unsigned size) {
    if (size > end - pos)
      return bad("a number is cut off");
    pos += size;
    return llvm::Error::success();
  }

  llvm::Error bad(const llvm::Twine &what) const {
    return llvm::createStringError("at byte " + llvm::Twine(pos - file) + ": " +
                                   what);
  }

  const char *pos, *end, *file;
};

/// Writes a number, or the start of a field, as protobuf does.
inline void appendVarint(std::string &to, uint64_t value) {
  for (; value >= 128; value >>= 7)
    to.push_back(char(value | 128));
  to.push_back(char(value));
}
inline void appendBytes(std::string &to, uint32_t field,
                        llvm::StringRef value) {
  appendVarint(to, field << 3 | Bytes);
  appendVarint(to, value.size());
  to.append(value.begin(), value.end());
}

} // namespace shardc::importer::wire

#endif // SHARDC_COMPILER_IMPORT_WIRE_H
