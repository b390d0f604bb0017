//===- Gloo.cpp - Gloo's collectives over TCP -----------------------------===//
#include "tools/bench/collectives/Cases.h"

#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

/// BENCH_STORE: an empty folder; BENCH_ADDRESS: of this process.
int main(int argc, char **argv) {
  const int rank = std::atoi(std::getenv("SHARDC_RANK"));
  const int ranks = std::atoi(std::getenv("SHARDC_WORLD_SIZE"));
  gloo::transport::tcp::attr at;
  at.hostname = std::getenv("BENCH_ADDRESS");
  auto device = gloo::transport::tcp::CreateDevice(at);
  gloo::rendezvous::FileStore store(std::getenv("BENCH_STORE"));
  auto all = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
  all->connectFullMesh(store, device);
  return bench::runCases(
      argc, argv, rank, ranks,
      [&](const std::string &operation, bench::Buffers &b, size_t bytes) {
        const size_t whole = bytes / 4, part = whole / size_t(ranks);
        if (operation == "all_reduce") {
          gloo::AllreduceOptions options(all);
          options.setInput(b.in.data(), whole);
          options.setOutput(b.out.data(), whole);
          options.setReduceFunction(
              [](void *to, const void *left, const void *right, size_t n) {
                gloo::sum<float>(to, left, right, n);
              });
          gloo::allreduce(options);
        } else if (operation == "all_gather") {
          gloo::AllgatherOptions options(all);
          options.setInput(b.in.data(), part);
          options.setOutput(b.out.data(), whole);
          gloo::allgather(options);
        } else {
          gloo::AlltoallOptions options(all);
          options.setInput(b.in.data(), whole);
          options.setOutput(b.out.data(), whole);
          gloo::alltoall(options);
        }
      });
}
