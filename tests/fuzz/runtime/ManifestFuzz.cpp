//===- ManifestFuzz.cpp - Any text as manifest.json -----------------------===//
#include "runtime/artifact/BoundedJson.h"
#include "runtime/artifact/Format.h"
#include "runtime/artifact/FormatVersion.h"
#include "runtime/artifact/Manifest.h"
#include "runtime/base/Hash.h"

/// As it is, and with the version and checksum that let it through to the rest.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace shardc;
  const std::string_view text(reinterpret_cast<const char *>(data), size);
  runtime::Manifest manifest;
  (void)runtime::parseManifest(text, manifest);
  nlohmann::json json = runtime::parseBoundedJson(text);
  if (!json.is_object())
    return 0;
  json["format"] = artifact::kFormatVersion;
  json.erase("checksum");
  auto print = [&] {
    return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  const std::string rest = print();
  json["checksum"] = runtime::hashHex(rest.data(), rest.size());
  runtime::Manifest signedOne;
  (void)runtime::parseManifest(print(), signedOne);
  return 0;
}
