//===- Options.h - What shardrun is asked to do ---------------------------===//
#ifndef SHARDC_TOOLS_SHARDRUN_OPTIONS_H
#define SHARDC_TOOLS_SHARDRUN_OPTIONS_H

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace shardrun {

struct Options {
  std::string artifact, outputs, tolerance, weightsRoot, device;
  bool listsDevices = false, preflight = false;
  std::vector<std::string> inputs, expect; ///< one of each a request
  int64_t cache = 0;
  std::string sequences;                   ///< see Steps.h
  std::string texts;                       ///< see Texts.h
  std::string prompt;                      ///< see Prompt.h
  int64_t stepRows = 64, stepTokens = 512; ///< of a server
  double stepSlowdown = 2;                 ///< likewise
  int rejoin = 0;                          ///< how often
  std::string trace, statsJson;
  int repeat = 1;
  bool profile = false;
  bool checkReplicas = false;
  bool loadsFirst = false;
  bool noKernels = false;
  double timeout = 0;
  int threads = 0;
};

void declareFlags(CLI::App &app, Options &options);

} // namespace shardrun

#endif // SHARDC_TOOLS_SHARDRUN_OPTIONS_H
