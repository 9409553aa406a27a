//===- OpenApi.cpp - /openapi.json and /docs -----------------------------------===//
//
// The description has no list of fields of its own. Instead, every route runs on a body that records
// the fields read from it (Document::describe), so the description has exactly the fields that the
// routes read.
//===----------------------------------------------------------------------===//
#include "runtime/server/api/RouteTable.h"

#include "runtime/json/JsonText.h"

#include <algorithm>

namespace ingot::api {

namespace {

using runtime::JsonText;

std::vector<FieldNote> fieldsOf(const PostRoute &route, const Looked &at) {
  Call call;
  http::HttpRequest request;
  request.path = route.path;
  call.request = &request;
  call.generation.model = at.models.find("");
  call.body = call.document.describe();
  (void)call.body->text("model", 1 << 10); // Api.cpp reads this field, not the route
  (void)route.route(call);
  return call.document.notes();
}

/// A field and the fields inside it.
struct Node {
  std::string name;
  const FieldNote *note = nullptr;
  std::vector<Node> members;
};

/// Places a field in the tree: "a[0].b" is inside a, which is a list.
void place(Node &root, const FieldNote &note) {
  Node *at = &root;
  std::string_view rest = note.path;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('.'), rest.size());
    std::string_view name = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    name = name.substr(0, name.find('['));
    auto found = std::ranges::find(at->members, name, &Node::name);
    if (found == at->members.end())
      found = at->members.insert(found, {std::string(name), nullptr, {}});
    at = &*found;
  }
  at->note = &note;
}

void membersJson(JsonText &json, const Node &node);

void schemaJson(JsonText &json, const Node &node) {
  json.open('{');
  const std::string type = node.note ? node.note->type : "object";
  if (type == "texts")
    json.key("anyOf").raw(R"([{"type":"string"},{"type":"array","items":{"type":"string"}}])");
  else if (type == "integers")
    json.key("type").value("array").key("items").raw(R"({"type":"integer"})");
  else if (type == "list") {
    json.key("type").value("array").key("items").open('{').key("type").value("object");
    membersJson(json, node);
    json.close();
  } else if (!type.empty())
    json.key("type").value(type);
  if (type == "object")
    membersJson(json, node);
  if (node.note && !node.note->least.empty())
    json.key("minimum").raw(node.note->least).key("maximum").raw(node.note->most);
  if (node.note && !node.note->allowed.empty()) {
    json.key("enum").open('[');
    for (const std::string &one : node.note->allowed)
      json.value(one);
    json.close();
  }
  json.close();
}

void membersJson(JsonText &json, const Node &node) {
  if (node.members.empty())
    return;
  json.key("properties").open('{');
  for (const Node &member : node.members) {
    json.key(member.name);
    schemaJson(json, member);
  }
  json.close();
  if (std::ranges::none_of(node.members, [](const Node &m) { return m.note && m.note->required; }))
    return;
  json.key("required").open('[');
  for (const Node &member : node.members)
    if (member.note && member.note->required)
      json.value(member.name);
  json.close();
}

void answersJson(JsonText &json) {
  json.key("responses").open('{').key("200").raw(R"({"description":"the answer"})");
  json.key("default")
      .raw(R"({"description":"an error: what is wrong, and in which field"})")
      .close();
}

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text)
    if (c == '<')
      out += "&lt;";
    else if (c == '&')
      out += "&amp;";
    else
      out += c;
  return out;
}

} // namespace

void openApi(const Looked &at, http::Responder &responder) {
  JsonText json;
  json.open('{').key("openapi").value("3.1.0").key("info").open('{');
  json.key("title").value("Ingot").key("version").value(at.version).close();
  json.key("paths").open('{');
  for (const GetRoute &route : getRoutes()) {
    json.key(route.path).open('{').key("get").open('{').key("summary").value(route.what);
    answersJson(json);
    json.close().close();
  }
  for (const PostRoute &route : postRoutes()) {
    Node root;
    const auto notes = fieldsOf(route, at);
    for (const FieldNote &note : notes)
      place(root, note);
    json.key(route.path).open('{').key("post").open('{').key("summary").value(route.what);
    json.key("requestBody").open('{').key("required").value(true).key("content").open('{');
    json.key("application/json").open('{').key("schema").open('{').key("type").value("object");
    membersJson(json, root);
    json.close().close().close().close();
    answersJson(json);
    json.close().close();
  }
  json.close()
      .key("components")
      .raw(R"({"securitySchemes":{"key":{"type":"http","scheme":"bearer"}}})");
  responder.send(200, "application/json",
                 json.key("security").raw(R"([{},{"key":[]}])").close().text());
}

void openApiPage(const Looked &at, http::Responder &responder) {
  std::string page =
      "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Ingot: routes</title>"
      "<style>body{font:16px/1.5 system-ui,sans-serif;max-width:60em;margin:2em auto;padding:0 1em}"
      "table{border-collapse:collapse}td{padding:.1em 1em .1em 0;vertical-align:top}"
      "summary{cursor:pointer}code{font-size:1em}</style>"
      "<h1>Routes</h1><p>For programs: <a href=\"/openapi.json\">openapi.json</a></p>";
  for (const GetRoute &route : getRoutes())
    page += "<p><code>GET " + std::string(route.path) + "</code> " + escaped(route.what) + "</p>";
  for (const PostRoute &route : postRoutes()) {
    page += "<details><summary><code>POST " + std::string(route.path) + "</code> " +
            escaped(route.what) + "</summary><table>";
    for (const FieldNote &note : fieldsOf(route, at)) {
      page += "<tr><td><code>" + escaped(note.path) + "</code><td>" +
              (note.type == "texts"      ? "text or texts"
               : note.type == "integers" ? "list of integers"
                                         : escaped(note.type)) +
              "<td>";
      if (!note.least.empty())
        page += note.least + " to " + note.most;
      for (const std::string &one : note.allowed)
        page += " <code>" + escaped(one) + "</code>";
      if (note.required)
        page += " required";
    }
    page += "</table></details>";
  }
  responder.send(200, "text/html; charset=utf-8", page + "</html>",
                 {{"Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'"}});
}

} // namespace ingot::api
