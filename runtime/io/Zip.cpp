#include "runtime/io/Zip.h"

#include "runtime/base/Message.h"

#include <array>
#include <cstring>

#if SHARDC_HAS_ZLIB
#include <zlib.h>
#endif

namespace shardc::runtime {
namespace {

using Bytes = std::string_view;

void putLittle(std::string &bytes, uint64_t value, size_t size) {
  bytes.append(reinterpret_cast<const char *>(&value), size);
}

/// The zip's end record: at the end, before a comment that NumPy never writes.
constexpr size_t kEndRecord = 22;
constexpr size_t kCentralEntry = 46;
constexpr size_t kLocalHeader = 30;
constexpr uint64_t kEndMark = 0x06054b50, kCentralMark = 0x02014b50,
                   kLocalMark = 0x04034b50;
constexpr uint64_t kStored = 0, kDeflated = 8;
/// What deflate makes of a byte at most.
constexpr uint64_t kMostExpansion = 1032;

uint32_t checksum(Bytes bytes) {
  static const auto table = [] {
    std::array<uint32_t, 256> made = {};
    for (uint32_t i = 0; i < made.size(); ++i) {
      made[i] = i;
      for (int bit = 0; bit < 8; ++bit)
        made[i] = made[i] >> 1 ^ (made[i] & 1 ? 0xedb88320u : 0);
    }
    return made;
  }();
  uint32_t sum = ~0u;
  for (const char byte : bytes)
    sum = sum >> 8 ^ table[(sum ^ static_cast<unsigned char>(byte)) & 255];
  return ~sum;
}

} // namespace

uint64_t little(Bytes bytes, size_t at, size_t size) {
  uint64_t value = 0;
  std::memcpy(&value, bytes.data() + at, size);
  return value;
}

Status listMembers(const std::string &path, Bytes zip,
                   std::vector<ZipMember> &members) {
  Status damaged = argumentError(path, ": not a .npz file (damaged?)");
  if (zip.size() < kEndRecord ||
      little(zip, zip.size() - kEndRecord, 4) != kEndMark)
    return damaged;
  const size_t end = zip.size() - kEndRecord;
  size_t count = little(zip, end + 10, 2), at = little(zip, end + 16, 4);
  for (size_t i = 0; i < count; ++i) {
    if (at > end || end - at < kCentralEntry ||
        little(zip, at, 4) != kCentralMark)
      return damaged;
    const uint64_t method = little(zip, at + 10, 2);
    const size_t bytes = little(zip, at + 20, 4);
    const size_t nameSize = little(zip, at + 28, 2),
                 local = little(zip, at + 42, 4);
    if (end - at - kCentralEntry < nameSize)
      return damaged;
    ZipMember member{zip.substr(at + kCentralEntry, nameSize),
                     {},
                     little(zip, at + 24, 4),
                     method == kDeflated};
    if (method != kStored && method != kDeflated)
      return argumentError(path, ": ", member.name,
                           " is compressed in a way that is not supported; "
                           "write it with numpy.savez");
    if (bytes == UINT32_MAX || member.bytes == UINT32_MAX ||
        local == UINT32_MAX)
      return argumentError(path, ": arrays of 4 GiB and more are not "
                                 "supported; use input_I.pb files");
    if (local > end || end - local < kLocalHeader)
      return damaged;
    size_t data = local + kLocalHeader + little(zip, local + 26, 2) +
                  little(zip, local + 28, 2);
    if (data > end || end - data < bytes ||
        (method == kStored && bytes != member.bytes) ||
        member.bytes > kMostExpansion * bytes + kMostExpansion)
      return damaged;
    member.stored = zip.substr(data, bytes);
    members.push_back(member);
    at += kCentralEntry + nameSize + little(zip, at + 30, 2) +
          little(zip, at + 32, 2);
  }
  return Status::ok();
}

Status readMember(const std::string &path, const ZipMember &member,
                  std::string &buffer, Bytes &contents) {
  contents = member.stored;
  if (!member.isDeflated)
    return Status::ok();
#if SHARDC_HAS_ZLIB
  buffer.resize(member.bytes);
  z_stream stream = {};
  stream.next_in = reinterpret_cast<Bytef *>(
      const_cast<char *>(member.stored.data())); // not written to
  stream.avail_in = static_cast<uInt>(member.stored.size());
  stream.next_out = reinterpret_cast<Bytef *>(buffer.data());
  stream.avail_out = static_cast<uInt>(buffer.size());
  int done = inflateInit2(&stream, -MAX_WBITS); // no header of its own
  if (done == Z_OK) {
    done = inflate(&stream, Z_FINISH);
    inflateEnd(&stream);
  }
  if (done != Z_STREAM_END || stream.avail_out != 0)
    return argumentError(path, ": ", member.name,
                         " cannot be inflated (damaged?)");
  contents = buffer;
  return Status::ok();
#else
  (void)buffer;
  return argumentError(path, ": ", member.name,
                       " is compressed, and this was built without zlib; write "
                       "it with numpy.savez");
#endif
}

void ZipWriter::add(Bytes name, Bytes contents) {
  const uint64_t offset = archive.size();
  std::string common; // of both headers
  putLittle(common, 20, 2);
  putLittle(common, 0, 2);
  putLittle(common, kStored, 2);
  putLittle(common, 0x21 << 16, 4); // 1980-01-01: the same bytes each time
  putLittle(common, checksum(contents), 4);
  putLittle(common, contents.size(), 4);
  putLittle(common, contents.size(), 4);
  putLittle(common, name.size(), 2);
  putLittle(common, 0, 2);
  putLittle(archive, kLocalMark, 4);
  archive.append(common).append(name).append(contents);
  putLittle(central, kCentralMark, 4);
  putLittle(central, 20, 2);
  central.append(common);
  central.append(10, '\0');
  putLittle(central, offset, 4);
  central.append(name);
  ++count;
}

Status ZipWriter::finish(const std::string &path, std::string &zip) {
  if (archive.size() + central.size() >= UINT32_MAX || count >= UINT16_MAX)
    return argumentError(path, ": ", archive.size(),
                         " bytes are too many for an .npz file; give a folder");
  zip = std::move(archive);
  const uint64_t start = zip.size();
  zip += central;
  putLittle(zip, kEndMark, 4);
  putLittle(zip, 0, 4);
  putLittle(zip, count, 2);
  putLittle(zip, count, 2);
  putLittle(zip, central.size(), 4);
  putLittle(zip, start, 4);
  putLittle(zip, 0, 2);
  return Status::ok();
}

} // namespace shardc::runtime
