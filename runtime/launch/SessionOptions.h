//===- SessionOptions.h - How an artifact is opened -----------------------===//
#ifndef SHARDC_RUNTIME_LAUNCH_SESSIONOPTIONS_H
#define SHARDC_RUNTIME_LAUNCH_SESSIONOPTIONS_H

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace shardc::runtime {

class LoadProgress; ///< launch/LoadProgress.h
class Processes;
class SpentTimes;

struct SessionOptions {
  std::string weightsRoot; ///< folder of the model's files, if they moved
  /// Where ranks run: "host", "cuda" (each on a GPU of its own), "cuda:0" (all
  /// on that one); "": SHARDC_DEVICE, or what the artifact was compiled for.
  std::string device;
  /// Longest wait at a collective; 0: SHARDC_TIMEOUT (seconds), or 60 s.
  std::chrono::milliseconds timeout{0};
  /// Of each rank's kernels on the host; 0: SHARDC_THREADS, or an equal share
  /// of the cores that the process may use (HostThreads.h).
  int threads = 0;
  /// Whether code that came with the artifact may run: what was generated for
  /// it. Without it an artifact that calls such code is an error of open.
  bool nativeCode = true;
  bool checkReplicas = false; ///< also switched on by SHARDC_CHECK_REPLICAS=1
  bool measure = false;       ///< keep times for profile() and writeTrace()
  /// Open devices and communicators, check what ranks need against what there
  /// is, run one small collective over each group, and load nothing: the
  /// session can then be closed, and nothing else.
  bool preflight = false;
  /// Of KV caches, at batch 1, that must fit, too, or nothing is loaded.
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
  /// What is told of weights as they come; null: nothing is.
  std::shared_ptr<LoadProgress> progress = {};
  /// What ranks add their times to; null: the session makes one.
  std::shared_ptr<SpentTimes> spent = {};
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_LAUNCH_SESSIONOPTIONS_H
