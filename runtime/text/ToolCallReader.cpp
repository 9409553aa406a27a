//===- ToolCallReader.cpp - The reader of each syntax -------------------===//

#include "runtime/text/ToolCallReader.h"

namespace ingot::text {

std::unique_ptr<ToolCallReader> readCall(const ToolMarks &marks, CallSink &sink, bool strict) {
  switch (marks.syntax) {
  case CallSyntax::Object:
    return readObjectCall(sink, strict);
  case CallSyntax::Json:
    return readJsonCall(marks, sink);
  case CallSyntax::Parameters:
  case CallSyntax::Elements:
    return readParameterCall(marks, sink);
  case CallSyntax::Python:
    return readPythonCall(sink);
  case CallSyntax::Gemma:
    return readGemmaCall(marks, sink);
  }
  return nullptr;
}

} // namespace ingot::text
