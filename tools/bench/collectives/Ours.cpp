//===- Ours.cpp - The runtime's collectives between processes -------------===//
#include "runtime/collectives/net/NetworkCommunicator.h"
#include "runtime/session/Settings.h"
#include "runtime/tensor/CopyView.h"
#include "tools/bench/collectives/Cases.h"

using namespace shardc;
using namespace shardc::runtime;

static void check(const Status &status) {
  if (status.isOk())
    return;
  std::fprintf(stderr, "%s\n", status.message().c_str());
  std::exit(1);
}

static TensorView viewOf(std::vector<float> &values, int64_t elements) {
  return packedView(values.data(), artifact::ElementType_Float32,
                    {&elements, 1});
}

int main(int argc, char **argv) {
  ProcessPlace place;
  check(findProcessPlace([](const char *name) { return std::getenv(name); },
                         place));
  TransportOptions options;
  check(readSharedMemory(options.sharesMemory));
  check(readNetwork(options.network));
  std::unique_ptr<Transport> transport;
  check(Transport::open(place, options, transport));
  const int rank = transport->rank(), ranks = transport->size();
  std::vector<int> members;
  for (int i = 0; i < ranks; ++i)
    members.push_back(i);
  NetworkCommunicator all(*transport, members, std::chrono::seconds(60));
  // Of an all_to_all: rank i's row to columns i, a part to each and one of each.
  DimBlocks rows{0, {}}, columns{1, std::vector<OwnedRuns>(members.size())};
  std::vector<OwnedRuns> &blocks = columns.blocks;
  for (int i = 0; i < ranks; ++i)
    rows.blocks.push_back({ranks, 1, {{i, 1}}});
  return bench::runCases(
      argc, argv, rank, ranks,
      [&](const std::string &operation, bench::Buffers &b, size_t bytes) {
        const CollectiveSite site{operation, "bench", 0};
        const auto whole = static_cast<int64_t>(bytes / 4);
        const int64_t part = whole / ranks;
        if (blocks[0].globalSize != whole)
          for (int i = 0; i < ranks; ++i)
            blocks[static_cast<size_t>(i)] = {whole, part, {{i * part, part}}};
        if (operation == "all_reduce")
          check(all.allReduce(viewOf(b.in, whole), viewOf(b.out, whole),
                              ReduceKind::Sum, site));
        else if (operation == "all_gather")
          check(all.allGather(viewOf(b.in, part), viewOf(b.out, whole), 0,
                              blocks, site));
        else {
          const int64_t inDims[] = {1, whole}, outDims[] = {ranks, part};
          check(all.allToAll(
              packedView(b.in.data(), artifact::ElementType_Float32, inDims),
              packedView(b.out.data(), artifact::ElementType_Float32, outDims),
              rows, columns, site));
        }
      });
}
