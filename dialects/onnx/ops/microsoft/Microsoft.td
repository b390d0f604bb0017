//===- Microsoft.td - Operators of the domain com.microsoft ---------------===//
//
// ONNX Runtime's own operators, which its optimizer, its quantiser and its
// model builder write. All are replaced by ONNX's in shape inference: there
// types, symbolic sizes and known values are at hand. Mnemonics carry the
// domain, because some have a name that ONNX uses for another operator.
//
// Attributes keep ONNX Runtime's names and defaults. What is not modelled is
// refused unless it has its default. `operands` is how many operands an op knows:
// ONNX Runtime has no schema here that would tell of one too many.
//
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_ONNX_OPS_MICROSOFT_MICROSOFT_TD
#define SHARDC_DIALECTS_ONNX_OPS_MICROSOFT_MICROSOFT_TD

include "dialects/onnx/Onnx.td"

class Onnx_MicrosoftOp<string name, int operands, string ranks = "*">
    : Onnx_ReplacedOp<"microsoft." # name> {
  let results = (outs Variadic<AnyTensor>:$parts);
  let extraClassDeclaration = [{
    static unsigned mostOperands() { return }] # operands # [{; }
  }] # Onnx_Ranks<ranks>.declaration;
}

class Onnx_Int<string default> : DefaultValuedAttr<I64Attr, default>;
class Onnx_Float<string default> : DefaultValuedAttr<F32Attr, default>;
class Onnx_String<string default>
    : DefaultValuedAttr<StrAttr, "\"" # default # "\"">;

#endif // SHARDC_DIALECTS_ONNX_OPS_MICROSOFT_MICROSOFT_TD
