//===- Rt.td - The rt dialect: how a rank executes ------------------------===//

#ifndef SHARDC_DIALECTS_RT_RT_TD
#define SHARDC_DIALECTS_RT_RT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/dist/Dist.td"

def Rt_Dialect : Dialect {
  let name = "rt";
  let cppNamespace = "::shardc::rt";
  let summary = "How a rank executes: buffers, kernel calls, collectives";
  let description = [{
    A program is a straight list: buffers, strided views on them, calls that read
    views and write views. Sizes are expressions over input symbols and mesh
    coordinates, so one program serves every rank and every input size. It maps
    one to one to the artifact's Program.fbs.
  }];
  let useDefaultTypePrinterParser = 1;
  let dependentDialects = ["::shardc::dist::DistDialect"];
}

def Rt_BufferType : TypeDef<Rt_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "Bytes on this rank";
}

def Rt_ViewType : TypeDef<Rt_Dialect, "View"> {
  let mnemonic = "view";
  let summary = "Strided window on a buffer; strides and offset count elements";
  let parameters = (ins
    "::mlir::Type":$element,
    ArrayRefParameter<"::shardc::dist::DimExpr">:$dims,
    ArrayRefParameter<"::shardc::dist::DimExpr">:$strides,
    "::shardc::dist::DimExpr":$offset,
    "bool":$replicated
  );
  let hasCustomAssemblyFormat = 1;
}

class Rt_Op<string opMnemonic, list<Trait> traits = []>
    : Op<Rt_Dialect, opMnemonic, traits>;

def Rt_ProgramOp : Rt_Op<"program", [Symbol, IsolatedFromAbove, NoTerminator,
                                     SingleBlock]> {
  let summary = "What every rank of a stage executes";
  let arguments = (ins SymbolNameAttr:$sym_name);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
}

class Rt_SourceOp<string opMnemonic> : Rt_Op<opMnemonic> {
  let results = (outs Rt_BufferType:$buffer);
}

def Rt_InputOp : Rt_SourceOp<"input"> {
  let summary = "This rank's part of an input of the model";
  let arguments = (ins I64Attr:$index, StrAttr:$name, TypeAttr:$element,
                       OptionalAttr<TypeAttr>:$given,
                       Dist_ValueAttr:$value, OptionalAttr<I64Attr>:$cache_dim,
                       UnitAttr:$dim_first);
  let description = [{
    The caller gives it in the type `given` where that differs. It is row-major, but
    with `first` the dim that grows lies outside of all others.
  }];
  let assemblyFormat = "$index $name $element (`given` $given^)? $value (`cache` $cache_dim^ (`first` $dim_first^)?)? attr-dict";
}
def Rt_WeightOp : Rt_SourceOp<"weight"> {
  let summary = "This rank's part of a tensor in a file";
  let arguments = (ins StrAttr:$name, StrAttr:$file, I64Attr:$offset,
                       I64Attr:$length, TypeAttr:$element, Dist_ValueAttr:$value);
  let assemblyFormat = "$name $file `at` $offset `length` $length $element $value attr-dict";
}
def Rt_JoinOp : Rt_SourceOp<"join"> {
  let summary = "Weights side by side along a dim, in one buffer";
  let description = [{
    Row-major; their slices on this rank are alike but for that dim.
  }];
  let arguments = (ins Variadic<Rt_BufferType>:$weights, I64Attr:$dim);
  let assemblyFormat = "$weights `dim` $dim attr-dict";
  let hasVerifier = 1;
}
def Rt_ConstantOp : Rt_SourceOp<"constant"> {
  let summary = "This rank's part of a small tensor";
  let arguments = (ins ElementsAttr:$elements, Dist_ValueAttr:$value);
  let assemblyFormat = "$elements $value attr-dict";
}
def Rt_AllocOp : Rt_SourceOp<"alloc"> {
  let summary = "Space in the arena until rt.free, or for good (persistent)";
  let arguments = (ins Dist_DimsAttr:$bytes, UnitAttr:$persistent);
  let assemblyFormat = "$bytes (`persistent` $persistent^)? attr-dict";
}
def Rt_CacheOp : Rt_Op<"cache"> {
  let summary = "The buffer is kept by a session's state, input being its past";
  let description = [{
    Input number `input` is past and output number `output` present of a cache that
    a session's state may keep. `kind` says what this program does with it:

      append  the buffer holds present; past is the same memory with a state
      set     the buffer holds present; nobody reads past
      keep    the buffer is that of past; present is past, or has no elements
      write   the buffer holds present, past with some of its elements written
              over; with a state both are the same memory

    Of `write` dim 0, the `dim`, counts pages, which a state has from the start. A
    cache of the last positions alone has no `dim`: present is as large as past, and
    with a state in other memory, which takes the place of past behind the run.
    Along `dim`, if it has one, any other cache grows: there, buffer and past have room
    for as many elements as the state's capacity says. The program works alike
    where past comes from outside. Where that dim lies outside of all others, what
    is taken is the front of the memory, and a device with pages has no more of it.
  }];
  let arguments = (ins Rt_BufferType:$buffer, StrAttr:$kind, I64Attr:$input,
                       I64Attr:$output, OptionalAttr<I64Attr>:$dim);
  let assemblyFormat = "$kind $buffer attr-dict";
}
def Rt_FreeOp : Rt_Op<"free"> {
  let summary = "Nobody reads or writes the buffer after this";
  let arguments = (ins Rt_BufferType:$buffer);
  let assemblyFormat = "$buffer attr-dict";
}
def Rt_ViewOp : Rt_Op<"view", [Pure]> {
  let arguments = (ins Rt_BufferType:$buffer);
  let results = (outs Rt_ViewType:$view);
  let assemblyFormat = "$buffer attr-dict `:` type($view)";
}

def Rt_AbsentOp : Rt_Op<"absent", [Pure]> {
  let summary = "An absent optional operand of a kernel";
  let results = (outs NoneType:$result);
  let assemblyFormat = "attr-dict";
}

def Rt_CallOp : Rt_Op<"call", [AttrSizedOperandSegments]> {
  let summary = "Runs a kernel: reads inputs, writes outputs";
  let arguments = (ins StrAttr:$kernel, Variadic<AnyType>:$inputs,
                       Variadic<Rt_ViewType>:$outputs, DictionaryAttr:$config);
  let assemblyFormat = [{
    $kernel `(` ($inputs^ `:` type($inputs))? `)`
    `into` `(` ($outputs^ `:` type($outputs))? `)` $config attr-dict
  }];
}

// A generated kernel says what is computed of one row, column by column:
//
//   rt.kernel @rows_ReduceMean_Sub ["column"] -> ["column"] {
//   ^bb0(%x: f32):                    one column of the row
//     %sum = rt.reduce "sum" %x : f32   over all columns: the same for each
//     %count = rt.columns : f32
//     %mean = arith.divf %sum, %count : f32
//     %y = arith.subf %x, %mean : f32
//     rt.yield %y : f32
//   }
def Rt_KernelOp : Rt_Op<"kernel", [Symbol, IsolatedFromAbove, SingleBlock]> {
  let summary = "What a generated kernel computes of one row";
  let description = [{
    Arguments are elements of the inputs, as they are stored; what is yielded is
    stored to the outputs. Each is one a column ("column") or one for the whole row
    ("row"). The body holds scalar arith and math ops, rt.reduce and rt.columns. An
    rt.call names the kernel; the last dim of its views are the columns, all others
    say which row it is. A "row" operand has 1 there. Equal bodies are one kernel.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$input_kinds,
                       StrArrayAttr:$output_kinds);
  let regions = (region SizedRegion<1>:$body);
  let hasVerifier = 1;
  let assemblyFormat = "$sym_name $input_kinds `->` $output_kinds attr-dict-with-keyword $body";
}
def Rt_ReduceOp : Rt_Op<"reduce", [Pure, SameOperandsAndResultType]> {
  let summary = "The sum, max or min over the columns of a row";
  let arguments = (ins StrAttr:$kind, AnyFloat:$value);
  let results = (outs AnyFloat:$result);
  let hasVerifier = 1;
  let assemblyFormat = "$kind $value attr-dict `:` type($value)";
}
def Rt_ColumnsOp : Rt_Op<"columns", [Pure]> {
  let summary = "How many columns a row has";
  let results = (outs F32:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}
def Rt_YieldOp : Rt_Op<"yield", [Pure, Terminator, HasParent<"KernelOp">]> {
  let summary = "What a kernel stores";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

def Rt_ReadSizesOp : Rt_Op<"read_sizes"> {
  let summary = "Binds symbols to elements that the program computed";
  let description = [{
    The host waits for the view. An element whose size is a symbol of no input
    binds it; any other must equal what its expression says.
  }];
  let arguments = (ins Rt_ViewType:$view, Dist_DimsAttr:$sizes);
  let assemblyFormat = "$view $sizes attr-dict `:` type($view)";
}

def Rt_SetSizesOp : Rt_Op<"set_sizes"> {
  let summary = "Binds symbols to what expressions are worth before it";
  let arguments = (ins Dist_DimsAttr:$sizes, Dist_DimsAttr:$values);
  let assemblyFormat = "$sizes `=` $values attr-dict";
}

// Control flow that the data decide is written in brackets, so that a program
// stays one list:
//
//   rt.if %condition      what comes next, up to rt.else, or else what is between
//   ...                   that and rt.end
//   rt.else
//   ...
//   rt.end
//
//   rt.loop %goesOn       what comes next, up to rt.end, as long as %goesOn, which
//   ...                   it writes, is true
//   rt.end
class Rt_ConditionOp<string opMnemonic> : Rt_Op<opMnemonic> {
  let arguments = (ins Rt_ViewType:$condition);
  let assemblyFormat = "$condition attr-dict `:` type($condition)";
}
def Rt_IfOp : Rt_ConditionOp<"if"> {
  let summary = "Runs what follows up to rt.else, or what is behind that";
}
def Rt_LoopOp : Rt_ConditionOp<"loop"> {
  let summary = "Runs what follows up to rt.end while the condition is true";
}
def Rt_ElseOp : Rt_Op<"else"> {
  let summary = "Between the branches of an rt.if";
  let assemblyFormat = "attr-dict";
}
def Rt_EndOp : Rt_Op<"end"> {
  let summary = "Ends an rt.if or an rt.loop";
  let assemblyFormat = "attr-dict";
}

def Rt_CollectiveOp : Rt_Op<"collective"> {
  let summary = "A collective over the ranks that differ in `axes`";
  let description = [{
    Which attributes it has says its form (runtime/artifact/CollectiveForm.h):
    for a split dim `dim` and `value`, the #dist.value of the side that is split,
    whose sharding of that dim places each rank's part; for a second one `to_dim`
    and `to_value`, of the result; `kind` where it adds up; `distance` where it
    goes around the group; `choices` among so many `experts` where rows go by them.

    With a `flight` it is only started: what comes next runs beside it, up to the
    rt.wait of the same flight and views. Until then nothing but other collectives
    writes its input or touches its output.
  }];
  let arguments = (ins StrAttr:$kernel, Rt_ViewType:$input,
                       Optional<Rt_ViewType>:$choices, Rt_ViewType:$output,
                       Dist_AxesAttr:$axes, OptionalAttr<I64Attr>:$experts,
                       OptionalAttr<StrAttr>:$kind,
                       OptionalAttr<I64Attr>:$dim,
                       OptionalAttr<Dist_ValueAttr>:$value,
                       OptionalAttr<I64Attr>:$to_dim,
                       OptionalAttr<Dist_ValueAttr>:$to_value,
                       OptionalAttr<I64Attr>:$distance,
                       OptionalAttr<I64Attr>:$flight,
                       OptionalAttr<StrAttr>:$why);
  let hasVerifier = 1;
  let assemblyFormat = [{
    $kernel $input (`by` $choices^ `:` type($choices))? `into` $output `over` $axes attr-dict `:` type($input) `->` type($output)
  }];
}

def Rt_WaitOp : Rt_Op<"wait"> {
  let summary = "What comes next may use what a collective in flight writes";
  let description = [{
        rt.collective "all_reduce" %a into %b over <["tp"=2]> {flight = 0 : i64} : ...
        rt.call "MatMul"(...) into(%c)      // beside it
        rt.wait 0 for %a into %b : ...
  }];
  let arguments = (ins I64Attr:$flight, Variadic<Rt_ViewType>:$inputs,
                       Rt_ViewType:$output);
  let assemblyFormat = "$flight `for` $inputs `into` $output attr-dict `:` type($inputs) `->` type($output)";
}

def Rt_SendOp : Rt_Op<"send"> {
  let summary = "Gives a view to the rank of another stage with these coordinates";
  let arguments = (ins Rt_ViewType:$view, I64Attr:$stage, I64Attr:$transfer);
  let assemblyFormat = "$view `to` $stage `as` $transfer attr-dict `:` type($view)";
}
def Rt_ReceiveOp : Rt_Op<"receive"> {
  let summary = "Takes what the rank of another stage sends under this number";
  let arguments = (ins Rt_ViewType:$view, I64Attr:$stage, I64Attr:$transfer);
  let assemblyFormat = "`into` $view `from` $stage `as` $transfer attr-dict `:` type($view)";
}

def Rt_ReadyOp : Rt_Op<"ready"> {
  let summary = "What comes before runs once, after the weights are loaded";
  let assemblyFormat = "attr-dict";
}

def Rt_OutputOp : Rt_Op<"output"> {
  let summary = "This rank's part of an output of the model";
  let arguments = (ins Rt_ViewType:$view, I64Attr:$index, StrAttr:$name,
                       OptionalAttr<TypeAttr>:$given, Dist_ValueAttr:$value);
  let description = "The caller gets it in the type `given` where that differs.";
  let assemblyFormat = "$index $name (`given` $given^)? $view $value attr-dict `:` type($view)";
}

def Rt_GuardOp : Rt_Op<"guard"> {
  let summary = "Checked whenever an input's size changes";
  let arguments = (ins Dist_DimsAttr:$lhs, StrAttr:$kind, Dist_DimsAttr:$rhs,
                       StrAttr:$message);
  let assemblyFormat = "$lhs $kind $rhs $message attr-dict";
}

#endif // SHARDC_DIALECTS_RT_RT_TD
