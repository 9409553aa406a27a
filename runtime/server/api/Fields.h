//===- Fields.h - A request's JSON, read field by field -------------------===//
//
// Every field of every route is read through here, so that whatever stands there is either taken
// or answered by 400 naming it:
//
//   Document document;
//   Fields body = document.parse(text);
//   auto temperature = body.number("temperature", 0, 2);    // nullopt: missing, null … or wrong
//   for (Fields message : body.objects("messages", 1, 2048))
//     auto role = message.text("role", 64);
//   if (auto error = document.error()) …                    // the first that was wrong
//
// After the first error all reads give nothing, so that a reader needs one check, at its end.
// Fields that nobody asks for are passed over: clients send extras.
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

/// What a reader asks for, noted by a document that describes (Document::describe).
struct FieldNote {
  std::string path;
  std::string type; ///< JSON Schema's name; "texts", "integers", "list" (of objects); "": any
  std::string least, most;
  std::vector<std::string> allowed;
  bool required = false;
};

/// An object of the document. Cheap to copy; the document must outlive it.
class Fields {
public:
  /// Present, and not null.
  bool has(std::string_view name) const;
  std::optional<double> number(std::string_view name, double least, double most) const;
  std::optional<int64_t> integer(std::string_view name, int64_t least, int64_t most) const;
  std::optional<bool> boolean(std::string_view name) const;
  /// A string of at most that many bytes.
  std::optional<std::string_view> text(std::string_view name, size_t most) const;
  /// A text that is more than white space.
  std::optional<std::string_view> filledText(std::string_view name, size_t most) const;
  /// A string of a closed set.
  std::optional<std::string_view> oneOf(std::string_view name,
                                        std::initializer_list<std::string_view> allowed) const;
  /// A string or a list of strings.
  std::vector<std::string> texts(std::string_view name, size_t mostItems, size_t mostBytes) const;
  std::vector<int64_t> integers(std::string_view name, size_t mostItems, int64_t least,
                                int64_t most) const;
  std::optional<Fields> object(std::string_view name) const;
  std::vector<Fields> objects(std::string_view name, size_t least, size_t most) const;
  /// The members of an object, as they stand.
  std::vector<std::pair<std::string_view, simdjson::dom::element>> members() const;
  /// The value of a field, or of the object, as compact JSON.
  std::string json(std::string_view name) const;
  std::string json() const;
  std::optional<simdjson::dom::element> element(std::string_view name) const;

  /// "messages[2].content": a field's path, for errors.
  std::string path(std::string_view name) const;
  const std::string &path() const { return where; }
  /// Notes an error at a field, unless there is one already.
  void fail(std::string_view name, std::string message) const;
  void fail(ApiError error) const; ///< likewise, one that is whole
  bool failed() const;             ///< of the document: something was wrong
  /// Notes that a part of the request, of some type, is not used (Document::tellLeftOut).
  void leaveOut(std::string_view name, std::string_view type) const;
  /// Present, and null.
  bool null(std::string_view name) const;
  void require(std::string_view name) const; ///< an error if it is missing or null

private:
  friend class Document;
  Fields(Document &owner, simdjson::dom::object values, std::string where)
      : document(&owner), values(values), where(std::move(where)) {}

  /// Where the document describes: notes the field. True: there is nothing to read.
  bool noted(std::string_view name, const char *type, std::string least = "",
             std::string most = "") const;

  Document *document;
  simdjson::dom::object values;
  std::string where; ///< "" at the top
};

class Document {
public:
  /// Errors: no JSON, deeper than kJsonDepth, no object. The text need not stay.
  std::optional<Fields> parse(std::string_view text);
  /// An error if an object has a key twice: readers differ in which one counts, so that a gateway
  /// in front may have checked another request than the one that would be served.
  void refuseTwice(const Fields &body);
  const std::optional<ApiError> &error() const { return failure; }
  /// Where leaveOut() notes to from now on; null: nowhere.
  void tellLeftOut(std::vector<std::string> *list) { leftOut = list; }

  /// An empty object, of which all that is read is noted: every object in it is there, and empty,
  /// and every list has one. It has an error from the start, so that a route reads and does no
  /// more.
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
