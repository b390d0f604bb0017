#include "runtime/io/Npz.h"

#include "runtime/base/MappedFile.h"
#include "runtime/base/Message.h"

#include <charconv>
#include <cstring>

namespace shardc::runtime {
namespace {

using Bytes = std::string_view;

uint64_t little(Bytes bytes, size_t at, size_t size) {
  uint64_t value = 0;
  std::memcpy(&value, bytes.data() + at, size);
  return value;
}

/// The zip's end record: at the end, before a comment that NumPy never writes.
constexpr size_t kEndRecord = 22;
constexpr size_t kCentralEntry = 46;
constexpr size_t kLocalHeader = 30;

struct Member {
  std::string_view name;
  Bytes data;
};

/// Finds all members of a zip archive that are stored as they are.
Status listMembers(const std::string &path, Bytes zip,
                   std::vector<Member> &members) {
  Status damaged = argumentError(path, ": not a .npz file (damaged?)");
  if (zip.size() < kEndRecord ||
      little(zip, zip.size() - kEndRecord, 4) != 0x06054b50)
    return damaged;
  const size_t end = zip.size() - kEndRecord;
  size_t count = little(zip, end + 10, 2), at = little(zip, end + 16, 4);
  for (size_t i = 0; i < count; ++i) {
    if (at > end || end - at < kCentralEntry ||
        little(zip, at, 4) != 0x02014b50)
      return damaged;
    size_t method = little(zip, at + 10, 2), bytes = little(zip, at + 20, 4);
    size_t nameSize = little(zip, at + 28, 2), local = little(zip, at + 42, 4);
    if (end - at - kCentralEntry < nameSize)
      return damaged;
    Member member{zip.substr(at + kCentralEntry, nameSize), {}};
    if (method != 0)
      return argumentError(path, ": ", member.name,
                           " is compressed; write it with numpy.savez");
    if (bytes == UINT32_MAX || local == UINT32_MAX)
      return argumentError(path, ": arrays of 4 GiB and more are not "
                                 "supported; use input_I.pb files");
    if (local > end || end - local < kLocalHeader)
      return damaged;
    size_t data = local + kLocalHeader + little(zip, local + 26, 2) +
                  little(zip, local + 28, 2);
    if (data > end || end - data < bytes)
      return damaged;
    member.data = zip.substr(data, bytes);
    members.push_back(member);
    at += kCentralEntry + nameSize + little(zip, at + 30, 2) +
          little(zip, at + 32, 2);
  }
  return Status::ok();
}

bool parseDescr(Bytes descr, ElementType &type) {
  using namespace artifact;
  static const std::pair<Bytes, ElementType> known[] = {
      {"|b1", ElementType_Bool},    {"|i1", ElementType_Int8},
      {"|u1", ElementType_UInt8},   {"<i2", ElementType_Int16},
      {"<u2", ElementType_UInt16},  {"<i4", ElementType_Int32},
      {"<u4", ElementType_UInt32},  {"<i8", ElementType_Int64},
      {"<u8", ElementType_UInt64},  {"<f2", ElementType_Float16},
      {"<f4", ElementType_Float32}, {"<f8", ElementType_Float64}};
  for (auto [text, element] : known)
    if (text == descr) {
      type = element;
      return true;
    }
  return false;
}

/// The text between `open` after `key` and `close`: {'descr': '<f4', ...}.
Bytes between(Bytes header, Bytes key, char open, char close) {
  size_t at = header.find(key);
  at = at == Bytes::npos ? at : header.find(open, at + key.size());
  size_t end = at == Bytes::npos ? at : header.find(close, at + 1);
  return end == Bytes::npos ? Bytes() : header.substr(at + 1, end - at - 1);
}

bool parseShape(Bytes text, std::vector<int64_t> &dims) {
  const char *at = text.data(), *end = at + text.size();
  while (at != end) {
    if (*at == ' ' || *at == ',') {
      ++at;
      continue;
    }
    int64_t dim = 0;
    auto [next, error] = std::from_chars(at, end, dim);
    if (error != std::errc() || dim < 0)
      return false;
    dims.push_back(dim);
    at = next;
  }
  return true;
}

Status readNpy(const std::string &where, Bytes npy, Tensor &tensor) {
  Status damaged = argumentError(where, ": not a .npy array (damaged?)");
  if (npy.size() < 12 || npy.substr(0, 6) != Bytes("\x93NUMPY", 6))
    return damaged;
  const size_t lengthBytes = npy[6] == 1 ? 2 : 4;
  const size_t start = 8 + lengthBytes, length = little(npy, 8, lengthBytes);
  if (length > npy.size() - start)
    return damaged;
  Bytes header = npy.substr(start, length);
  if (header.find("'fortran_order': False") == Bytes::npos)
    return argumentError(where, ": expected C order; use "
                                "numpy.ascontiguousarray");
  Bytes descr = between(header, "'descr':", '\'', '\'');
  ElementType type;
  std::vector<int64_t> dims;
  if (!parseDescr(descr, type))
    return argumentError(where, ": element type '", descr,
                         "' is not supported");
  if (!parseShape(between(header, "'shape':", '(', ')'), dims))
    return damaged;
  SHARDC_RETURN_IF_ERROR(tensor.reshape(type, dims));
  Bytes data = npy.substr(start + length);
  if (data.size() != static_cast<size_t>(tensor.bytes()))
    return argumentError(where, ": ", data.size(), " bytes of data, expected ",
                         tensor.bytes());
  if (!data.empty())
    std::memcpy(tensor.data(), data.data(), data.size());
  return Status::ok();
}

} // namespace

Status readNpz(const std::string &path, std::vector<NamedTensor> &tensors) {
  MappedFile file;
  if (Status status = MappedFile::open(path, file); !status.isOk())
    return argumentError(status.message());
  Bytes zip(reinterpret_cast<const char *>(file.data()), file.size());
  std::vector<Member> members;
  SHARDC_RETURN_IF_ERROR(listMembers(path, zip, members));
  for (const Member &member : members) {
    NamedTensor named;
    named.name = member.name;
    if (named.name.ends_with(".npy"))
      named.name.resize(named.name.size() - 4);
    SHARDC_RETURN_IF_ERROR(readNpy(path + ": " + std::string(member.name),
                                   member.data, named.tensor));
    tensors.push_back(std::move(named));
  }
  return Status::ok();
}

} // namespace shardc::runtime
