// RUN: shard-opt %s --shardc-cut-stages --verify-diagnostics

// expected-error@+1 {{has no function @main to cut into stages}}
module {
  func.func @other() {
    return
  }
}
