//===- ModelFile.cpp - An ONNX file, opened -------------------------------===//

#include "compiler/import/ModelFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <limits>

namespace shardc::importer {

/// "did you mean dir/model.onnx?", where the folder holds models.
static std::string modelsIn(llvm::StringRef folder) {
  std::vector<std::string> models;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(folder, error), end;
       !error && it != end; it.increment(error))
    if (llvm::sys::path::extension(it->path()) == ".onnx")
      models.push_back(it->path());
  if (models.empty())
    return "";
  llvm::sort(models);
  return "; did you mean " + models.front() +
         (models.size() > 1
              ? ", or one of " + std::to_string(models.size() - 1) + " more?"
              : "?");
}

llvm::Expected<std::unique_ptr<ModelFile>>
ModelFile::open(llvm::StringRef path) {
  if (llvm::sys::fs::is_directory(path))
    return llvm::createStringError("is a folder: expected an ONNX file in it" +
                                   modelsIn(path));
  // Mapped where it is large; only pages with something else than payloads of
  // big tensors are ever touched.
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return llvm::createStringError(
        "cannot be read: " + buffer.getError().message() +
        ": expected an ONNX file, as a path from where shardc runs");
  llvm::StringRef bytes = (*buffer)->getBuffer();
  auto fail = [&](const llvm::Twine &why) {
    return llvm::createStringError("not an ONNX model: " + why);
  };
  if (bytes.empty())
    return fail("the file is empty");
  llvm::Expected<StrippedModel> stripped = stripModel(bytes);
  if (!stripped)
    return fail(llvm::toString(stripped.takeError()));
  if (stripped->bytes.size() > std::numeric_limits<int>::max())
    return fail("its graph alone has " + llvm::Twine(stripped->bytes.size()) +
                " bytes, more than protobuf's 2 GiB");

  llvm::StringRef folder = llvm::sys::path::parent_path(path);
  std::unique_ptr<ModelFile> file(new ModelFile(folder.empty() ? "." : folder,
                                                llvm::sys::path::filename(path),
                                                bytes.size()));
  if (!file->model.ParseFromArray(stripped->bytes.data(),
                                  stripped->bytes.size()))
    return fail("protobuf cannot parse it");
  if (!file->model.has_graph())
    return fail("it holds no graph");
  file->places = std::move(stripped->places);
  return file;
}

llvm::Expected<DataRange> ModelFile::place(const ::onnx::TensorProto &tensor,
                                           uint64_t bytes) {
  llvm::StringRef location;
  if (tensor.external_data_size() == 1)
    location = tensor.external_data(0).value();
  uint64_t index;
  if (!location.consume_front("#") || location.getAsInteger(10, index) ||
      index >= places.size())
    return llvm::createStringError("its data is nowhere: expected a location; "
                                   "export the model again");
  return data.resolve(places[index], bytes);
}

} // namespace shardc::importer
