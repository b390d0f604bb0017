//===- Flags.h - The flags of shardc --------------------------------------===//
#ifndef SHARDC_TOOLS_SHARDC_FLAGS_H
#define SHARDC_TOOLS_SHARDC_FLAGS_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace shardc {

enum class Command {
  Compile,
  Check,
  Plan,
  Verify,
  Explain,
  Lint,
  Diff,
  FromHf
};

/// What reads options: parts of the work that some inputs have behind them.
enum class Reader { Import, Mesh, Plan, Program, Request };

struct GivenOption {
  std::string name; ///< "--tp"
  Reader reader;
};

/// Of phases, first to last; -1 of none.
int phaseIndex(const std::string &phase);

/// Of `shardc plan --training`.
struct TrainingFlags {
  bool isOn = false, hasDropout = false;
  int64_t microBatch = 1, interleave = 1, zeroStage = 0, gradientBits = 16;
  std::string recompute = "none", attention = "fused";
  std::string overlapsLayers = "on", overlapsReplicas = "on";
};

struct AxisFlags {
  std::string name;
  int64_t ways = 1;
  std::vector<int64_t> shares = {}; ///< none where parts are equal
};

/// As the user wrote them, checked one by one.
struct Flags {
  std::string model, output, from, to, dumpDir, explainJson, reproducer;
  std::string topology, rankOrder, loadPlan, savePlan;
  std::string emit; ///< what is written in place of an artifact
  std::string collectives = "microsoft";
  std::string annotations; ///< configuration of the model's own
  bool givesDegrees = false;
  std::vector<std::string> pins;
  std::string weights = "reference";
  std::string target = "host", overlap = "auto";
  std::map<std::string, int64_t> dims, planDims;
  /// Kinds of requests, as weights and sizes; none: those of `dims`.
  std::vector<std::pair<double, std::map<std::string, int64_t>>> mix;
  std::map<std::string, int64_t> degrees; ///< by axis, as given
  std::vector<AxisFlags> axes;            ///< of the mesh
  std::vector<std::string> shares;        ///< as given
  bool hasDeviceShares = false;           ///< --shares auto
  bool sequenceParallel = false;
  std::string contextMode = "ring", expertMode = "auto";
  int64_t microBatches = 1;
  bool explain = false, noRecovery = false, noProgress = false;
  int64_t page = 0;
  std::string weightsType; ///< without the group
  int64_t weightsGroup = 32;
  std::string kvType;
  std::string precision = "model";
  std::string compute = "model";
  bool bitwise = false;
  std::string kernels = "generated";
  bool isAutomatic = false; ///< --auto: degrees that planning chooses
  std::string goal = "throughput";
  Command command = Command::Compile;
  bool json = false; ///< of checking and verifying
  // Of planning: degrees that are not to be chosen.
  std::string planJson, report; ///< the latter of compiling, too
  std::map<std::string, int64_t> fixed;
  std::vector<std::string> fixedOrder;     ///< innermost first
  std::string fixedSequence, fixedContext; ///< "on" or "off"; a mode; or ""
  int64_t fixedMicroBatches = 0;           ///< 0: to be chosen
  TrainingFlags training;
  /// Options that only some inputs have a use for (Readers.h).
  std::vector<GivenOption> given;
  // Of what is said about plans.
  std::string rules, other, node;
  // Of verifying.
  std::vector<std::string> inputs;
  std::string programs, against, python; ///< the last one of from-hf, too
  bool trustPrograms = false;
  uint64_t seed = 0;
  // Of from-hf.
  std::string exporter = "auto", exportPrecision = "fp32";
};

/// Parses the command line. Returns an exit status where the program is done
/// (--help, --version, a wrong flag), else -1.
int parseFlags(int argc, char **argv, Flags &flags);

} // namespace shardc

#endif // SHARDC_TOOLS_SHARDC_FLAGS_H
