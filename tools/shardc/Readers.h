//===- Readers.h - Which part of the work reads an option -----------------===//
//
// An option that nobody reads is a mistake. So each is added in the name of what
// reads it, which is its heading in --help as well, and what does not run for an
// input makes an error of every option that it would have read:
//
//   explain model.onnx        all run
//   explain model.shard       none: the artifact has its plan, and a program
//   text.mlir --from sharded  import and plan are behind it
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_TOOLS_SHARDC_READERS_H
#define SHARDC_TOOLS_SHARDC_READERS_H

#include "tools/shardc/Flags.h"

#include <CLI/CLI.hpp>

namespace shardc {

/// Options that are added to an app while it lives are read by that.
class ReadBy {
public:
  ReadBy(CLI::App &app, Reader reader);
  ~ReadBy();
  ReadBy(const ReadBy &) = delete;
  ReadBy &operator=(const ReadBy &) = delete;

private:
  CLI::App &app;
  const std::string before;
};

/// Those of a parsed command line that some reader has.
std::vector<GivenOption> givenOptions(const CLI::App &parsed);

/// "" or the first option that only phases before --from would read.
std::string checkFrom(const Flags &flags);

} // namespace shardc

#endif // SHARDC_TOOLS_SHARDC_READERS_H
