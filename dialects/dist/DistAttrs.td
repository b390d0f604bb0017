//===- DistAttrs.td - Meshes, sizes and shardings as attributes -----------===//

#ifndef SHARDC_DIALECTS_DIST_DISTATTRS_TD
#define SHARDC_DIALECTS_DIST_DISTATTRS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"

def Dist_Dialect : Dialect {
  let name = "dist";
  let cppNamespace = "::shardc::dist";
  let summary = "Where values live: mesh, shardings, collectives";
  let description = [{
    Symbolic sizes and shardings are part of a value's type, as the encoding of
    a builtin tensor type, so that a mismatch is a verifier error:

        tensor<?x?x96xf32, #dist.value<dims = [batch, seq, 96],
                                       sharding = [{}, {}, (6:"tp"=2, 16)]>>

    The algebra of sizes and shardings is free of IR and stands in `algebra/`.
  }];
  let useDefaultAttributePrinterParser = 1;
}

class Dist_Attr<string name, string attrMnemonic> : AttrDef<Dist_Dialect, name> {
  let mnemonic = attrMnemonic;
  let hasCustomAssemblyFormat = 1;
}

def Dist_MeshAttr : Dist_Attr<"Mesh", "mesh"> {
  let summary = "Ordered named axes, major to minor: <[\"dp\"=2, \"tp\"=4]>";
  let description = [{
    Of an axis with shares, `<["tp"=2:[3, 1]]>`, the ways have unequal parts of
    what it splits: the first one three quarters.
  }];
  let parameters = (ins "::shardc::dist::MeshRef":$mesh);
}

def Dist_AxesAttr : Dist_Attr<"Axes", "axes"> {
  let summary = "Axes or sub-axes, major to minor: <[\"tp\"=4]>";
  let parameters = (ins ArrayRefParameter<"::shardc::dist::AxisPart">:$parts);
  let extraClassDeclaration = [{
    static AxesAttr get(::mlir::MLIRContext *context,
                        ::llvm::ArrayRef<::shardc::dist::AxisRef> axes);
    ::llvm::SmallVector<::shardc::dist::AxisRef, 2> getAxes() const;
  }];
}

def Dist_DimsAttr : Dist_Attr<"Dims", "dims"> {
  let summary = "Symbolic integers: <[batch, seq + 1, 96]>";
  let parameters = (ins ArrayRefParameter<"::shardc::dist::DimExpr">:$values);
}

def Dist_ValueAttr : Dist_Attr<"Value", "value"> {
  let summary = "Sizes and sharding of a value; the encoding of its type";
  let description = [{
    `dims` are the global sizes, in every phase. `sharding` appears with phase
    sharded. `local`, from phase partitioned on, are the sizes on this rank as
    expressions over its mesh coordinates; the tensor type's own shape then
    shows the local sizes as far as they are constant.
  }];
  let parameters = (ins
    ArrayRefParameter<"::shardc::dist::DimExpr">:$dims,
    "::shardc::dist::ShardingRef":$sharding,
    OptionalArrayRefParameter<"::shardc::dist::DimExpr">:$local,
    "bool":$hasLocal
  );
}

#endif // SHARDC_DIALECTS_DIST_DISTATTRS_TD
