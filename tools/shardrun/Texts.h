//===- Texts.h - Texts that a server goes on with -------------------------===//
//
// A file of prompts, all of them there from the start:
//
//   [{"prompt": [1, 345, 20], "tokens": 16}, ...]
//
// Of a model that takes what an encoder gave, "inputs": "text0.npz" names a file of
// that, in the folder of this one.
//
// and the same with what came, and when, in seconds since then:
//
//   [{"prompt": [...], "tokens": [7, 7, ...], "times": [0.012, 0.015, ...]}, ...]
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_TOOLS_SHARDRUN_TEXTS_H
#define SHARDC_TOOLS_SHARDRUN_TEXTS_H

#include "tools/shardrun/Client.h"

#include <string>

namespace shardrun {

/// Reads `file`, runs all texts, prints how long it took, and writes what came
/// to `output`, if it is not empty.
shardc::runtime::Status runTexts(shardrt::Session &session,
                                 const std::string &file,
                                 shardrt_server_options options,
                                 const std::string &output);

} // namespace shardrun

#endif // SHARDC_TOOLS_SHARDRUN_TEXTS_H
