//===- Cases.h - What each engine of the benchmark is asked ---------------===//
//
// Bytes are those of the larger side, on each rank: what an all_reduce sums, an
// all_gather gives, an all_to_all takes. Elements are f32.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_TOOLS_BENCH_COLLECTIVES_CASES_H
#define SHARDC_TOOLS_BENCH_COLLECTIVES_CASES_H

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace bench {

inline const std::vector<std::string> kOperations = {"all_reduce", "all_gather",
                                                     "all_to_all"};

/// Of a rank; large enough for each operation.
struct Buffers {
  explicit Buffers(size_t bytes) : in(bytes / 4, 1.0f), out(bytes / 4) {}
  std::vector<float> in, out;
};

/// What rank 0 says, on all ranks.
template <typename Call> int agreed(int rank, int number, Call call) {
  constexpr size_t kBytes = 1024;
  Buffers buffers(kBytes);
  std::fill(buffers.in.begin(), buffers.in.end(), 0.0f);
  buffers.in[0] = rank == 0 ? static_cast<float>(number) : 0.0f;
  call("all_reduce", buffers, kBytes);
  return static_cast<int>(buffers.out[0]);
}

/// Calls of a burst: fewer where one takes long, as where an engine has more
/// processes than there are cores.
template <typename Call> int callsOf(size_t bytes, Call call) {
  constexpr double kMostSeconds = 0.2;
  const auto begin = std::chrono::steady_clock::now();
  call();
  call();
  const std::chrono::duration<double> two =
      std::chrono::steady_clock::now() - begin;
  const double most = std::min(2 * kMostSeconds / two.count(), 400.0);
  // Some 20 ms at 1 GB/s, and not too few.
  return std::clamp(std::min(static_cast<int>((size_t{16} << 20) /
                                              std::max<size_t>(bytes, 1)),
                             static_cast<int>(most)),
                    2, 400);
}

/// Times call(operation, buffers, bytes) for all operations and the sizes of
/// the command line, `bursts` times each after a warm-up; rank 0 prints
/// "operation bytes us us ...", of a call in each burst. `call` says whether
/// the result is right, which is asked once.
template <typename Call>
int runCases(int argc, char **argv, int rank, int ranks, Call call) {
  const int bursts = std::atoi(argv[1]);
  for (const std::string &operation : kOperations)
    for (int i = 2; i < argc; ++i) {
      const size_t bytes = std::strtoull(argv[i], nullptr, 10);
      Buffers buffers(bytes);
      const int calls = agreed(
          rank, callsOf(bytes, [&] { call(operation, buffers, bytes); }), call);
      for (int c = 0; c < calls / 4; ++c)
        call(operation, buffers, bytes);
      const float expected =
          operation == "all_reduce" ? static_cast<float>(ranks) : 1.0f;
      if (std::any_of(buffers.out.begin(), buffers.out.end(),
                      [&](float x) { return x != expected; })) {
        std::fprintf(stderr, "%s of %zu bytes is wrong\n", operation.c_str(),
                     bytes);
        std::abort();
      }
      if (rank == 0)
        std::printf("%s %zu", operation.c_str(), bytes);
      for (int b = 0; b < bursts; ++b) {
        const auto begin = std::chrono::steady_clock::now();
        for (int c = 0; c < calls; ++c)
          call(operation, buffers, bytes);
        const std::chrono::duration<double, std::micro> took =
            std::chrono::steady_clock::now() - begin;
        if (rank == 0)
          std::printf(" %.2f", took.count() / calls);
      }
      if (rank == 0)
        std::printf("\n");
    }
  return 0;
}

} // namespace bench

#endif // SHARDC_TOOLS_BENCH_COLLECTIVES_CASES_H
