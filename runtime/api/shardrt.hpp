//===- shardrt.hpp - Running a compiled model from C++, in this tree ------===//
//
// For programs that are linked with the runtime's objects (tools, tests); what
// is installed for others is client/shardrt.hpp, over the C API.
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
// session/Processes.h.) Outputs that are spread over ranks come back whole. From
// the third run of the same shapes nothing is allocated if the output tensors are
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

#include "runtime/base/Status.h"
#include "runtime/cache/StateMemory.h"
#include "runtime/device/DeviceLimits.h"
#include "runtime/launch/RunOptions.h"
#include "runtime/launch/SessionOptions.h"
#include "runtime/stage/Statistics.h"
#include "runtime/tensor/Tensor.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace shardc::runtime {

class Replicas;
struct MemoryDevices; ///< device/RankDevices.h
class RequestFeed; ///< session/Pipeline.h
struct MemoryNeed; ///< memory/MemoryNeeds.h
class Session;
class WeightCallback;
struct KeptState;

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
  /// Empty again, for any batch; keeps its memory.
  void reset();
  /// Of the ranks of this process, by rank.
  std::vector<StateMemory> memory() const;
  /// A copy that goes its own way: beams, or a common prompt.
  Status fork(std::unique_ptr<State> &copy) const;
  /// Why what it held is gone, so that runs with it are errors: processes have
  /// come apart in it (then reset() helps), or the session was opened again.
  Status lost() const;
  /// Whether the request that failed was not one of its own replica.
  bool isLostByOthers() const;

private:
  friend class Session;
  State(Session &session, std::unique_ptr<KeptState> kept);
  Session &session;
  std::unique_ptr<KeptState> kept;
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

  /// Opens the same artifact again in place, after isLost() say; nothing else
  /// uses the session meanwhile, which after an error is as it was. Weights stay
  /// mapped; the first runs arrange them for their kernels again, and other
  /// devices get their copies. Ranks that hang are left behind with what they
  /// use. States are lost: a run with one is InvalidArgument. Where ranks are processes, all of them do this once
  /// they have joined again, those that are left and those that took the place of
  /// others (which open() it): session/Processes.h.
  Status reopen(Processes *again = nullptr);

  const std::vector<TensorInfo> &inputs() const;
  const std::vector<TensorInfo> &outputs() const;
  int worldSize() const;
  int numReplicas() const;
  int numStages() const; ///< of each replica
  /// Nothing runs any more, until it is opened again: a rank no longer answers,
  /// or a process is gone.
  bool isLost() const;
  /// An error in a process that was forked after open: nothing can be asked.
  Status checkProcess() const;
  /// An error where its caches are a pool's, whose places whoever asks for a
  /// request has not: only sequences have.
  Status takesRequests() const;
  const std::string &tolerance() const; ///< "f32", "low" or "quant"

  /// Positions of a page, of a model for steps of rows (serve/Sequences.h): 0 of
  /// one for requests.
  int64_t page() const;
  /// Of such a model: what a position has follows from it and those before it, so
  /// that a text may come in parts. False also where that is not known.
  bool isCausal() const;
  /// Each row of a request's batch gets what it gets alone. False also where that
  /// is not known.
  bool hasIndependentRows() const;

  /// Runs one request. `outputs` has one tensor for each output, in order.
  /// InvalidArgument: the inputs do not fit, nor guards; Cancelled and Deadline: as
  /// `options` say; Artifact: all else. An error, of whatever rank or process, ends
  /// this request: the next run starts afresh, unless the session isLost().
  Status run(std::span<const InputTensor> inputs, std::span<Tensor> outputs,
             const RunOptions &options = {});

  /// Where ranks are processes, rank 0 is called as above; in all others this
  /// does what rank 0 does, until its session is closed: then it returns. Their
  /// inputs come from rank 0. So is a request that fails: this goes on. An error
  /// is that of all, and the session is lost.
  Status follow();
  /// Of a process that follows, by rank: the caches of the state that was used
  /// last.
  std::vector<StateMemory> followedMemory() const;

  /// Runs several requests: spread over replicas, and several at a time where
  /// there are stages. The first error; the outputs are then undefined.
  Status run(std::span<const Request> requests, const RunOptions &options = {});

  /// Which inputs and outputs a state keeps; none if the model has no cache.
  std::vector<CacheInfo> caches() const;
  /// An empty state for `capacity` positions, on that replica, or on each in
  /// turn. InvalidArgument where the model has no cache.
  Status createState(int64_t capacity, std::unique_ptr<State> &state,
                     int replica = -1);
  /// As run without it, but `inputs` are without past, and outputs that the
  /// state keeps are left as they are. InvalidArgument also where the state is
  /// full, or a step comes before the prompt that it goes on from. After an error
  /// the state is as before, on all ranks; but empty where the run was about to
  /// set its caches. Where ranks are processes one may fail in what rank 0 has
  /// called done: the next run with that state says that it is lost.
  Status run(State &state, std::span<const InputTensor> inputs,
             std::span<Tensor> outputs, const RunOptions &options = {});
  /// Several steps of rows on one pool of pages, one behind the other in the
  /// stages. InvalidArgument of a model for requests.
  Status run(State &state, std::span<const Request> steps,
             const RunOptions &options = {});

  /// Steps of rows as they come, each into the first stage as soon as that has
  /// nothing to do. The first error, or ok once the feed has no more; steps that
  /// the feed was not told of have failed with it.
  Status run(State &state, RequestFeed &steps, const RunOptions &options = {});

  /// Of processes: waits until all are done with what they were told to run. Where
  /// one of them failed after others had called it done, states say so then.
  Status confirm();

  // About the last successful run, and the ranks of this process; empty before
  // it.
  std::vector<CollectiveStats> collectiveStats() const;
  std::vector<RankMemory> rankMemory() const;
  LaunchStats launchStats() const; ///< of all ranks and all runs
  /// What ranks of this process have spent since the session was opened first;
  /// to be read from any thread, whatever runs.
  const std::shared_ptr<SpentTimes> &spentTimes() const { return spent; }
  std::vector<InstructionProfile> profile() const;
  /// The mean over the ranks of this process; takes some tenths of a second.
  Status measureLimits(DeviceLimits &limits);
  /// Chrome/Perfetto JSON of the last run; one track a rank.
  Status writeTrace(const std::string &path) const;
  /// Those whose memory inputs and outputs may be in; none where ranks are
  /// processes, which pass them on over the host.
  MemoryDevices memoryDevices() const;
  /// The ranks of this process: where each is, what it needs of the device;
  /// then which of their devices do not reach each other.
  std::vector<std::string> placement() const;
  const std::vector<MemoryNeed> &needs() const; ///< of the same ranks
  /// Kernels that the devices lack: for those values go to the host and back.
  const std::vector<std::string> &hostKernels() const;
  /// The same of single instructions, whose kernel does not take their types or
  /// dims, as runs so far have found: "MatMul at node 'up': ...".
  std::vector<std::string> hostInstructions() const;

private:
  friend class State;
  Session(std::string folder, const SessionOptions &options,
          std::unique_ptr<Replicas> replicas,
          std::shared_ptr<WeightCallback> onWeight);
  const std::string folder;
  const std::shared_ptr<SpentTimes> spent;
  SessionOptions options; ///< complete
  std::unique_ptr<Replicas> replicas;
  std::shared_ptr<WeightCallback> onWeight; ///< null: nobody is told
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_API_SHARDRT_HPP
