//===- shardrt.hpp - Running a compiled model from C++ --------------------===//
//
//   std::unique_ptr<Session> session;
//   SHARDC_RETURN_IF_ERROR(Session::open("model.shard", {}, session));
//   int64_t ids[8] = {...}, dims[] = {1, 8};
//   InputTensor input{"input_ids", ElementType_Int64, dims, ids};
//   std::vector<Tensor> outputs(session->outputs().size());
//   SHARDC_RETURN_IF_ERROR(session->run({&input, 1}, outputs));
//   outputs[0].as<float>()[0];
//
// A session runs all ranks of an artifact as threads of this process: stages of
// a pipeline and replicas too. (Under a launcher one process can be one rank:
// processes.hpp.) Outputs that are spread over ranks come back whole. From the
// third run of the same shapes nothing is allocated if the output tensors are
// reused.
//
// Trust. An artifact holds native code, which runs with the rights of the
// process (SessionOptions::nativeCode leaves it out). Its checksums find
// damage, not malice: open only what comes from somebody you would run a
// program of.
//
// Memory. What is handed to run() may go once it has returned, also after an
// error: a rank that hangs in a kernel is given up after the timeout, but not
// while it can still touch it. Small inputs (up to 64 KiB a rank) are copied
// and outputs are written last, so that is a kernel that reads a large input
// in place. A state may be destroyed at any time between runs; what a rank that
// was given up may still write to stays.
//
// Files. Weights are read where the model's files lie, as long as the session
// is open. A file that is written to or truncated in the meantime (not: that
// another one took the place of) ends every run with an error, at the latest
// when it is over: see base/MappedFile.h, and base/FileGuard.h for the handler
// of SIGBUS that open installs. Processes that were forked after open have none
// of the ranks: they can only open the artifact themselves.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_API_SHARDRT_HPP
#define SHARDC_RUNTIME_API_SHARDRT_HPP

#include "runtime/artifact/Format.h"
#include "runtime/base/AlignedBuffer.h"
#include "runtime/base/Status.h"
#include "runtime/exec/Kernel.h"

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shardc::runtime {

using artifact::ElementType;
using enum artifact::ElementType; // ElementType_Int64

/// An input: the caller's memory, dense and row-major, aligned to its elements.
/// Read during run() only, and never written.
struct InputTensor {
  std::string_view name;
  ElementType element = artifact::ElementType_Float32;
  std::span<const int64_t> dims;
  const void *data = nullptr; ///< may be null if there are no elements
};

/// An output: dense, row-major, in memory of its own or in the caller's.
class Tensor {
public:
  Tensor() = default; ///< owns memory that grows as needed and is reused
  /// The memory goes along; `other` is as if new.
  Tensor(Tensor &&other) noexcept { swap(other); }
  Tensor &operator=(Tensor &&other) noexcept {
    Tensor taken(std::move(other));
    swap(taken);
    return *this;
  }
  /// Uses `capacity` bytes at `data`, aligned to 64; a run that needs more is
  /// an error. The caller keeps the memory alive.
  static Tensor borrow(void *data, int64_t capacity);

  ElementType element() const { return type; }
  std::span<const int64_t> dims() const {
    return {sizes, static_cast<size_t>(rank)};
  }
  int64_t numElements() const;
  int64_t bytes() const;
  std::byte *data() const { return memory; }
  template <typename T> T *as() const { return reinterpret_cast<T *>(memory); }

  /// Sets type and shape; contents are undefined afterwards.
  Status reshape(ElementType element, std::span<const int64_t> dims);

private:
  void swap(Tensor &other) noexcept;

  ElementType type = artifact::ElementType_Float32;
  int rank = 0;
  int64_t sizes[kMaxRank] = {};
  std::byte *memory = nullptr;
  int64_t capacity = 0;
  bool borrowed = false;
  AlignedBuffer owned;
};

struct TensorInfo {
  std::string name;
  ElementType element;
  std::vector<std::string> dims; ///< "8", "batch", "past + seq"
};

/// "int64 [batch, seq]"
std::string typeText(const TensorInfo &info);

class Processes;

struct SessionOptions {
  std::string weightsRoot; ///< folder of the model's files, if they moved
  /// Where ranks run: "host", "cuda" (each on a GPU of its own), "cuda:0" (all
  /// on that one); "": SHARDC_DEVICE, or what the artifact was compiled for.
  std::string device;
  /// Longest wait at a collective; 0: SHARDC_TIMEOUT (seconds), or 60 s.
  std::chrono::milliseconds timeout{0};
  /// Whether code that came with the artifact may run: what was generated for
  /// it. Without it an artifact that calls such code is an error of open.
  bool nativeCode = true;
  bool checkReplicas = false; ///< also switched on by SHARDC_CHECK_REPLICAS=1
  bool measure = false;       ///< keep times for profile() and writeTrace()
  /// Open devices and communicators, check what ranks need against what there
  /// is, run one small collective over each group, and load nothing: the
  /// session can then be closed, and nothing else.
  bool preflight = false;
  /// With `preflight`: positions of KV caches, at batch 1, that must fit, too.
  int64_t cachePositions = 0;
  /// Devices capture what they run for a shape and run that again; also
  /// switched off by SHARDC_GRAPHS=0.
  bool graphs = true;
  Processes *processes = nullptr; ///< null: ranks are threads of this one
  /// Open returns before all weights are there: they come beside the first
  /// runs, each instruction of which waits for those that it reads. What can be
  /// found without reading them is an error of open, all else of the run that
  /// meets it, and of all after it. Not where ranks are processes.
  bool loadsBeside = false;
  /// Called before a rank (of the world) reads a weight, by name; by several
  /// threads, also after open where weights come beside runs. May be empty.
  std::function<void(int rank, const std::string &weight)> onWeight = {};
};

/// One collective of the last run, as one group of ranks saw it.
struct CollectiveStats {
  std::string kind;
  std::string node;
  int groupSize;
  int64_t bytes;     ///< of the group's whole value
  int64_t wireBytes; ///< sent by all ranks of the group together
};

struct RankMemory {
  int rank;            ///< of the world
  int64_t weightBytes; ///< local slices: mapped + packed
  int64_t packedBytes; ///< of these, copied into memory of the rank
  int64_t loadedBytes; ///< written by the load-time program
  int64_t arenaBytes;  ///< intermediate values, scratch, packed inputs
  /// Of these, what the last run's intermediate values have by their lifetimes:
  /// the same on any device.
  int64_t valueBytes = 0;
  /// Copies of weights in the order that kernels read them; ranks of one
  /// process that read the same weight share one.
  int64_t arrangedBytes = 0;
};

/// How often ranks have run a program, or a part between two waits for its own
/// data, and how: launch after launch, as a device had just captured it, as it
/// had captured it in an earlier run for other sizes, of which only the launches
/// that changed were set anew, or as it had captured it.
struct LaunchStats {
  int64_t launched = 0;
  int64_t captured = 0;
  int64_t updated = 0;
  int64_t replayed = 0;
};

/// Time of one instruction over all measured runs of the last shape; the first
/// one, which waits for weights, only where there is no other.
struct InstructionProfile {
  std::string kernel;
  std::string node;
  bool isCollective;
  double milliseconds; ///< mean over ranks, sum over runs
  // Of the first rank that is here, in one run (trace/Work.h).
  int64_t bytes = 0;        ///< of its operands
  int64_t multiplyAdds = 0; ///< of a product
  int runs = 0;             ///< that were measured
  bool hasFirst = false;    ///< the first one is among them
};

/// What a rank's device does at best: measured, with all ranks at it.
struct DeviceLimits {
  double bytesPerSecond = 0;
  double multiplyAddsPerSecond = 0; ///< in f32; 0: not known
};

class CacheState;
class Replicas;
class Session;
class WeightCallback;

/// What a rank's caches have of its device. Before the first run: nothing.
struct StateMemory {
  int rank;                   ///< of the world
  int64_t committedBytes = 0; ///< memory that was taken, page by page
  int64_t reservedBytes = 0;  ///< addresses, for the whole capacity
};

/// The KV caches of one sequence, or one batch: each rank keeps its part, and
/// each run appends to it in place. Memory is taken as positions are, where the
/// device has pages (the artifact's target decides whether positions lie behind
/// each other), and stays until the state is destroyed. The branch of a merged
/// decoder that takes a prompt sets them all, whatever they held; caches of an
/// encoder's keys stay as that branch left them. Used by one run at a time; must
/// not outlive its session.
class State {
public:
  ~State();
  int64_t capacity() const; ///< positions that fit into caches that grow
  int64_t length() const;   ///< of them, positions taken
  void reset();             ///< empty again, for any batch; keeps its memory
  /// Of the ranks of this process, by rank.
  std::vector<StateMemory> memory() const;
  /// A copy that goes its own way: beams, or a common prompt.
  Status fork(std::unique_ptr<State> &copy) const;

private:
  friend class Session;
  State(Session &session, size_t replica, int64_t room);
  Session &session;
  size_t replica; ///< that holds it
  int64_t room;
  std::vector<std::shared_ptr<CacheState>> stages;
};

/// Past and present of a cache, by their numbers.
struct CacheInfo {
  size_t input;
  size_t output;
};

/// One request of several that run together.
struct Request {
  std::span<const InputTensor> inputs;
  std::span<Tensor> outputs; ///< one for each output of the model, in order
};

/// Thread-safe: requests of several threads run side by side on the replicas of
/// an artifact (--dp), or one after the other.
class Session {
public:
  static Status open(const std::string &artifact, const SessionOptions &options,
                     std::unique_ptr<Session> &session);
  ~Session();

  const std::vector<TensorInfo> &inputs() const;
  const std::vector<TensorInfo> &outputs() const;
  int worldSize() const;
  const std::string &tolerance() const; ///< "f32", "low" or "quant"

  /// Runs one request. `outputs` has one tensor for each output, in order.
  /// InvalidArgument: the inputs do not fit; Artifact: everything else. After
  /// an error the next run starts afresh, unless the message says that a rank
  /// no longer answers.
  Status run(std::span<const InputTensor> inputs, std::span<Tensor> outputs);

  /// Runs several requests: spread over replicas, and several at a time where
  /// there are stages. The first error; the outputs are then undefined.
  Status run(std::span<const Request> requests);

  /// Which inputs and outputs a state keeps; none if the model has no cache.
  std::vector<CacheInfo> caches() const;
  /// An empty state for `capacity` positions. InvalidArgument where the model
  /// has no cache.
  Status createState(int64_t capacity, std::unique_ptr<State> &state);
  /// As run without it, but `inputs` are without past, and outputs that the
  /// state keeps are left as they are. InvalidArgument also where the state is
  /// full, or a step comes before the prompt that it goes on from; the state is
  /// then as before. After any other error it is too, but a cache that the run
  /// was about to set is empty.
  Status run(State &state, std::span<const InputTensor> inputs,
             std::span<Tensor> outputs);

  // About the last successful run, and the ranks of this process; empty before
  // it.
  std::vector<CollectiveStats> collectiveStats() const;
  std::vector<RankMemory> rankMemory() const;
  LaunchStats launchStats() const; ///< of all ranks and all runs
  std::vector<InstructionProfile> profile() const;
  /// The mean over the ranks of this process; takes some tenths of a second.
  Status measureLimits(DeviceLimits &limits);
  /// Chrome/Perfetto JSON of the last run; one track a rank.
  Status writeTrace(const std::string &path) const;
  /// The ranks of this process: where each is, what it needs of the device;
  /// then which of their devices do not reach each other.
  std::vector<std::string> placement() const;
  /// Kernels that the devices lack: for those values go to the host and back.
  const std::vector<std::string> &hostKernels() const;
  /// The same of single instructions, whose kernel does not take their types or
  /// dims, as runs so far have found: "MatMul at node 'up': ...".
  std::vector<std::string> hostInstructions() const;

private:
  friend class State;
  Session(std::unique_ptr<Replicas> replicas,
          std::shared_ptr<WeightCallback> onWeight);
  std::unique_ptr<Replicas> replicas;
  std::shared_ptr<WeightCallback> onWeight; ///< null: nobody is told
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_API_SHARDRT_HPP
