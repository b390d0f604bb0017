//===- ModelBytes.cpp - A model's file with annotations -------------------===//

#include "compiler/annotations/ModelBytes.h"

#include "compiler/import/Wire.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"

namespace shardc::annotations {

using namespace importer::wire;
using llvm::StringRef;

void Rope::add(StringRef elsewhere) {
  pieces.push_back(elsewhere);
  length += elsewhere.size();
}

void Rope::own(std::string text) {
  owned.push_back(std::make_shared<const std::string>(std::move(text)));
  add(*owned.back());
}

void Rope::append(const Rope &other) {
  pieces.insert(pieces.end(), other.pieces.begin(), other.pieces.end());
  owned.insert(owned.end(), other.owned.begin(), other.owned.end());
  length += other.length;
}

void Rope::write(llvm::raw_ostream &os) const {
  for (StringRef piece : pieces)
    os << piece;
}

namespace {

/// The first version that has annotations.
constexpr int64_t kIrVersion = 11;

/// Numbers in onnx.proto.
enum ModelField : uint32_t { IrVersion = 1, Graph = 7, Configuration = 26 };
enum GraphField : uint32_t { Node = 1 };
enum NodeField : uint32_t {
  Input = 1,
  Output = 2,
  Name = 3,
  OpType = 4,
  Attribute = 5,
  DeviceConfiguration = 10
};
enum AttributeField : uint32_t { Subgraph = 6, Subgraphs = 11 };

/// Protobuf's own limit of nesting.
constexpr unsigned kMaxDepth = 100;

class Annotator {
public:
  Annotator(StringRef model, Annotate annotate)
      : file(model.data()), annotate(annotate) {}

  llvm::Error model(StringRef text,
                    const ::onnx::DeviceConfigurationProto &configuration,
                    Rope &to) {
    int64_t version = 0;
    Rope rest;
    llvm::Error error = forEachField(
        text, [&](const Field &field, StringRef bytes) -> llvm::Error {
          if (field.number == IrVersion)
            version = field.value;
          else if (field.number == Graph && field.wire == Bytes)
            return nested(field, rest, [&](Rope &inner) {
              return graph(field.payload, inner, 1);
            });
          else if (field.number != Configuration)
            rest.add(bytes);
          return llvm::Error::success();
        });
    if (error)
      return error;
    std::string head;
    appendVarint(head, IrVersion << 3 | Varint);
    appendVarint(head, std::max(version, kIrVersion));
    to.own(std::move(head));
    to.append(rest);
    std::string tail;
    appendBytes(tail, Configuration, configuration.SerializeAsString());
    to.own(std::move(tail));
    return llvm::Error::success();
  }

private:
  template <typename Visit>
  llvm::Error forEachField(StringRef text, const Visit &visit) {
    Reader reader(text, file);
    while (!reader.atEnd()) {
      Field field;
      if (llvm::Error error = reader.next(field))
        return error;
      if (llvm::Error error = visit(
              field, StringRef(field.start, reader.position() - field.start)))
        return error;
    }
    return llvm::Error::success();
  }

  /// A message whose size is known behind it.
  template <typename Fill>
  llvm::Error nested(const Field &field, Rope &to, const Fill &fill) {
    Rope inner;
    if (llvm::Error error = fill(inner))
      return error;
    std::string head;
    appendVarint(head, field.number << 3 | Bytes);
    appendVarint(head, inner.size());
    to.own(std::move(head));
    to.append(inner);
    return llvm::Error::success();
  }

  llvm::Error graph(StringRef text, Rope &to, unsigned depth) {
    if (depth > kMaxDepth)
      return llvm::createStringError("graphs are nested too deep");
    return forEachField(
        text, [&](const Field &field, StringRef bytes) -> llvm::Error {
          if (field.number == Node && field.wire == Bytes)
            return nested(field, to, [&](Rope &inner) {
              return node(field.payload, inner, depth);
            });
          to.add(bytes);
          return llvm::Error::success();
        });
  }

  llvm::Error node(StringRef text, Rope &to, unsigned depth) {
    ::onnx::NodeProto known;
    llvm::Error error = forEachField(
        text, [&](const Field &field, StringRef bytes) -> llvm::Error {
          if (field.wire == Bytes)
            note(field, known);
          if (field.number == Attribute && field.wire == Bytes)
            return nested(field, to, [&](Rope &inner) {
              return attribute(field.payload, inner, depth);
            });
          if (field.number != DeviceConfiguration)
            to.add(bytes);
          return llvm::Error::success();
        });
    if (error)
      return error;
    ::onnx::NodeDeviceConfigurationProto made;
    annotate(known, made);
    if (!made.has_configuration_id())
      return llvm::Error::success();
    std::string tail;
    appendBytes(tail, DeviceConfiguration, made.SerializeAsString());
    to.own(std::move(tail));
    return llvm::Error::success();
  }

  static void note(const Field &field, ::onnx::NodeProto &known) {
    const std::string text = field.payload.str();
    if (field.number == Input)
      known.add_input(text);
    else if (field.number == Output)
      known.add_output(text);
    else if (field.number == Name)
      known.set_name(text);
    else if (field.number == OpType)
      known.set_op_type(text);
  }

  llvm::Error attribute(StringRef text, Rope &to, unsigned depth) {
    return forEachField(
        text, [&](const Field &field, StringRef bytes) -> llvm::Error {
          if ((field.number == Subgraph || field.number == Subgraphs) &&
              field.wire == Bytes)
            return nested(field, to, [&](Rope &inner) {
              return graph(field.payload, inner, depth + 1);
            });
          to.add(bytes);
          return llvm::Error::success();
        });
  }

  const char *file;
  Annotate annotate;
};

} // namespace

llvm::Expected<Rope>
annotateModel(StringRef model,
              const ::onnx::DeviceConfigurationProto &configuration,
              Annotate annotate) {
  Rope made;
  if (llvm::Error error =
          Annotator(model, annotate).model(model, configuration, made))
    return error;
  return made;
}

} // namespace shardc::annotations
