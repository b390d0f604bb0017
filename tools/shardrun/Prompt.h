//===- Prompt.h - Text from a compiled decoder ----------------------------===//
//
// Tokens and chat templates are the Python package's, so that there is one of
// each: with --prompt this program becomes `shardrt generate`, with all that it
// was given.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_TOOLS_SHARDRUN_PROMPT_H
#define SHARDC_TOOLS_SHARDRUN_PROMPT_H

namespace shardrun {

/// Whether --prompt, or --prompt-ids, is among the arguments.
bool asksForText(int argc, char **argv);

/// Returns, an exit status, only where no Python has the package.
int generate(int argc, char **argv);

} // namespace shardrun

#endif // SHARDC_TOOLS_SHARDRUN_PROMPT_H
