//===- WeightStore.cpp - Files of the ranks' weights ----------------------===//

#include "compiler/ranks/WeightStore.h"

#include "compiler/files/OutputFile.h"
#include "compiler/package/WeightCopy.h"
#include "compiler/quantize/QuantizedFile.h"
#include "dialects/onnx/ElementTypes.h"
#include "dialects/rt/Rt.h"

using namespace mlir;

namespace shardc::ranks {

/// Readers map files, and want what is in them at such multiples.
static constexpr uint64_t kAlignment = 4096;

WeightStore::File *WeightStore::open(const std::string &name) {
  File &file = files[name];
  if (!file.stream) {
    std::error_code error;
    file.stream =
        std::make_unique<llvm::raw_fd_ostream>(folder + "/" + name, error);
    if (error) {
      problem = "cannot write " + folder + "/" + name + ": " + error.message();
      return nullptr;
    }
  }
  return &file;
}

StringRef WeightStore::bytesOf(onnx::WeightOp weight) {
  auto &source = sources[weight.getFile()];
  if (!source) {
    auto opened = llvm::MemoryBuffer::getFile(
        quantize::pathOf(weight.getFile(), modelFolder, quantizedFile),
        /*IsText=*/false,
        /*RequiresNullTerminator=*/false);
    if (!opened) {
      problem = "cannot read " + weight.getFile().str() + ": " +
                opened.getError().message();
      return {};
    }
    source = std::move(*opened);
  }
  return source->getBuffer().substr(weight.getOffset(), weight.getLength());
}

Type typeInFile(Type element) {
  auto integer = dyn_cast<IntegerType>(element);
  return integer && integer.getWidth() == 2
             ? IntegerType::get(element.getContext(), 8,
                                integer.getSignedness())
             : element;
}

/// The elements of `value`, which share bytes as they stand in a model, in the
/// type that files have.
static std::string bytesInFile(StringRef bytes, Value value) {
  const Type element = getElementTypeOrSelf(value.getType());
  if (typeInFile(element) == element)
    return bytes.str();
  const int sign = element.isUnsignedInteger() ? 0 : 2;
  std::string wide;
  for (char byte : bytes)
    for (int at = 0; at < 8; at += 2)
      wide.push_back(char(((byte >> at & 3) ^ sign) - sign));
  wide.resize(*dist::product(dist::getDims(value.getType())).asConstant());
  return wide;
}

WeightStore::Place WeightStore::write(onnx::WeightOp weight,
                                      const StageRank &rank,
                                      const std::string &name) {
  File *file = open(name);
  const StringRef source = bytesOf(weight);
  if (!problem.empty())
    return {};
  const Type element = getElementTypeOrSelf(weight.getType());
  const bool isWide = typeInFile(element) != element;
  const std::string wide =
      isWide ? bytesInFile(source, weight.getResult()) : "";
  const StringRef bytes = isWide ? StringRef(wide) : source;
  file->stream->write_zeros(-file->size % kAlignment);
  Place place{name, file->stream->tell(), 0};
  const dist::Sharding sharding = dist::getSharding(weight.getType());
  if (sharding.isSplit())
    package::writeElements(bytes,
                           package::ownedRanges(sharding, rank.mesh, rank.rank),
                           typeInFile(element), *file->stream);
  else
    *file->stream << bytes;
  file->size = file->stream->tell();
  place.length = file->size - place.offset;
  return place;
}

/// Data type and dims.
static void setType(Value value, const StageRank &rank,
                    ::onnx::TensorProto &tensor) {
  tensor.set_data_type(
      onnx::elementNumberOf(typeInFile(getElementTypeOrSelf(value.getType()))));
  for (dist::DimExpr size : rank.localDims(value.getType()))
    tensor.add_dims(*size.asConstant());
}

bool WeightStore::add(onnx::WeightOp weight, const StageRank &rank,
                      int64_t fileRank, ::onnx::TensorProto &tensor) {
  setType(weight.getResult(), rank, tensor);
  const dist::Sharding sharding = dist::getSharding(weight.getType());
  const bool isShared = !sharding.isSplit() && rank.mesh.numRanks() > 1;
  const std::string file =
      isShared ? "shared.data" : "rank-" + std::to_string(fileRank) + ".data";
  const std::string key = file + "\n" + weight.getFile().str() + "\n" +
                          std::to_string(weight.getOffset()) + "\n" +
                          sharding.str();
  Place &place = places[key];
  if (place.file.empty())
    place = write(weight, rank, file);
  if (!problem.empty())
    return false;
  tensor.set_data_location(::onnx::TensorProto::EXTERNAL);
  for (const auto &[name, value] :
       {std::pair<std::string, std::string>("location", place.file),
        {"offset", std::to_string(place.offset)},
        {"length", std::to_string(place.length)}}) {
    auto *entry = tensor.add_external_data();
    entry->set_key(name);
    entry->set_value(value);
  }
  return true;
}

/// Elements as they stand in a file: truth values are a byte each, of less than
/// eight bits several share one.
static std::string elementBytes(DenseElementsAttr value) {
  std::string bytes;
  if (value.getElementType().isInteger(1)) {
    for (bool element : value.getValues<bool>())
      bytes.push_back(char(element));
    return bytes;
  }
  const ArrayRef<char> raw = value.getRawData();
  for (int64_t i = 0; i < (value.isSplat() ? value.getNumElements() : 1); ++i)
    bytes.append(raw.begin(), raw.end());
  const unsigned bits = value.getElementType().getIntOrFloatBitWidth();
  if (bits >= 8)
    return bytes;
  std::string packed((bytes.size() * bits + 7) / 8, '\0');
  for (size_t i = 0; i < bytes.size(); ++i)
    packed[i * bits / 8] |= (bytes[i] & ((1 << bits) - 1)) << (i * bits % 8);
  return packed;
}

void WeightStore::addConstant(onnx::ConstantOp constant, const StageRank &rank,
                              ::onnx::TensorProto &tensor) {
  setType(constant.getResult(), rank, tensor);
  const dist::Sharding sharding =
      dist::getSharding(constant.getResult().getType());
  const std::string bytes =
      bytesInFile(elementBytes(cast<DenseElementsAttr>(constant.getValue())),
                  constant.getResult());
  std::string part;
  llvm::raw_string_ostream os(part);
  if (sharding.isSplit())
    package::writeElements(
        bytes, package::ownedRanges(sharding, rank.mesh, rank.rank),
        typeInFile(getElementTypeOrSelf(constant.getResult().getType())), os);
  else
    os << bytes;
  tensor.set_raw_data(part);
}

std::string WeightStore::finish() {
  for (auto &entry : files) {
    names.push_back(entry.first().str());
    if (std::error_code error = files::takeError(*entry.second.stream);
        error && problem.empty())
      problem = "cannot write " + folder + "/" + entry.first().str() + ": " +
                error.message();
  }
  files.clear();
  return problem;
}

} // namespace shardc::ranks
