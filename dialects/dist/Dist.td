//===- Dist.td - The dist dialect: where values live ----------------------===//

#ifndef SHARDC_DIALECTS_DIST_DIST_TD
#define SHARDC_DIALECTS_DIST_DIST_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/dist/DistAttrs.td"
include "dialects/dist/Lowerable.td"

class Dist_Op<string opMnemonic, list<Trait> traits = []>
    : Op<Dist_Dialect, opMnemonic, traits>;

def Dist_MeshOp : Dist_Op<"mesh", [Symbol]> {
  let summary = "Declares the mesh that the module is compiled for";
  let description = [{
        dist.mesh @mesh <["tp"=2]>

    World size is the product of all sizes; the last axis varies fastest over
    ranks.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Dist_MeshAttr:$mesh);
  let assemblyFormat = "$sym_name $mesh attr-dict";
}

class Dist_UnaryOp<string opMnemonic, list<Trait> traits = []>
    : Dist_Op<opMnemonic, !listconcat(traits, [Pure])> {
  let results = (outs AnyRankedTensor:$result);
  let hasVerifier = 1;
}

def Dist_Collective : OpInterface<"Collective"> {
  let cppNamespace = "::shardc::dist";
  let description = [{
    Ranks that differ in `axes` exchange parts of the operand. What it is made of
    says its form, that of the instruction it becomes.
  }];
  let methods = [
    InterfaceMethod<"", "::shardc::dist::AxesAttr", "getAxes">,
    InterfaceMethod<"", "const ::shardc::artifact::CollectiveForm &", "form",
      (ins), [{}], [{
      return *::shardc::artifact::collectiveForm(
          $_op->getName().stripDialect());
    }]>
  ];
}

// What is left in phase partitioned.
class Dist_LocalOp<string opMnemonic, list<Trait> traits = []>
    : Dist_UnaryOp<opMnemonic,
          !listconcat([DeclareOpInterfaceMethods<LowerableOp>], traits)>;
class Dist_CollectiveOp<string opMnemonic,
                        list<Trait> traits = [Dist_Collective]>
    : Dist_LocalOp<opMnemonic, traits>;

def Dist_ReshardOp : Dist_UnaryOp<"reshard"> {
  let summary = "The same value, held differently";
  let description = [{
    Explicit change of sharding in phases sharded and staged; what it costs is
    decided by the partitioner. `why` is for `--explain`.

        %1 = dist.reshard %0 : tensor<..., partial = {"tp"=2 = sum}> to tensor<...>
  }];
  let arguments = (ins AnyRankedTensor:$operand, OptionalAttr<StrAttr>:$why);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `to` type($result)";
}

def Dist_AllReduceOp : Dist_CollectiveOp<"all_reduce"> {
  let summary = "Combines the partial values of a group; all get the result";
  let description = [{
        %1 = dist.all_reduce %0 over <["tp"=2]> sum : ... -> ...

    Every rank gets the same bits.
  }];
  let arguments = (ins AnyRankedTensor:$operand, Dist_AxesAttr:$axes,
                       StrAttr:$kind, OptionalAttr<StrAttr>:$why);
  let assemblyFormat = [{
    $operand `over` $axes $kind attr-dict `:` type($operand) `->` type($result)
  }];
}

def Dist_AllGatherOp : Dist_CollectiveOp<"all_gather"> {
  let summary = "Puts the parts of a split dim together; all get the result";
  let description = [{
        %1 = dist.all_gather %0 dim 1 over <["tp"=2]> : ... -> ...

    The axes leave every factor of the dim; within a factor they must be its
    minor axes, so that what remains is exactly the split over the major ones.
  }];
  let arguments = (ins AnyRankedTensor:$operand, I64Attr:$dim,
                       Dist_AxesAttr:$axes, OptionalAttr<StrAttr>:$why);
  let assemblyFormat = [{
    $operand `dim` $dim `over` $axes attr-dict `:` type($operand) `->` type($result)
  }];
}

def Dist_ReduceScatterOp : Dist_CollectiveOp<"reduce_scatter"> {
  let summary = "Combines partial values; each rank gets its part of a dim";
  let arguments = (ins AnyRankedTensor:$operand, I64Attr:$dim,
                       Dist_AxesAttr:$axes, StrAttr:$kind,
                       OptionalAttr<StrAttr>:$why);
  let assemblyFormat = [{
    $operand `dim` $dim `over` $axes $kind attr-dict `:` type($operand) `->` type($result)
  }];
}

def Dist_DispatchOp : Dist_CollectiveOp<"dispatch"> {
  let summary = "Tokens to the ranks whose experts they chose";
  let description = [{
    An all_gather of dim 0, the tokens, of which each rank gets only the rows that
    its experts take: `experts` of them lie on the ranks of `axes` in order, and
    row i of `choices`, the same on all ranks, names those of token i. Only an
    onnx.MixtureOfExperts of these experts and choices may use it.

        %1 = dist.dispatch %x by %choices of 8 over <["ep"=4]> : ..., ... -> ...
  }];
  let arguments = (ins AnyRankedTensor:$operand, AnyRankedTensor:$choices,
                       I64Attr:$experts, Dist_AxesAttr:$axes,
                       OptionalAttr<StrAttr>:$why);
  let assemblyFormat = [{
    $operand `by` $choices `of` $experts `over` $axes attr-dict
    `:` type($operand) `,` type($choices) `->` type($result)
  }];
}

def Dist_CombineOp : Dist_CollectiveOp<"combine"> {
  let summary = "What experts made of tokens back to the tokens' ranks, added up";
  let description = [{
    A reduce_scatter of dim 0 by sums, for which each rank sends only the rows that
    its experts took; see dist.dispatch. Only the result of such an
    onnx.MixtureOfExperts may be combined.

        %1 = dist.combine %y by %choices of 8 over <["ep"=4]> : ..., ... -> ...
  }];
  let arguments = (ins AnyRankedTensor:$operand, AnyRankedTensor:$choices,
                       I64Attr:$experts, Dist_AxesAttr:$axes,
                       OptionalAttr<StrAttr>:$why);
  let assemblyFormat = [{
    $operand `by` $choices `of` $experts `over` $axes attr-dict
    `:` type($operand) `,` type($choices) `->` type($result)
  }];
}

def Dist_AllToAllOp : Dist_CollectiveOp<"all_to_all"> {
  let summary = "Puts the parts of one dim together and splits another instead";
  let description = [{
        %1 = dist.all_to_all %0 dim 2 to 1 over <["cp"=4]> : ... -> ...

    What an all_gather of dim 2 and a slice of dim 1 give, but each rank sends
    every other one only what that keeps. Both may be the same dim, whose parts
    are then dealt out in another way:

        %1 = dist.all_to_all %0 dim 0 to 0 over <["cp"=2]> : ... -> ...
        // from (8:"cp"=2) to [4: (4:"cp"=2) | 4: (4:-"cp"=2)]
  }];
  let arguments = (ins AnyRankedTensor:$operand, I64Attr:$dim, I64Attr:$to,
                       Dist_AxesAttr:$axes, OptionalAttr<StrAttr>:$why);
  let assemblyFormat = [{
    $operand `dim` $dim `to` $to `over` $axes attr-dict `:` type($operand) `->` type($result)
  }];
}

def Dist_RingOp : Dist_CollectiveOp<"ring", [
    DeclareOpInterfaceMethods<Dist_Collective, ["form"]>]> {
  let summary = "Each rank sees the parts of a split dim one after the other";
  let description = [{
        %1 = dist.ring %0 dim 2 over <["cp"=4]> steps [0, 3, 2, 1] : ... -> ...

    In step s, rank i of the group has the part of rank (i + steps[s]) mod 4; its
    own comes first, and between steps each part moves on by one rank. Thus
    no rank holds more than two parts of others. The result is whole, as that of
    an all_gather, but in no one place: only an op whose rule says that it takes
    the dim in turn may use it.

    Every part is seen once, since the steps are a permutation.
  }];
  let arguments = (ins AnyRankedTensor:$operand, I64Attr:$dim,
                       Dist_AxesAttr:$axes, DenseI64ArrayAttr:$steps,
                       OptionalAttr<StrAttr>:$why);
  let assemblyFormat = [{
    $operand `dim` $dim `over` $axes `steps` $steps attr-dict `:` type($operand) `->` type($result)
  }];
}

def Dist_SliceOp : Dist_LocalOp<"slice"> {
  let summary = "Each rank keeps its own part; no communication";
  let description = [{
    The result's sharding refines the operand's: it splits dims that were whole.
  }];
  let arguments = (ins AnyRankedTensor:$operand);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
}

def Dist_OnceOp : Dist_LocalOp<"once"> {
  let summary = "The first rank of a group keeps the value, the others hold 0";
  let description = [{
    Makes a replicated addend a partial sum, so that a bias is added once:

        %b1 = dist.once %b over <["tp"=2]> : ... -> tensor<..., partial = {"tp"=2 = sum}>
  }];
  let arguments = (ins AnyRankedTensor:$operand, Dist_AxesAttr:$axes);
  let assemblyFormat = "$operand `over` $axes attr-dict `:` type($operand) `->` type($result)";
}

//===----------------------------------------------------------------------===//
// Transfers between stages
//===----------------------------------------------------------------------===//

def Dist_SendOp : Dist_Op<"send", [DeclareOpInterfaceMethods<LowerableOp>]> {
  let summary = "Gives a value to a later stage";
  let description = [{
    Each rank sends what it holds to the rank of the other stage with the same
    coordinates. A send and the `dist.receive` of the same number are a transfer:

        dist.send %0 to 1 as 3 : tensor<...>        // in stage 0
        %0 = dist.receive from 0 as 3 : tensor<...> // in stage 1
  }];
  let arguments = (ins AnyRankedTensor:$operand, I64Attr:$stage, I64Attr:$transfer);
  let assemblyFormat = "$operand `to` $stage `as` $transfer attr-dict `:` type($operand)";
}

def Dist_ReceiveOp : Dist_Op<"receive", [DeclareOpInterfaceMethods<LowerableOp>]> {
  let summary = "A value of an earlier stage";
  let arguments = (ins I64Attr:$stage, I64Attr:$transfer);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "`from` $stage `as` $transfer attr-dict `:` type($result)";
}

#endif // SHARDC_DIALECTS_DIST_DIST_TD
