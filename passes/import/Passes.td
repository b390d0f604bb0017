//===- Passes.td - From a raw module to phase imported --------------------===//

include "mlir/Pass/PassBase.td"

// Of a pass that recovers structures: each is compared with what it replaces
// (validate/Validator.h).
class Import_ValidatedStatistics<Statistic made> {
  list<Statistic> all = [
    made,
    Statistic<"numValidated", "validated", "Distinct structures evaluated">,
    Statistic<"numUndone", "undone", "Recoveries that computed something else">,
    Statistic<"numBelieved", "believed",
              "Recoveries of which not all could be evaluated">
  ];
}

def SpecializeBranches : Pass<"shardc-specialize-branches", "::mlir::ModuleOp"> {
  let summary = "One function for each value of an input that decides branches";
  let description = [{
    Requires: a raw module.
    Ensures: no onnx.If whose condition is a boolean input of the model, or that
    only reshapes, casts or negates one. Each value of such inputs has a function
    in which it is a constant; `onnx.when` says which, by the inputs' names. The
    functions become profiles of the artifact: the runtime picks by the value.

    (* example filepath=tests/passes/import/specialize-branches/example.mlir *)
  }];
  let dependentDialects = ["::shardc::onnx::OnnxDialect"];
  let statistics = [
    Statistic<"numFunctions", "functions", "Functions made beside the first">
  ];
}

def GrowWindowedCaches : Pass<"shardc-grow-windowed-caches", "::mlir::ModuleOp"> {
  let summary = "Caches of the last tokens become whole ones, for steps of rows";
  let description = [{
    Requires: a raw module.
    Ensures: no GroupQueryAttention that takes its caches from inputs has
    `sliding_window_cache`; past is as long as that of whole caches, and attention
    sees its window of it. For caches that a runtime keeps: who calls a model by
    inputs and outputs has smaller ones. An operator that shape inference refuses is
    left for it.

    (* example filepath=tests/passes/import/grow-windowed-caches/example.mlir *)
  }];
  let dependentDialects = ["::shardc::onnx::OnnxDialect"];
  let statistics = [Statistic<"numGrown", "grown", "Attentions with such caches">];
}

def SpecializeSteps : Pass<"shardc-specialize-steps", "::mlir::ModuleOp"> {
  let summary = "One function for a prompt, one for a step of decoding";
  let description = [{
    Requires: caches recovered.
    Ensures: where all caches that a function appends to get longer by one symbol
    of its inputs, there are two of it: @f_decode, first, for requests in which
    that symbol is 1, as `onnx.when` says, and @f_prefill for all others. They
    are alike; of a decode function later phases leave the sequence whole, since
    one position cannot be split.

    (* example filepath=tests/passes/import/specialize-steps/example.mlir *)
  }];
  let dependentDialects = ["::shardc::onnx::OnnxDialect"];
  let statistics = [Statistic<"numSteps", "steps", "Functions made">];
}

def BatchRows : Pass<"shardc-batch-rows", "::mlir::ModuleOp"> {
  let summary = "A step of rows of any sequences, in place of requests";
  let description = [{
    Requires: caches recovered; a function for every request.
    Ensures: there is one function, for a step of rows: the new positions of any
    sequences one after the other, whole prompts, parts of them and single
    tokens, each row behind as many positions as it has. How the rows lie is
    given with the step, as inputs called rows.*. Caches are pools of
    pages with `page` positions, and attention looks up the pages of its row: no
    size of the function depends on how long a sequence is, but for how many
    pages the longest has. Outputs are those of the wanted tokens. A row gets
    what it would get alone, whatever other rows there are. Where ops mix
    positions, other than by attention to a cache, a warning names the first,
    and a step has one row, rows.past [1]: its sequences run apart. What mixes
    keys is refused by name. Each op is tried on numbers, as a step of two rows and as a request of each
    (rows/RowTrial.h); one that gives a row something else is refused, too.
    A static cache, with a place for each position that there may be and an input
    that says where to write, becomes one that grows first, where masks are seen
    to hide all other places (rows/StaticCaches.h); a step has no such input.
    Of a function that takes one position of each row of a batch, a step has one
    token a row. Keys of cross-attention come with the step whose row gives what they are made
    of, and lie in pages of the pools of their layer (rows/EncoderKeys.h).

    (* example filepath=tests/passes/import/batch-rows/example.mlir *)
  }];
  let options = [
    Option<"page", "page", "int64_t", "64", "Positions of a page">
  ];
  let statistics = [
    Statistic<"numTried", "tried", "Distinct ops that were tried">,
    Statistic<"numBelieved", "believed", "Of them, those not evaluated">
  ];
  let dependentDialects = ["::shardc::dist::DistDialect",
                           "::shardc::onnx::OnnxDialect"];
}

def QuantizePages : Pass<"shardc-quantize-pages", "::mlir::ModuleOp"> {
  let summary = "Pools of keys and values in 8 bits";
  let description = [{
    Requires: steps of rows (shardc-batch-rows).
    Ensures: pools of f32, f16 and bf16 that only attention reads are of `type`, with
    a pool of scales beside each, one in f32 for each entry and head. What is new
    is rounded to multiples of its scale, its largest magnitude over the largest
    number of the type; attention multiplies what it reads by the scales.

    (* example filepath=tests/passes/import/quantize-pages/example.mlir *)
  }];
  let options = [
    Option<"type", "type", "std::string", "\"int8\"", "int8 or f8 (e4m3)">
  ];
  let dependentDialects = ["::shardc::dist::DistDialect",
                           "::shardc::onnx::OnnxDialect"];
}

def QuantizeWeights : Pass<"shardc-quantize-weights", "::mlir::ModuleOp"> {
  let summary = "Products read constant weights in fewer bits";
  let description = [{
    Requires: shapes.
    Ensures: products whose right operand is a matrix of a file, and mixtures of
    experts, read it as `type`: int4 and int8 with a scale for each `group`
    features of each result, fp8 (e4m3) with one for each result, as
    DequantizeLinear of [n, k] that is then transposed, which is what MatMulNBits
    becomes; bf16 as it lies, by a DequantizeLinear whose scale is 1, or with
    `casts`, for kernels that do not take that, a Cast. Matrices of experts that
    an export keeps one by one become one weight. Gemm becomes MatMul and Add.
    What else reads a weight, as the lookup of embeddings that are tied to the
    head, goes on reading the file's.

    With int4 the last products, behind which no other comes (the LM head), get 8
    bits; what a TopK chooses by (the router of experts) stays as it is. A
    module whose weights are quantised already, or that has no such product, is
    an error. What is to be made is listed in the module (QuantizedMatrix.h).

    (* example filepath=tests/passes/import/quantize-weights/example.mlir *)
  }];
  let options = [
    Option<"type", "type", "std::string", "\"int4\"", "int4, int8, fp8 or bf16">,
    Option<"group", "group", "int64_t", "32", "Features of a scale">,
    Option<"casts", "casts", "bool", "false", "bf16 is cast when it is loaded">
  ];
  let statistics = [
    Statistic<"numQuantized", "quantized", "Products that read fewer bits">
  ];
  let dependentDialects = ["::shardc::dist::DistDialect",
                           "::shardc::onnx::OnnxDialect"];
}

def RoundProducts : Pass<"shardc-round-products", "::mlir::ModuleOp"> {
  let summary = "Products with constant weights in fewer bits";
  let description = [{
    Requires: shapes.
    Ensures: with `type` = bf16, products of f32 and f16 whose right operand is a
    matrix that follows from weights alone may round both operands to bfloat16
    (`operand_bits`), and so may mixtures of experts with such weights; they add up
    in f32, and what they result in keeps its type.
    Those with quantised weights of 2, 4 or 8 bits may do so as well
    (`activation_bits` = 16 of these), unless the file lets them round to 8 bits,
    and so may both products of an attention (`operand_bits`), unless a TopK,
    an ArgMax that others read, or a comparison with the largest of a row chooses
    by floats (experts).
    Products by whose results such a choice is made (routers) stay as they are.
    With int8, products with quantised weights of 2, 4 or 8 bits may round the other
    operand to 8 bits in blocks (`activation_bits` = 8), as accuracy_level 4 of
    MatMulNBits says it. Experts with quantised weights and convolutions stay as
    they are. A module without any such product gets a warning.

    (* example filepath=tests/passes/import/round-products/example.mlir *)
  }];
  let options = [
    Option<"type", "type", "std::string", "\"bf16\"", "bf16 or int8">
  ];
  let statistics = [
    Statistic<"numRounded", "rounded", "Products that may round operands">
  ];
}

def KeepChoicesApart : Pass<"shardc-keep-choices-apart", "::mlir::ModuleOp"> {
  let summary = "Mixtures of experts whose sum is an op of its own";
  let description = [{
    Requires: shapes, and mixtures of experts recovered.
    Ensures: an onnx.MixtureOfExperts keeps the choices of a token apart, and an
    onnx.ReduceSum adds them up, so that experts may be shared out among ranks
    where sums may not (shardc-keep-sums-whole).

    (* example filepath=tests/passes/import/keep-choices-apart/example.mlir *)
  }];
  let dependentDialects = ["::shardc::onnx::OnnxDialect"];
  let statistics = [Statistic<"numApart", "apart", "Mixtures">];
}

def KeepSumsWhole : Pass<"shardc-keep-sums-whole", "::mlir::ModuleOp"> {
  let summary = "The same bits under any plan: no ranks share out a sum";
  let description = [{
    Requires: shapes, and that no pass behind makes an op that adds up.
    Ensures: an op that adds up floats, or weighs keys that could come in parts,
    has `onnx.whole_sums`: its rule says that what it adds up is whole, so that
    each sum is that of one kernel on one rank. So has the module, whose kernels are
    told to add up in an order that does not depend on other rows and columns, or
    on how values lie. Integers and
    largest and smallest elements are the same in any order, and not marked.

    (* example filepath=tests/passes/import/keep-sums-whole/example.mlir *)
  }];
  let options = [
    Option<"spared", "spared", "unsigned", "0",
           "For tests of what finds it: this op of them, counted from 1, is left "
           "as it is">
  ];
  let statistics = [
    Statistic<"numMarked", "marked", "Ops that add up floats">
  ];
}

def SplitKeys : Pass<"shardc-split-keys", "::mlir::ModuleOp"> {
  let summary = "Parts of the keys for ranks that would hold copies of them";
  let description = [{
    Requires: steps of rows (shardc-batch-rows).
    Ensures: where key heads do not divide over `head-ways`, or sequences are split
    over `context-ways`, attention to pages is that to parts of each page's places,
    one for each rank that would hold a copy, and a merge of what these have seen.
    16 ways on 8 key heads: two parts, so that a rank has one head and one half of
    each page. Where a page does not divide into so many parts there are
    fewer, and one warning: ranks then hold copies all the same.

    (* example filepath=tests/passes/import/split-keys/example.mlir *)
  }];
  let options = [
    Option<"headWays", "head-ways", "int64_t", "1",
           "Ranks that share out heads">,
    Option<"contextWays", "context-ways", "int64_t", "1",
           "Ranks that share out the positions of a sequence">
  ];
  let dependentDialects = ["::shardc::onnx::OnnxDialect"];
}

def InferShapes : Pass<"shardc-infer-shapes", "::mlir::ModuleOp"> {
  let summary = "Gives every value its type, evaluates shape arithmetic";
  let description = [{
    Requires: a raw module, as the reader writes it: results of unknown type,
    all operands of the ONNX nodes; `onnx.opset` says what the ops mean.
    Ensures: every value has a type with symbolic sizes. No operand is left that
    only carries a known shape: it has become dims, bounds or axes. Assumptions
    that this took stand as onnx.Guard at the function's start; where one says
    that a symbol equals an expression, the expression stands in its place
    everywhere, the function's arguments included. Sizes that broadcast are taken
    as equal; where nothing but that relates two symbols of inputs, functions
    beside it are for those that are 1. Outputs have the elements that the file
    says, or that is an error; other sizes than it says are a warning. What
    replaces an operator of com.microsoft computes what the operator is defined
    as, or that is an error (validate/Decompositions.h).

    (* example filepath=tests/passes/import/infer-shapes/example.mlir *)
  }];
  let options = [
    Option<"maxOps", "max-ops", "unsigned", "0",
           "Ops that a function and those beside it may have; none if 0">
  ];
  let dependentDialects = ["::shardc::dist::DistDialect",
                           "::shardc::onnx::OnnxDialect"];
  let statistics = [
    Statistic<"numGuards", "guards", "Assumptions about the inputs' sizes">,
    Statistic<"numErased", "erased", "Ops that only computed shapes">,
    Statistic<"numProfiles", "profiles", "Functions for sizes that are 1">,
    Statistic<"numValidated", "validated", "Distinct decompositions evaluated">,
    Statistic<"numBelieved", "believed",
              "Decompositions of which not all could be evaluated">
  ];
}

def CaptureOperands : Pass<"shardc-capture-operands", "::mlir::ModuleOp"> {
  let summary = "Makes operands of the values that branches and loops use";
  let description = [{
    Requires: inferred shapes.
    Ensures: the bodies of onnx.If and onnx.Loop use their arguments and what is
    in them, nothing from around them. An op like any other, then: its operands
    can be sharded, transferred and verified without looking into it. Constants
    and sizes are copied into the bodies instead.

    (* example filepath=tests/passes/import/capture-operands/example.mlir *)
  }];
  let dependentDialects = ["::shardc::onnx::OnnxDialect"];
  let statistics = [
    Statistic<"numCaptures", "captures", "Values that became operands">
  ];
}

def FoldIndexing : Pass<"shardc-fold-indexing", "::mlir::ModuleOp"> {
  let summary = "Gathers and scatters by indices that count become layout ops";
  let description = [{
    Requires: inferred shapes.
    Ensures: a Gather or GatherND whose indices are positions in order, each dim
    of the data from its first element to its last, is a Transpose, Reshape and
    Expand of the data, or of its front where a GatherND's do not go to the last;
    a ScatterND by such indices is its updates; a GatherElements whose indices
    choose whole rows of a table is a Gather. What only computed indices is gone, and with it what a
    batch or a sequence was counted for.

    (* example filepath=tests/passes/import/fold-indexing/example.mlir *)
  }];
  let dependentDialects = ["::shardc::onnx::OnnxDialect"];
  let statistics = [
    Statistic<"numFolded", "folded", "Gathers and scatters replaced">
  ];
}

def FoldLayout : Pass<"shardc-fold-layout", "::mlir::ModuleOp"> {
  let summary = "Makes chains of Reshape and Transpose as short as they can be";
  let description = [{
    Requires: inferred shapes.
    Ensures: no Reshape of a Reshape, no Transpose of a Transpose; where a
    Reshape only merges dims before a Transpose, the Transpose moves the dims
    themselves.

    (* example filepath=tests/passes/import/fold-layout/example.mlir *)
  }];
  let dependentDialects = ["::shardc::onnx::OnnxDialect"];
  let statistics = [Statistic<"numFolded", "folded", "Ops that went">];
}

def RecoverActivations : Pass<"shardc-recover-activations", "::mlir::ModuleOp"> {
  let summary = "Gelu and Swish where a model spells them out";
  let description = [{
    Requires: inferred shapes.
    Ensures: Erf, Tanh or Sigmoid with the arithmetic around it is one
    onnx.Gelu or onnx.Swish wherever the whole is that function of one value, in
    any order of its factors, with constants as exact as their type. Constants
    of other functions, and values that others use too, stay as they are.

    | op | spelled |
    |---|---|
    | Gelu | 0.5 x (1 + erf(x / sqrt(2))) |
    | Gelu, tanh | 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) |
    | Swish | x sigmoid(alpha x) |

    (* example filepath=tests/passes/import/recover-activations/example.mlir *)
  }];
  let dependentDialects = ["::shardc::onnx::OnnxDialect"];
  let statistics = Import_ValidatedStatistics<
    Statistic<"numActivations", "activations", "Gelu and Swish made">>.all;
}

def RecoverWeights : Pass<"shardc-recover-weights", "::mlir::ModuleOp"> {
  let summary = "DequantizeLinear where a model spells it out";
  let description = [{
    Requires: inferred shapes, folded layouts.
    Ensures: a product's weight that is made of numbers of at most 8 bits, known
    once weights are loaded, by a Cast, less an integer zero point, times a
    scale, is one onnx.DequantizeLinear, right before the product or what turns
    its matrix; a Reshape between goes above. Each number has the same bits,
    since differences of such integers are exact in f32, f16 and bf16. Products,
    and mixtures of experts, then read the weights as they are stored; as floats
    they would be four times as large. Each has a DequantizeLinear of its own: a
    value that others use too stays for them. Where scales change along the dim
    that is summed, but for blocks of whole words, nothing changes. A Gather of
    rows looks up what is stored, and what it finds becomes numbers: else all of
    the table would, in each run. A Gemm of such a weight becomes a product,
    and what it does besides.

    | from | to |
    |---|---|
    | (cast(q) - cast(z)) * s | DequantizeLinear q, s, z |
    | (cast(q) - 128) * s | the same with one zero point |
    | cast(q) | DequantizeLinear q, 1 |
    | reshape of [n, g, b], scales [n, g, 1] | blocks of b along [n, g b] |
    | Gemm x, (cast(q) * s), c | Add (MatMul x, (DequantizeLinear q, s)), c |
    | Gather of (DequantizeLinear q, s), i | DequantizeLinear of Gather q, i and Gather s, i |

    (* example filepath=tests/passes/import/recover-weights/example.mlir *)
  }];
  let dependentDialects = ["::shardc::onnx::OnnxDialect"];
  let statistics = Import_ValidatedStatistics<
    Statistic<"numWeights", "weights", "Weights that are dequantised">>.all;
}

def RecoverNormalizations
    : Pass<"shardc-recover-normalizations", "::mlir::ModuleOp"> {
  let summary = "RMS and layer norms where a model spells them out";
  let description = [{
    Requires: inferred shapes.
    Ensures: what is divided by the root of its own mean square over the last
    dims, taken in f32 or f64, is one onnx.RMSNormalization or, where it is a
    distance from the mean, onnx.LayerNormalization. A scale behind it, and a
    bias behind that, are taken along where they lie along those dims; so is
    the way there and back of a model of a narrower type.

    | op | spelled |
    |---|---|
    | RMSNormalization | x / r, x * (1 / r), x * Reciprocal(r), x * (v + eps)^-0.5 with r = sqrt(v + eps), v = mean of x^2 or x * x |
    | with a scale | w * norm, norm * w, norm * (1 + w) |
    | in f16 or bf16 | w * cast(norm of cast(x)) |
    | LayerNormalization | all of these of x - mean(x), and with a bias |

    (* example filepath=tests/passes/import/recover-normalizations/example.mlir *)
  }];
  let dependentDialects = ["::shardc::onnx::OnnxDialect"];
  let statistics = Import_ValidatedStatistics<
    Statistic<"numNorms", "norms", "Norms made">>.all;
}

def RecoverAttention : Pass<"shardc-recover-attention", "::mlir::ModuleOp"> {
  let summary = "One op for attention that a model spells out";
  let description = [{
    Requires: inferred shapes.
    Ensures: a softmax between a product of queries and keys and one with values
    is one onnx.Attention, wherever all of the chain is understood and nobody
    else uses the weights. A mask stays an operand, except what it says by
    comparing positions: where hiding is by -inf, or every query sees its own
    key, that becomes is_causal, causal_offset and window. Equal masks of
    several layers become one. Of an onnx.Attention of the model's own, the
    repetition of heads and the mask are read alike.

    | part | spelled |
    |---|---|
    | scale | factors of queries, of keys, of scores, before a mask or behind it; Mul or Div |
    | keys | Transpose before or behind their repetition, or of b t h d |
    | GQA, MQA | Reshape, Expand, Reshape of keys and values; broadcast heads |
    | soft cap | c * tanh(x / c) |
    | mask | x + m, max(x + m, low), x + Where(c, 0, low), Where(c, x, -inf), either way round |
    | heads | merged with the batch into one dim, for products of 3-D values |
    | causal, window | Less, Greater, ... and Not of Ranges plus constants, in any conjunction |
    | ALiBi, relative bias | the mask m |
    | sinks | one more column of scores, dropped behind the softmax |
    | softmax | of x - max(x); in f32 of a narrower model; NaN replaced by 0 |
    | MLA | heads of other sizes for values than for keys |

    (* example filepath=tests/passes/import/recover-attention/example.mlir *)
  }];
  let dependentDialects = ["::shardc::onnx::OnnxDialect"];
  let statistics = Import_ValidatedStatistics<
    Statistic<"numAttentions", "attentions", "Attentions made">>.all;
}

def RecoverRotary : Pass<"shardc-recover-rotary", "::mlir::ModuleOp"> {
  let summary = "One op for a rotary embedding that a model spells out";
  let description = [{
    Requires: inferred shapes.
    Ensures: what turns pairs of a head's elements by the same angles for all
    heads is one onnx.RotaryEmbedding. Where tables hold each cosine twice, what
    computes them is rebuilt for one half, once for all layers; where the halves
    are not known to be equal, the op is not made.

    | part | spelled |
    |---|---|
    | x cos + r(x) sin | r of halves: Concat(-b, a); of neighbours: the same, stacked |
    | pair by pair | Concat or stack of a cos - b sin and b cos + a sin |
    | a, b | Slice or Split of the head; other values are concatenated first |
    | partial | Concat of the rotated part and the rest of the same head |
    | dims | b h s d, and b s h d between Transposes |

    (* example filepath=tests/passes/import/recover-rotary/example.mlir *)
  }];
  let dependentDialects = ["::shardc::onnx::OnnxDialect"];
  let statistics = Import_ValidatedStatistics<
    Statistic<"numRotations", "rotations", "Embeddings made">>.all;
}

def RecoverCaches : Pass<"shardc-recover-caches", "::mlir::ModuleOp"> {
  let summary = "Finds the inputs and outputs that are past and present of a cache";
  let description = [{
    Requires: inferred shapes.
    Ensures: an output that is present of a cache has `onnx.cache`: which input is
    past, along which `dim` the cache grows, if it does, and the `kind`. append:
    present is past with something behind it. set: past is not read, present is
    computed. keep: present is past, or has no elements. write: present is as large
    as past, and has the last of its entries with new ones behind them. All functions, which are
    the branches of one model, have the same caches; each is appended to or set in
    one of them. Nothing else changes: the program computes what it did, but
    present is written into the memory of past where a session keeps it.

    (* example filepath=tests/passes/import/recover-caches/example.mlir *)
  }];
  let dependentDialects = ["::shardc::onnx::OnnxDialect"];
  let statistics = [Statistic<"numCaches", "caches", "Pairs of input and output">];
}

def NarrowCaches : Pass<"shardc-narrow-caches", "::mlir::ModuleOp"> {
  let summary = "Keeps caches in the narrower of the types around them";
  let description = [{
    Requires: recovered caches.
    Ensures: a cache that a model takes and gives in a wider float than it reads
    and computes is of the narrower one; the model's type of the input and the
    output is in `onnx.given`, and what a caller hands in is cast on the way, as
    is what the caller gets. Past and new entries that are joined in a wider float
    and then narrowed are joined in the narrow one; other readers of the wide join
    keep it. All values are what they were, bit by bit; no step casts a cache.

    (* example filepath=tests/passes/import/narrow-caches/example.mlir *)
  }];
  let dependentDialects = ["::shardc::onnx::OnnxDialect"];
  let statistics = [Statistic<"numNarrowed", "narrowed", "Caches narrowed">];
}

def RecoverMixtureOfExperts
    : Pass<"shardc-recover-mixture-of-experts", "::mlir::ModuleOp"> {
  let summary = "One op for tokens through chosen experts";
  let description = [{
    Requires: inferred shapes, and activations recovered.
    Ensures: routing by indices and weights [n, k], or by weights [n, e] that a
    TopK's choices are scattered to, with two products of stacked experts and an
    activation between them, is one onnx.MixtureOfExperts. The bias of the
    second product stays outside: of a partial sum it belongs to one rank.

    | form | spelled |
    |---|---|
    | gathered | GatherND or Gather of the experts of each choice, products of one row each, sum over the choices |
    | dense | batched products of all tokens with all experts, weights 0 for most |
    | sorted | choices sorted by expert, a product for each segment, put back in order; the host's wait for the segments' ends goes |
    | unrolled | a term for each expert: all tokens by weights 0 for most, or those that NonZero says; their matrices are stacked when weights are loaded |
    | activation | any of Swish, Gelu, Relu; gated by halves or by neighbours, clipped, shifted |

    (* example filepath=tests/passes/import/recover-mixture-of-experts/example.mlir *)
  }];
  let dependentDialects = ["::shardc::onnx::OnnxDialect"];
  let statistics = Import_ValidatedStatistics<
    Statistic<"numMixtures", "mixtures", "Mixtures made">>.all;
}

def WidenFloats : Pass<"shardc-widen-floats", "::mlir::ModuleOp"> {
  let summary = "The same model in f64, to tell mistakes from rounding";
  let description = [{
    Requires: phase imported, structures recovered: what the model computes is
    then settled, and only how exactly is left.
    Ensures: no value is of f32, f16 or bf16, but weights as their files hold
    them, each cast to f64 where it is loaded. Casts between floats are gone, so
    that nothing is rounded on the way. Inputs and outputs are of f64 too.
    Integers, and floats of eight bits, stay what they are.

    (* example filepath=tests/passes/import/widen-floats/example.mlir *)
  }];
  let dependentDialects = ["::shardc::onnx::OnnxDialect"];
}
