//===- MemoryStreamTest.cpp - Messages in memory of both ends -------------===//
//
// TransportTest, SettlementTest and all tests of collectives are of both kinds of
// stream. Here is what only this one can get wrong.
//
//===----------------------------------------------------------------------===//
#include "runtime/transport/MemoryStream.h"
#include "runtime/base/Message.h"
#include "runtime/collectives/net/NetworkCommunicator.h"
#include "runtime/tensor/CopyView.h"
#include "tests/unit/runtime/FakeProcesses.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <map>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace shardc::runtime {
namespace {

using namespace std::chrono_literals;

bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

/// What all outboxes of this process take.
int64_t outboxBytes() {
  std::map<ino_t, int64_t> found;
  for (const auto &entry :
       std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    struct stat file = {};
    if (has(std::filesystem::read_symlink(entry, error), "shardc-outbox") &&
        stat(entry.path().c_str(), &file) == 0)
      found[file.st_ino] = file.st_blocks * 512;
  }
  int64_t bytes = 0;
  for (const auto &[inode, size] : found)
    bytes += size;
  return bytes;
}

/// Two processes, each with its own options.
template <typename Body>
void onPair(const std::array<TransportOptions, 2> &options, Body body) {
  const auto places = test::placesOnThisMachine(2);
  std::vector<std::thread> threads;
  for (size_t rank : {0u, 1u})
    threads.emplace_back([&, rank] {
      std::unique_ptr<Transport> transport;
      const Status status =
          Transport::open(places[rank], options[rank], transport);
      ASSERT_TRUE(status.isOk()) << status.message();
      body(*transport);
    });
  for (std::thread &thread : threads)
    thread.join();
}

Stream &toOther(Transport &transport, const StreamOptions &options = {}) {
  return transport.stream(1 - transport.rank(), 20, options);
}

bool isInMemory(Transport &transport) {
  return dynamic_cast<MemoryStream *>(&toOther(transport)) != nullptr;
}

/// Sends a number of that many bytes, and finds the other's.
void exchange(Transport &transport, size_t bytes, uint8_t value) {
  Stream &stream = toOther(transport);
  std::vector<std::byte> mine(bytes, std::byte{value});
  ASSERT_TRUE(stream.send(mine, std::nullopt).isOk());
  ASSERT_TRUE(
      transport.waitForMessages(std::array{&stream}, std::nullopt).isOk());
  const auto found = stream.front().bytes;
  ASSERT_EQ(found.size(), bytes);
  EXPECT_TRUE(bytes == 0 || std::memcmp(found.data(), mine.data(), bytes) == 0);
  stream.release();
}

TEST(MemoryStream, isOfAPairThatBothWantIt) {
  for (bool first : {false, true})
    for (bool second : {false, true}) {
      onPair({{{.sharesMemory = first}, {.sharesMemory = second}}},
             [&](Transport &transport) {
               EXPECT_EQ(isInMemory(transport), first && second);
               exchange(transport, 100, 1);
             });
    }
}

TEST(MemoryStream, saysWhyThereIsNone) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit limited{rlim_t{1} << 40, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limited), 0);
  testing::internal::CaptureStderr();
  std::atomic<int> done = 0;
  onPair({}, [&](Transport &transport) {
    EXPECT_FALSE(isInMemory(transport));
    exchange(transport, 100, 1);
    ++done;
  });
  const std::string said = testing::internal::GetCapturedStderr();
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(done, 2);
  for (const char *part :
       {"rank 0 shares no memory with rank 1: the sizes of files are limited "
        "(ulimit -f); what they send each other goes over TCP\n",
        "rank 1 shares no memory with rank 0: "})
    EXPECT_TRUE(has(said, part)) << said;
}

TEST(MemoryStream, slotsGrowAndGiveTheirMemoryBack) {
  onPair({}, [](Transport &transport) {
    for (size_t bytes : {0ul, 1ul, 4096ul, 4097ul, 3'000'000ul, 5ul,
                         9'000'000ul, 2'000'000ul, 0ul})
      for (uint8_t i = 0; i < 3; ++i)
        exchange(transport, bytes, i);
  });
}

/// In messages of limited size, few of them at a time: four of 512 KiB for each
/// pair, and what else an outbox has.
TEST(MemoryStream, aLargeAllToAllTakesLittle) {
  constexpr int64_t kSize = 4096;
  const OwnedRuns halves[] = {{kSize, kSize / 2, {{0, kSize / 2}}},
                              {kSize, kSize / 2, {{kSize / 2, kSize / 2}}}};
  const DimBlocks rows{0, {halves[0], halves[1]}},
      columns{1, {halves[0], halves[1]}};
  onPair({}, [&](Transport &transport) {
    NetworkCommunicator both(transport, {0, 1}, 10s);
    const int64_t inDims[] = {kSize / 2, kSize}, outDims[] = {kSize, kSize / 2};
    std::vector<float> in(kSize / 2 * kSize), out(in.size());
    const int64_t firstRow = transport.rank() * kSize / 2;
    for (size_t i = 0; i < in.size(); ++i)
      in[i] = static_cast<float>(firstRow * kSize + static_cast<int64_t>(i));
    const TensorView input =
        packedView(in.data(), artifact::ElementType_Float32, inDims);
    const TensorView output =
        packedView(out.data(), artifact::ElementType_Float32, outDims);
    ASSERT_TRUE(
        both.allToAll(input, output, rows, columns, {"all_to_all", "n", 0})
            .isOk());
    for (int64_t row = 0; row < kSize; ++row)
      for (int64_t column = 0; column < kSize / 2; column += 100)
        ASSERT_EQ(out[static_cast<size_t>(row * kSize / 2 + column)],
                  static_cast<float>(row * kSize + firstRow + column));
    EXPECT_LT(outboxBytes(), 2 * (5 << 19));
    exchange(transport, 1, 1); // until both have looked
  });
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

/// Of a descriptor of this process.
Status openOwn(int descriptor, const Nonce &nonce, PeerFile &file) {
  return file.open(getpid(), descriptor, nonce);
}

TEST(SharedFile, isThatOfTheProcessOrNone) {
  Outbox mine;
  ASSERT_TRUE(mine.create().isOk());
  PeerFile file;
  const Nonce nonce = mine.head().nonce;
  ASSERT_TRUE(openOwn(mine.descriptor(), nonce, file).isOk());
  Nonce other = nonce;
  other[31] ^= 1;
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  const Socket read(pipes[0]), write(pipes[1]);
  const Socket loose(memfd_create("shardc-outbox", MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(loose.descriptor(), 4096), 0);
  ASSERT_EQ(pwrite(loose.descriptor(), &nonce, sizeof nonce, 0), 32);
  const struct {
    int descriptor;
    Nonce nonce;
    const char *why;
  } cases[] = {
      {mine.descriptor(), other, "is not the memory of that process"},
      {pipes[0], nonce, "is not the memory of that process"},
      {loose.descriptor(), nonce, "can be made shorter by anybody"},
      {10'000, nonce, "cannot be read: No such file"},
  };
  for (const auto &each : cases) {
    PeerFile wrong;
    const Status status = openOwn(each.descriptor, each.nonce, wrong);
    EXPECT_TRUE(has(status.message(), each.why)) << status.message();
  }
}

TEST(SharedFile, nobodyMakesItShorter) {
  Outbox mine;
  ASSERT_TRUE(mine.create().isOk());
  const SharedPiece piece = mine.add(10'000);
  ASSERT_TRUE(piece.data());
  const Socket again(open(message("/proc/self/fd/", mine.descriptor()).c_str(),
                          O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(again.isOpen());
  EXPECT_NE(ftruncate(again.descriptor(), 0), 0);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(fcntl(again.descriptor(), F_ADD_SEALS, F_SEAL_WRITE), -1);
  piece.data()[9'999] = std::byte{1}; // is there
}

TEST(SharedFile, partsThatItHasNotAreNotMapped) {
  Outbox mine;
  ASSERT_TRUE(mine.create().isOk());
  const SharedPiece piece = mine.add(8192);
  PeerFile file;
  ASSERT_TRUE(openOwn(mine.descriptor(), mine.head().nonce, file).isOk());
  const SharedPiece same = file.map(piece.offset(), 8192);
  ASSERT_TRUE(same.data());
  piece.data()[8000] = std::byte{7};
  EXPECT_EQ(same.data()[8000], std::byte{7});
  const uint64_t end = piece.offset() + piece.size();
  for (auto [offset, bytes] : {std::pair<uint64_t, uint64_t>{end, 1},
                               {piece.offset(), 8193},
                               {piece.offset() + 1, 10},
                               {UINT64_MAX & ~uint64_t{4095}, 8192},
                               {4096, UINT64_MAX - 4095},
                               {0, 0}})
    EXPECT_FALSE(file.map(offset, bytes).data()) << offset << " " << bytes;
}

TEST(SharedFile, removedPiecesHaveNoMemory) {
  Outbox mine;
  ASSERT_TRUE(mine.create().isOk());
  auto bytes = [&] {
    struct stat found = {};
    EXPECT_EQ(fstat(mine.descriptor(), &found), 0);
    return found.st_blocks * 512;
  };
  const int64_t before = bytes();
  SharedPiece piece = mine.add(1 << 20);
  EXPECT_EQ(bytes() - before, 1 << 20);
  mine.remove(std::move(piece));
  EXPECT_EQ(bytes(), before);
}

//===----------------------------------------------------------------------===//
// A peer that writes anything
//===----------------------------------------------------------------------===//

/// Where a word lies in an outbox of this process, as a peer might map it.
struct FoundWord {
  Socket file;
  SharedPiece all;
  uint64_t *word = nullptr;
};

FoundWord findWord(uint64_t wanted) {
  for (const auto &entry :
       std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    const auto link = std::filesystem::read_symlink(entry, error);
    if (error || !has(link, "memfd:shardc-outbox"))
      continue;
    FoundWord found;
    found.file = Socket(open(entry.path().c_str(), O_RDWR | O_CLOEXEC));
    struct stat size = {};
    if (!found.file.isOpen() || fstat(found.file.descriptor(), &size) != 0)
      continue;
    found.all = SharedPiece::map(found.file.descriptor(), 0,
                                 static_cast<uint64_t>(size.st_size));
    auto *begin = reinterpret_cast<uint64_t *>(found.all.data());
    uint64_t *end = begin + size.st_size / 8;
    found.word = std::find(begin, end, wanted);
    if (found.word != end)
      return found;
  }
  return {};
}

/// A record is offset, capacity, bytes and tag; see MemoryStream.h.
void spoil(ptrdiff_t word, uint64_t value) {
  std::atomic<bool> isSpoilt = false;
  onPair({}, [&](Transport &transport) {
    constexpr uint64_t kTag = 0x5ca1ab1e0ddba11;
    Stream &stream = toOther(transport);
    if (transport.rank() == 0) {
      std::byte *memory = nullptr;
      ASSERT_TRUE(stream.prepare(100, memory, std::nullopt).isOk());
      stream.commit(100, kTag);
      const FoundWord found = findWord(kTag);
      ASSERT_TRUE(found.word);
      found.word[word] = value;
      isSpoilt = true;
      EXPECT_FALSE(transport.waitForEnd(1).isOk());
      return;
    }
    while (!isSpoilt)
      std::this_thread::sleep_for(1ms);
    ASSERT_TRUE(
        transport.waitForMessages(std::array{&stream}, std::nullopt).isOk());
    EXPECT_TRUE(stream.front().bytes.empty());
    EXPECT_TRUE(transport.failed());
    EXPECT_TRUE(
        has(transport.failure().message(), "rank 0 says that it has written "))
        << transport.failure().message();
  });
}

TEST(MemoryStream, recordsOfWhatIsNotThereEndAll) {
  spoil(-3, uint64_t{1} << 40); // the offset
  spoil(-3, 12);                // of no page
  spoil(-2, uint64_t{1} << 40); // the capacity
  spoil(-2, 0);                 // too small for its bytes
  spoil(-1, 4097);              // the bytes
  spoil(-1, ~uint64_t{0});
}

} // namespace
} // namespace shardc::runtime
