//===- Onnx.td - The onnx dialect: what is computed -----------------------===//

#ifndef SHARDC_DIALECTS_ONNX_ONNX_TD
#define SHARDC_DIALECTS_ONNX_ONNX_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/dist/DistAttrs.td"
include "dialects/dist/Lowerable.td"

def Onnx_Dialect : Dialect {
  let name = "onnx";
  let cppNamespace = "::shardc::onnx";
  let summary = "What is computed: ONNX's operators";
  let description = [{
    One op an ONNX operator, of the newest opset that ONNX's release models.
    Definition, shape function and sharding rule of an op stand together in
    `ops/`. As written by the reader, ops have all operands of their ONNX node
    (`onnx.None` for absent ones) and results of unknown type; shape inference
    gives every result its type and turns operands that only carry a known
    shape into dims and attributes.
  }];
  let useDefaultTypePrinterParser = 1;
  let dependentDialects = ["::shardc::dist::DistDialect"];
  // One per family, each in the family's own translation unit.
  let extraClassDeclaration = [{
#define FAMILY(name) void register##name##Ops();
#include "dialects/onnx/Families.inc"
#undef FAMILY
  }];
}

def Onnx_UnknownType : TypeDef<Onnx_Dialect, "Unknown"> {
  let mnemonic = "unknown";
  let summary = "Element type of a result before shape inference";
}

def OnnxOp : OpInterface<"OnnxOp"> {
  let cppNamespace = "::shardc::onnx";
  let description = [{
    What the compiler must know of an op. No other place knows ops by name.
  }];
  let methods = [
    InterfaceMethod<[{
      Gives every result its type, from the operands' types and known values;
      records results whose value is known, drops operands that only carry a
      known shape, and may replace the op by simpler ones. Emits an error that
      says what was expected where the operands do not fit.
    }], "::llvm::LogicalResult", "inferTypes",
      (ins "::shardc::onnx::ShapeInference &":$inference)>,
    StaticInterfaceMethod<[{
      Whether it stands for a node of so many operands and results. Others are
      replaced by the function body that ONNX gives, if there is one.
    }], "bool", "takes", (ins "unsigned":$operands, "unsigned":$results),
      [{}], [{ return true; }]>,
    StaticInterfaceMethod<[{
      How many dims each operand may have: see Onnx_Ranks.
    }], "::llvm::StringRef", "ranks", (ins), [{}], [{ return "*"; }]>,
    InterfaceMethod<[{
      How its dims may be split, see ShardingRule.h. Types must be inferred.
    }], "::shardc::onnx::ShardingRule", "shardingRule">,
    InterfaceMethod<[{
      Which operands may be partial, and that the result then is too.
    }], "::shardc::onnx::PartialRule", "partialRule", (ins), [{}], [{
      return ::shardc::onnx::PartialRule::None;
    }]>,
    InterfaceMethod<[{
      Multiply-adds of matrix products and convolutions; 0 for other ops.
    }], "::shardc::dist::DimExpr", "multiplyAdds", (ins), [{}], [{
      return 0;
    }]>,
    StaticInterfaceMethod<[{
      The part of an architecture that it is, if it is one.
    }], "std::optional<::shardc::onnx::Structure>", "structure", (ins), [{}], [{
      return std::nullopt;
    }]>
  ];
}

// Gives an op OnnxOp::structure: let extraClassDeclaration =
// Onnx_Structure<"layer norm">.declaration;
class Onnx_Structure<string name, bit isRecovered = 1> {
  string declaration =
      "static std::optional<::shardc::onnx::Structure> structure() {\n"
      "  return ::shardc::onnx::Structure{\"" # name # "\", "
      # !if(isRecovered, "true", "false") # "};\n}\n";
}

// How many dims each operand may have, a word for it: "3", "2+" (at least two),
// "0|1", "one" (a single element: no dim, or one of size 1), or "*" for any; the
// last word is that of further operands, too. Shape functions may rely on it. let extraClassDeclaration =
// Onnx_Ranks<"3+ 1 1">.declaration;
class Onnx_Ranks<string words> {
  string declaration =
      "static ::llvm::StringRef ranks() { return \"" # words # "\"; }\n";
}

// Known operands make a known result, also when types are inferred again.
def FoldsKnown : NativeOpTrait<"FoldsKnown"> {
  let cppNamespace = "::shardc::onnx";
}

class Onnx_Op<string opMnemonic, list<Trait> traits = []>
    : Op<Onnx_Dialect, opMnemonic, !listconcat(traits, [Pure])> {
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

// What the importer writes and shape inference replaces by other ops. None is
// left in phase imported, so it needs no rule, lowering or kernel.
def Onnx_IsReplaced : NativeOpTrait<"IsReplaced"> {
  let cppNamespace = "::shardc::onnx";
}
class Onnx_ReplacedOp<string opMnemonic, list<Trait> traits = []>
    : Onnx_Op<opMnemonic,
              !listconcat(traits, [Onnx_IsReplaced,
                                   DeclareOpInterfaceMethods<OnnxOp>])> {
  let extraClassDefinition = [{
    ::shardc::onnx::ShardingRule $cppClass::shardingRule() {
      return ::shardc::onnx::replicatedRule(*this);
    }
  }];
}

// Its operands may be sequences, which have no type; those of others may not.
def Onnx_TakesSequences : NativeOpTrait<"TakesSequences"> {
  let cppNamespace = "::shardc::onnx";
}

// Ops that are lowered alike: by this function of Onnx.h.
class Onnx_LoweredBy<string function>
    : ParamNativeOpTrait<"LoweredBy", "&::shardc::onnx::" # function> {
  let cppNamespace = "::shardc::onnx";
}

// Op whose rule, shape function and lowering are written for it alone; the
// lowering may be one that others have, too.
class Onnx_OwnOp<string opMnemonic, list<string> more = [],
                 list<Trait> traits = [], string lowering = "">
    : Onnx_Op<opMnemonic,
              !listconcat([DeclareOpInterfaceMethods<OnnxOp, more>],
                          !if(!empty(lowering),
                              [DeclareOpInterfaceMethods<LowerableOp>],
                              [LowerableOp, Onnx_LoweredBy<lowering>]),
                          traits)>;

def Onnx_Value : AnyTypeOf<[AnyTensor, NoneType]>;

// One tensor in, one out, element by element; the result's element type is the
// operand's, or bool for a predicate. `fold` names the function of Folding.h
// that evaluates known elements.
class Onnx_UnaryOp<string opMnemonic, string fold = "", bit isPredicate = 0>
    : Onnx_OwnOp<opMnemonic, [], !if(!empty(fold), [], [FoldsKnown]),
                 "lowerElementwise"> {
  let arguments = (ins AnyTensor:$input);
  let results = (outs AnyTensor:$result);
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferTypes(
        ::shardc::onnx::ShapeInference &inference) {
      return ::shardc::onnx::inferUnary(*this, inference, }]
      # !if(!empty(fold), "nullptr", "::shardc::onnx::fold::" # fold) # ", "
      # !if(isPredicate, "true", "false") # [{);
    }
    ::shardc::onnx::ShardingRule $cppClass::shardingRule() {
      return ::shardc::onnx::elementwiseRule(*this);
    }
  }];
}

// Element by element with broadcasting.
class Onnx_BroadcastOp<string opMnemonic, list<string> more = [],
                       list<Trait> traits = []>
    : Onnx_OwnOp<opMnemonic, more, traits, "lowerElementwise"> {
  let results = (outs AnyTensor:$result);
}

class Onnx_BinaryOp<string opMnemonic, string fold = "", list<string> more = [],
                    bit isPredicate = 0>
    : Onnx_BroadcastOp<opMnemonic, more, !if(!empty(fold), [], [FoldsKnown])> {
  let arguments = (ins AnyTensor:$lhs, AnyTensor:$rhs);
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferTypes(
        ::shardc::onnx::ShapeInference &inference) {
      return ::shardc::onnx::inferBinary(*this, inference, }]
      # !if(!empty(fold), "nullptr", "::shardc::onnx::fold::" # fold) # ", "
      # !if(isPredicate, "true", "false") # [{);
    }
    ::shardc::onnx::ShardingRule $cppClass::shardingRule() {
      return ::shardc::onnx::elementwiseRule(*this);
    }
  }];
}

#endif // SHARDC_DIALECTS_ONNX_ONNX_TD
