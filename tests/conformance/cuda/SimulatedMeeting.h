//===- SimulatedMeeting.h - Operations that ranks meet in -----------------===//
//
// An operation of a communicator is done when the part that each rank has in it
// has become the first of its stream's work; a send has two parts:
//
//   rank 0   AllReduce #0     Send to 1 #0
//   rank 1   AllReduce #0     Receive from 0 #0
//
// Ranks whose parts do not fit each other fail, where NCCL hangs or destroys
// memory.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_TESTS_CONFORMANCE_CUDA_SIMULATEDMEETING_H
#define SHARDC_TESTS_CONFORMANCE_CUDA_SIMULATEDMEETING_H

#include "tests/conformance/cuda/SimulatedStream.h"

#include <map>
#include <nccl.h>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace shardc::testing {

enum class MeetingKind { AllReduce, AllGather, ReduceScatter, Broadcast, Send };

/// A rank's part in an operation.
struct SimulatedPart {
  MeetingKind kind = MeetingKind::AllReduce;
  size_t count = 0; ///< elements of all, or of one rank where ranks have pieces
  ncclDataType_t type = ncclUint8;
  ncclRedOp_t operation = ncclSum;
  int root = 0;                ///< of Broadcast
  const void *input = nullptr; ///< null: none
  void *output = nullptr;
  int peer = 0; ///< of a send, or of its other side
  /// 0, or its number among the captured ones of its rank: NCCL wants all ranks
  /// to run graphs of the same capture.
  uint64_t captured = 0;

  bool fits(const SimulatedPart &other) const {
    return kind == other.kind && count == other.count && type == other.type &&
           operation == other.operation && root == other.root &&
           captured == other.captured;
  }
  /// Of memory.
  size_t inputBytes(int ranks) const;
  size_t outputBytes(int ranks) const;
};

size_t simulatedBytes(ncclDataType_t type);

/// All parts, by rank, with addresses of what is stored; of a send: from, to.
void performMeeting(const std::vector<SimulatedPart> &parts);

class SimulatedGroup;
struct SimulatedMeeting;

/// What a rank enqueued together: work of its stream.
class SimulatedParts {
public:
  SimulatedParts(SimulatedGroup &group, std::shared_ptr<SimulatedStream> stream)
      : group(group), stream(std::move(stream)) {}

  /// SimulatedWork.
  bool attempt();

  SimulatedGroup &group;
  const std::shared_ptr<SimulatedStream> stream;
  std::vector<SimulatedPart> parts;
  std::vector<std::shared_ptr<SimulatedMeeting>> meetings; ///< of each part
  std::atomic<uint64_t> number{0}; ///< in its stream; 0: not enqueued yet
  // While work runs:
  bool isThere = false; ///< the first of its stream
  bool isAborted = false;
};

/// The ranks of a communicator. Never destroyed: ranks may leave at any time.
class SimulatedGroup {
public:
  explicit SimulatedGroup(int size) : size(size) {}
  const int size;

  /// A rank comes; not two of one device.
  void join(int rank, int device);
  bool isComplete();
  ncclResult_t failure(std::string &text);
  void fail(const std::string &text);

  /// The part comes to the next operation of its kind between these ranks.
  void meet(const std::shared_ptr<SimulatedParts> &parts, size_t index,
            int rank);
  /// Does the operation if all are there.
  void tryToPerform(SimulatedMeeting &meeting);
  /// Those that a rank has to wait for.
  std::vector<std::shared_ptr<SimulatedParts>>
  missing(const SimulatedMeeting &meeting);

private:
  /// From and to, or -1 for all; then its number, as this side counts.
  using Key = std::tuple<int, int, uint64_t>;

  std::mutex mutex;
  std::map<int, int> devices; ///< by rank
  std::string problem;
  std::map<Key, std::shared_ptr<SimulatedMeeting>> open;
  std::map<std::tuple<int, int, int>, uint64_t> counts; ///< rank, from, to
};

struct SimulatedMeeting {
  struct Place {
    std::shared_ptr<SimulatedParts> parts;
    size_t index;
  };
  size_t expected = 0;
  std::map<int, Place> places; ///< by rank; of a send: 0, and 1 for who gets
  std::atomic<bool> isDone{false};
};

/// Whether a kernel may be launched there: see SimulatedNccl.cpp.
bool mayLoadOn(const SimulatedStream &stream);

} // namespace shardc::testing

#endif // SHARDC_TESTS_CONFORMANCE_CUDA_SIMULATEDMEETING_H
