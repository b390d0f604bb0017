//===- Subcommands.h - What shardc does beside compiling ------------------===//
#ifndef SHARDC_TOOLS_SHARDC_SUBCOMMANDS_H
#define SHARDC_TOOLS_SHARDC_SUBCOMMANDS_H

#include "tools/shardc/PlanFlags.h"

namespace shardc {

using Subcommands = std::map<Command, CLI::App *>;

Subcommands addSubcommands(CLI::App &app, Flags &flags, DimTexts &dims);

} // namespace shardc

#endif // SHARDC_TOOLS_SHARDC_SUBCOMMANDS_H
