//===- Fields.h - Reads a request's JSON field by field -------------------===//
//
// Every field of every route is read through the classes of this file. Each value is either accepted
// or refused with a 400 that names the field:
//
//   Document document;
//   Fields body = document.parse(text);
//   auto temperature = body.number("temperature", 0, 2);    // nullopt: missing, null … or wrong
//   for (Fields message : body.objects("messages", 1, 2048))
//     auto role = message.text("role", 64);
//   if (auto error = document.error()) …                    // the first that was wrong
//
// After the first error, all reads return nothing, so a reader needs only one check, at its end.
// Unread fields are ignored, because clients send extra ones.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/server/api/ApiError.h"

#include <simdjson.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::api {

constexpr size_t kJsonDepth = 64;

class Document;

/// The description of a field that a route reads, recorded by Document::describe.
struct FieldNote {
  std::string path;
  std::string type; ///< JSON Schema's type, or "texts", "integers", "list" (of objects); "": any
  std::string least, most;
  std::vector<std::string> allowed;
  bool required = false;
};

/// An object of the document. It is cheap to copy, and the document must outlive it.
class Fields {
public:
  /// Returns whether a field is present and not null.
  bool has(std::string_view name) const;
  std::optional<double> number(std::string_view name, double least, double most) const;
  std::optional<int64_t> integer(std::string_view name, int64_t least, int64_t most) const;
  std::optional<bool> boolean(std::string_view name) const;
  /// Reads a string of at most `most` bytes.
  std::optional<std::string_view> text(std::string_view name, size_t most) const;
  /// Reads a text that is not only white space.
  std::optional<std::string_view> filledText(std::string_view name, size_t most) const;
  /// Reads a string from a fixed set.
  std::optional<std::string_view> oneOf(std::string_view name,
                                        std::initializer_list<std::string_view> allowed) const;
  /// Reads a string or a list of strings.
  std::vector<std::string> texts(std::string_view name, size_t mostItems, size_t mostBytes) const;
  std::vector<int64_t> integers(std::string_view name, size_t mostItems, int64_t least,
                                int64_t most) const;
  std::optional<Fields> object(std::string_view name) const;
  std::vector<Fields> objects(std::string_view name, size_t least, size_t most) const;
  /// Returns the members of the object, unchecked.
  std::vector<std::pair<std::string_view, simdjson::dom::element>> members() const;
  /// Returns the value of a field, or the object itself, as compact JSON.
  std::string json(std::string_view name) const;
  std::string json() const;
  std::optional<simdjson::dom::element> element(std::string_view name) const;

  /// Returns a field's path for errors: "messages[2].content".
  std::string path(std::string_view name) const;
  const std::string &path() const { return where; }
  /// Records an error at a field, unless there is one already.
  void fail(std::string_view name, std::string message) const;
  void fail(ApiError error) const; ///< records a complete error, unless there is one already
  bool failed() const;             ///< the document has an error
  /// Records that a part of the request is not used, and its type (Document::reportLeftOut).
  void leaveOut(std::string_view name, std::string_view type) const;
  /// Returns whether a field is present and null.
  bool null(std::string_view name) const;
  void require(std::string_view name) const; ///< records an error if the field is missing or null

private:
  friend class Document;
  Fields(Document &owner, simdjson::dom::object values, std::string where)
      : document(&owner), values(values), where(std::move(where)) {}

  /// If the document is from describe(), records the field and returns true, since there is nothing
  /// to read.
  bool noted(std::string_view name, const char *type, std::string least = "",
             std::string most = "") const;

  Document *document;
  simdjson::dom::object values;
  std::string where; ///< path of the object; "" at the top
};

class Document {
public:
  /// Fails if the text is not JSON, is nested deeper than kJsonDepth, or is not an object. The text
  /// need not outlive the call.
  std::optional<Fields> parse(std::string_view text);
  /// Records an error if an object has a key twice. Parsers differ in which of the values they use, so
  /// a gateway in front of this server may have checked another value than the one that is used here.
  void refuseTwice(const Fields &body);
  const std::optional<ApiError> &error() const { return failure; }
  /// Sets the list that leaveOut() appends to; null: none.
  void reportLeftOut(std::vector<std::string> *list) { leftOut = list; }

  /// Returns an empty object that records every field read from it. Every object in it exists and
  /// is empty, and every list has one item. The document has an error from the start, so a route
  /// reads the fields and does nothing else.
  Fields describe();
  const std::vector<FieldNote> &notes() const { return found; }

private:
  friend class Fields;
  simdjson::dom::parser parser;
  std::optional<ApiError> failure;
  bool describing = false;
  std::vector<std::string> *leftOut = nullptr;
  std::vector<FieldNote> found;
};

} // namespace ingot::api
