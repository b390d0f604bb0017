//===- WeightFeed.h - A rank's weights, brought beside its runs -----------===//
//
// A thread that brings what DeviceWeights has still to come, with a stream of
// its own on a device, and tells WeightArrivals. The rank's own stream waits
// for what was sent, the host does not:
//
//   feed    copy w0, event, copy w1, event, ...
//   rank    wait(event), kernel of w0, wait(event), kernel of w1, ...
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_WEIGHTS_WEIGHTFEED_H
#define SHARDC_RUNTIME_WEIGHTS_WEIGHTFEED_H

#include "runtime/weights/DeviceWeights.h"
#include "runtime/weights/WeightArrivals.h"

#include <functional>
#include <string>
#include <thread>

namespace shardc::runtime {

/// When a slice was read and handed on, in nanoseconds of the steady clock.
struct WeightTiming {
  std::string name;
  int64_t begin = 0;
  int64_t end = 0;
};

class LoadProgress; ///< launch/LoadProgress.h

/// Whose weights they are, and who is told.
struct WeightFeedPlace {
  int stage = 0;
  size_t rank = 0;  ///< among those of WeightArrivals::expect
  std::string text; ///< "rank 3 (pp 1, tp 1)", for errors
  int worldRank = -1;
  int hostThreads = 1;
  bool readsFiles = false;
  bool measures = false;
  /// The weight's name; and more of it, for errors: "weight w in model.onnx,
  /// which MatMul at node '/up' reads". By slice and SliceUses::end.
  std::function<std::string(const ComingSlice &, uint64_t)> name, describe;
  /// Before each slice, with its name; may be empty.
  std::function<void(const std::string &)> onWeight;
  std::shared_ptr<LoadProgress> progress = {}; ///< null: nobody looks
  /// When all have come: whether they are what was expected.
  std::function<Status()> check;
};

class WeightFeed final : private WeightWatch {
public:
  /// All live longer.
  WeightFeed(DeviceWeights &weights, Device &device, WeightArrivals &arrivals,
             WeightFeedPlace place)
      : weights(weights), device(device), arrivals(arrivals),
        place(std::move(place)) {}
  /// Ends at the next slice.
  ~WeightFeed();

  Status start();
  /// What the stream does from now on is behind all that was sent.
  Status order(DeviceStream &stream);
  /// Of those that have come, once all have.
  const std::vector<WeightTiming> &timings() const { return times; }

private:
  Status begins(const ComingSlice &slice, uint64_t end) override;
  Status sent(uint64_t step, DeviceStream &stream, DeviceEvent &event) override;
  void read(int64_t bytes) override;
  void arrived(uint64_t step) override;
  void run();
  Status bring();
  void endTiming();
  Status atSlice(const Status &status) const;

  DeviceWeights &weights;
  Device &device;
  WeightArrivals &arrivals;
  const WeightFeedPlace place;
  std::unique_ptr<DeviceStream> stream;
  std::string at; ///< the slice at hand, for errors; empty: none
  std::vector<WeightTiming> times;
  std::mutex mutex;
  const DeviceEvent *latest = nullptr; ///< null: all that was sent is there
  std::atomic<bool> closing = false;
  std::thread thread;
};

/// What the run of a rank waits for while weights come.
class WeightGate {
public:
  /// A run of the program whose first step is `first`; `ends`, by stage: what
  /// has to be reached before it has a result.
  void open(int ofStage, uint64_t first, std::vector<uint64_t> ends) {
    stage = ofStage;
    firstStep = first;
    programEnds = std::move(ends);
  }
  /// Both live longer.
  void join(WeightArrivals &all, WeightFeed &own) {
    arrivals = &all;
    feed = &own;
  }

  /// Before instruction `index`; `other`: the stage that it sends to or
  /// receives from, or -1.
  Status pass(uint32_t index, int other, DeviceStream &stream,
              const RunFailure &failure);
  /// Before the outputs are read.
  Status passAll(DeviceStream &stream, const RunFailure &failure) {
    return passUntil(programEnds[static_cast<size_t>(stage)], stream, failure);
  }

private:
  Status passUntil(uint64_t step, DeviceStream &stream,
                   const RunFailure &failure);

  WeightArrivals *arrivals = nullptr;
  WeightFeed *feed = nullptr;
  int stage = 0;
  uint64_t firstStep = 0;
  uint64_t passed = 0; ///< the stream is behind all before that
  std::vector<uint64_t> programEnds;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_WEIGHTS_WEIGHTFEED_H
