//===- WeightFiles.cpp - Files beside a model that hold its tensors -------===//

#include "compiler/annotations/WeightFiles.h"

#include "compiler/import/StripModel.h"

#include "llvm/Support/MemoryBuffer.h"

#include <filesystem>
#include <set>

namespace fs = std::filesystem;

namespace shardc::annotations {

/// A name that leads out of the model's folder is no file of the model.
static bool leadsOut(const fs::path &location) {
  if (location.is_absolute())
    return true;
  for (const fs::path &part : location)
    if (part == "..")
      return true;
  return false;
}

static bool haveSameBytes(const fs::path &a, const fs::path &b) {
  std::error_code error;
  if (fs::equivalent(a, b, error))
    return true;
  if (fs::file_size(a, error) != fs::file_size(b, error) || error)
    return false;
  auto first = llvm::MemoryBuffer::getFile(a.string(), false, false);
  auto second = llvm::MemoryBuffer::getFile(b.string(), false, false);
  return first && second && (*first)->getBuffer() == (*second)->getBuffer();
}

static std::string copyOne(const fs::path &from, const fs::path &to) {
  std::error_code error;
  if (fs::exists(to, error))
    return haveSameBytes(from, to)
               ? ""
               : "cannot copy weights to " + to.string() +
                     ": another file is there; write to another folder";
  fs::create_directories(to.parent_path(), error);
  const fs::path partial = to.string() + ".partial";
  if (!error)
    fs::copy_file(from, partial, fs::copy_options::overwrite_existing, error);
  if (!error)
    fs::rename(partial, to, error);
  if (!error)
    return "";
  std::error_code ignored;
  fs::remove(partial, ignored);
  return "cannot copy " + from.string() + " to " + to.string() + ": " +
         error.message();
}

std::string copyWeightFiles(llvm::StringRef text, llvm::StringRef model,
                            llvm::StringRef output) {
  llvm::Expected<importer::StrippedModel> stripped = importer::stripModel(text);
  if (!stripped)
    return model.str() + ": " + llvm::toString(stripped.takeError());
  std::set<std::string> locations;
  for (const importer::TensorPlace &place : stripped->places)
    if (!place.inModel)
      locations.insert(place.location);
  const fs::path from = fs::path(model.str()).parent_path();
  const fs::path to = fs::path(output.str()).parent_path();
  for (const std::string &location : locations) {
    if (leadsOut(location))
      return model.str() + ": its weights are in " + location +
             ", which is outside of its folder";
    const fs::path source = (from.empty() ? fs::path(".") : from) / location;
    const fs::path target = (to.empty() ? fs::path(".") : to) / location;
    if (std::string problem = copyOne(source, target); !problem.empty())
      return problem;
  }
  return "";
}

} // namespace shardc::annotations
