//===- WeightFiles.h - Files beside a model that hold its tensors ---------===//
#ifndef SHARDC_COMPILER_ANNOTATIONS_WEIGHTFILES_H
#define SHARDC_COMPILER_ANNOTATIONS_WEIGHTFILES_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace shardc::annotations {

/// Copies the files of external tensors from beside `model`, whose text is given,
/// to beside `output`. Files that are there already must be the same. "" or what
/// went wrong.
std::string copyWeightFiles(llvm::StringRef text, llvm::StringRef model,
                            llvm::StringRef output);

} // namespace shardc::annotations

#endif // SHARDC_COMPILER_ANNOTATIONS_WEIGHTFILES_H
