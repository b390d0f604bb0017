//===- Readers.cpp - Which part of the work reads an option ---------------===//
//
// CLI11 throws, so this file is compiled apart from everything that uses MLIR.
//
//===----------------------------------------------------------------------===//

#include "tools/shardc/Readers.h"

namespace shardc {

static constexpr struct {
  Reader reader;
  const char *heading;
  /// The phases that read it; behind the last of them it is idle. Nothing where
  /// later ones do as well.
  const char *lastPhase;
} kReaders[] = {
    {Reader::Import, "Import", "imported"},
    {Reader::Mesh, "Degrees",
     nullptr}, // compared with what a file was made for
    {Reader::Plan, "Plan", "sharded"},
    {Reader::Program, "Program", "lowered"},
    {Reader::Request, "Machine and requests", nullptr},
};

static const char *headingOf(Reader reader) {
  for (const auto &known : kReaders)
    if (known.reader == reader)
      return known.heading;
  return "";
}

ReadBy::ReadBy(CLI::App &app, Reader reader)
    : app(app), before(app.option_defaults()->get_group()) {
  app.option_defaults()->group(headingOf(reader));
}

ReadBy::~ReadBy() { app.option_defaults()->group(before); }

std::vector<GivenOption> givenOptions(const CLI::App &parsed) {
  std::vector<GivenOption> given;
  for (const CLI::Option *option : parsed.get_options())
    for (const auto &known : kReaders)
      if (option->count() > 0 && option->get_group() == known.heading)
        given.push_back({"--" + option->get_lnames().front(), known.reader});
  return given;
}

std::string checkFrom(const Flags &flags) {
  if (flags.from.empty() || flags.from == "raw")
    return "";
  for (const GivenOption &option : flags.given)
    for (const auto &known : kReaders)
      if (known.reader == option.reader && known.lastPhase &&
          phaseIndex(known.lastPhase) <= phaseIndex(flags.from))
        return option.name + ": is read on the way to phase " +
               known.lastPhase + ", and " + flags.model + " is one of phase " +
               flags.from + "; leave it out, or begin with the model";
  return "";
}

} // namespace shardc
