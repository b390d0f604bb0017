//===- Flags.h - The flags of shardc --------------------------------------===//
#ifndef SHARDC_TOOLS_SHARDC_FLAGS_H
#define SHARDC_TOOLS_SHARDC_FLAGS_H

#include <cstdint>
#include <map>
#include <string>

namespace shardc {

/// As the user wrote them, checked one by one.
struct Flags {
  std::string model, output, from, to, dumpDir, explainJson, reproducer;
  std::string weights = "reference";
  std::map<std::string, int64_t> dims;
  int64_t tp = 1;
  bool explain = false, noRecovery = false;
  bool check = false, json = false; ///< shardc check
};

/// Parses the command line. Returns an exit status where the program is done
/// (--help, --version, a wrong flag), else -1.
int parseFlags(int argc, char **argv, Flags &flags);

} // namespace shardc

#endif // SHARDC_TOOLS_SHARDC_FLAGS_H
