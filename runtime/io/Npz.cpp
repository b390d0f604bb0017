#include "runtime/io/Npz.h"

#include "runtime/artifact/ElementNames.h"
#include "runtime/base/AtomicFile.h"
#include "runtime/base/MappedFile.h"
#include "runtime/base/Message.h"
#include "runtime/io/DenseBytes.h"
#include "runtime/io/Zip.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace shardc::runtime {
namespace {

using Bytes = std::string_view;

constexpr std::pair<Bytes, ElementType> kDescrs[] = {
    {"|b1", artifact::ElementType_Bool},
    {"|i1", artifact::ElementType_Int8},
    {"|u1", artifact::ElementType_UInt8},
    {"<i2", artifact::ElementType_Int16},
    {"<u2", artifact::ElementType_UInt16},
    {"<i4", artifact::ElementType_Int32},
    {"<u4", artifact::ElementType_UInt32},
    {"<i8", artifact::ElementType_Int64},
    {"<u8", artifact::ElementType_UInt64},
    {"<f2", artifact::ElementType_Float16},
    {"<f4", artifact::ElementType_Float32},
    {"<f8", artifact::ElementType_Float64}};

bool parseDescr(Bytes descr, ElementType &type) {
  for (auto [text, element] : kDescrs)
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
  Bytes data = npy.substr(start + length);
  const int64_t expected = denseBytes(type, dims);
  if (expected >= 0 && data.size() != static_cast<size_t>(expected))
    return argumentError(where, ": ", data.size(), " bytes of data, expected ",
                         expected);
  SHARDC_RETURN_IF_ERROR(tensor.reshape(type, dims));
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
  std::vector<ZipMember> members;
  SHARDC_RETURN_IF_ERROR(listMembers(path, zip, members));
  for (const ZipMember &member : members) {
    std::string buffer;
    Bytes npy;
    SHARDC_RETURN_IF_ERROR(readMember(path, member, buffer, npy));
    NamedTensor named;
    named.name = member.name;
    if (named.name.ends_with(".npy"))
      named.name.resize(named.name.size() - 4);
    SHARDC_RETURN_IF_ERROR(
        readNpy(path + ": " + std::string(member.name), npy, named.tensor));
    tensors.push_back(std::move(named));
  }
  return Status::ok();
}

/// {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
static std::string npyHeader(Bytes descr, std::span<const int64_t> dims) {
  std::string text = "{'descr': '" + std::string(descr) +
                     "', 'fortran_order': False, 'shape': (";
  for (const int64_t dim : dims)
    text += std::to_string(dim) + ",";
  text += "), }";
  // Data begin at a multiple of 64.
  constexpr size_t kPrefix = 10;
  text.append(63 - (kPrefix + text.size()) % 64, ' ').append("\n");
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(text.size() & 255);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

Status writeNpz(const std::string &path,
                std::span<const NamedTensorView> tensors) {
  ZipWriter writer;
  for (const auto &[name, tensor] : tensors) {
    const auto *known =
        std::find_if(std::begin(kDescrs), std::end(kDescrs),
                     [&, type = tensor->element()](const auto &entry) {
                       return entry.second == type;
                     });
    if (known == std::end(kDescrs))
      return argumentError(path, ": '", name, "' is ",
                           artifact::elementName(tensor->element()),
                           ", which NumPy does not have; give a folder");
    std::string npy = npyHeader(known->first, tensor->dims());
    npy.append(reinterpret_cast<const char *>(tensor->data()),
               static_cast<size_t>(tensor->bytes()));
    writer.add(std::string(name) + ".npy", npy);
  }
  std::string zip;
  SHARDC_RETURN_IF_ERROR(writer.finish(path, zip));
  return writeFileAtomically(path, zip);
}

} // namespace shardc::runtime
