// Tests the answers to an editor: our verifier's message at its line, and an op's description.
// RUN: ingot-lsp-server --lit-test < %s | FileCheck %s
{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"processId":123,"rootPath":"mlir","capabilities":{},"trace":"off"}}
// -----
{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{
  "uri":"test:///model.mlir", "languageId":"mlir", "version":1,
  "text":"lm.model @m attributes {family = \"t\", vocab = 40 : i64, hidden = 64 : i64, max_positions = 64 : i64} {\n  lm.weight @bad : !lm.weight<2, f32> {values = array<f32: 1.0>}\n}"
}}}
// CHECK: "method": "textDocument/publishDiagnostics"
// CHECK: "message": "'lm.weight' op expects values to fill an f32 vector of 2 values
// -----
{"jsonrpc":"2.0","id":1,"method":"shutdown"}
// -----
{"jsonrpc":"2.0","method":"exit"}
