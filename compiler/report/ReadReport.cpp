//===- ReadReport.cpp - The explanation that an artifact keeps ------------===//

#include "compiler/report/ReadReport.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <nlohmann/json.hpp>

using Json = nlohmann::json;

namespace shardc::report {

/// Whether what reports are read for is there, and of its kind.
static bool isReport(const Json &json) {
  if (!json.is_object())
    return false;
  for (const char *list : {"collectives", "transfers", "ranks", "totals",
                           "whole_weights", "copied_weights", "profiles"})
    if (!json.contains(list) || !json[list].is_array())
      return false;
  return json.contains("mesh") && json.contains("structures") &&
         json["structures"].is_object();
}

std::string readReport(const std::string &path, Json &report) {
  const bool isFolder = llvm::sys::fs::is_directory(path);
  const std::string file = isFolder ? path + "/manifest.json" : path;
  auto text = llvm::MemoryBuffer::getFile(file);
  if (!text)
    return "cannot read " + file + ": " + text.getError().message();
  report = Json::parse((*text)->getBuffer(), nullptr,
                       /*allow_exceptions=*/false);
  if (!isReport(report))
    return file + " is no " +
           (isFolder ? "manifest of an artifact" : "report of --explain-json") +
           "; expected an artifact, or a file that --explain-json wrote";
  // A manifest has the axes in their order.
  if (report["mesh"].is_array()) {
    Json mesh = Json::object();
    for (const Json &axis : report["mesh"]) {
      mesh[axis.value("name", "")] = axis.value("size", 1);
      if (axis.contains("shares"))
        report["shares"][axis.value("name", "")] = axis["shares"];
    }
    report["mesh"] = mesh;
  }
  return "";
}

} // namespace shardc::report
