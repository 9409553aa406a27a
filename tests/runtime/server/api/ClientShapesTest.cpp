//===- ClientShapesTest.cpp - Requests and responses that clients rely on ---===//
//
// Covers empty fields, parts of earlier answers, tools that this server does not run, and error texts.
//===----------------------------------------------------------------------===//
#include "tests/runtime/server/api/ApiTest.h"

using namespace ingot;
using namespace ingot::test;

namespace {

/// Prints the fields of each message.
constexpr const char *kShapesTemplate =
    "{%- for m in messages -%}({{ m.role }}:"
    "{{ 'NONE' if m.content is none else m.content }}"
    "{%- for k in ['tool_calls', 'name', 'tool_call_id', 'reasoning_content'] -%}"
    "{%- if k in m -%}|{{ k }}={{ m[k] | tojson }}{%- endif -%}{%- endfor -%})"
    "{%- endfor -%}{%- if tools -%}T{{ tools | tojson }}{%- endif -%}";

class ClientShapes : public ApiTest {
protected:
  void SetUp() override {
    ApiTest::SetUp();
    serve({}, kShapesTemplate);
  }
  std::string prompt(const std::string &messages, const std::string &more = "") {
    return at(ask("/apply-template", "{\"messages\":[" + messages + "]" + more + "}"), "/prompt");
  }
  /// Returns the prompt's length for a route whose answer does not show the prompt.
  std::string counted(const std::string &path, const std::string &body) {
    return at(ask(path, body), "/input_tokens");
  }
  static std::string user(const std::string &content) {
    return R"({"role":"user","content":)" + content + "}";
  }
  std::string message(const std::string &path, const std::string &body) {
    return at(ask(path, body, 400), "/error/message");
  }
};

} // namespace

TEST_F(ClientShapes, EmptyFieldsAreNotThere) {
  EXPECT_EQ(
      prompt(
          R"({"role":"assistant","content":"Four","tool_calls":[],"name":"","function_call":null,)"
          R"("reasoning_content":"","refusal":null,"audio":null},)" +
          user("\"hi\"")),
      "(assistant:Four)(user:hi)");
  EXPECT_EQ(
      prompt(user("\"hi\"") + R"(,{"role":"tool","content":"x","tool_call_id":"","name":null})"),
      "(user:hi)(tool:x)");
  EXPECT_EQ(
      prompt(user(
          R"([{"type":"text","text":"a"},{"type":"text","text":""},{"type":"text","text":null}])")),
      "(user:a)");
  EXPECT_EQ(
      prompt(user("\"a\""), R"(,"tools":[],"tool_choice":null,"documents":[],"chat_template":"")"),
      "(user:a)");
  // A call without arguments gets an empty object. A message without text has the content none, as in transformers.
  EXPECT_EQ(
      prompt(R"({"role":"assistant","content":null,"tool_calls":[{"id":"","type":"function",)"
             R"("function":{"name":"f","arguments":""}}]},)" +
             user("\"hi\"")),
      R"x((assistant:NONE|tool_calls=[{"type": "function", "function": {"name": "f", "arguments": {}}}])(user:hi))x");
  EXPECT_EQ(
      prompt(
          user("\"a\""),
          R"(,"tools":[{"type":"function","strict":null,"function":{"name":"f","description":"",)"
          R"("strict":null,"parameters":{"type":"object","default":null}}}])"),
      R"((user:a)T[{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "default": null}}}])");
}

TEST_F(ClientShapes, NeutralValuesAskForNothing) {
  const std::string chat = "{\"messages\":[" + user("\"a\"") + "],\"max_tokens\":1,";
  for (const char *fields :
       {R"("top_logprobs":0,"logprobs":false)", R"("top_logprobs":0)", R"("stream_options":{})",
        R"("stream_options":{"include_usage":false})", R"("response_format":{})",
        R"("guided_regex":"","guided_grammar":"","grammar":"","guided_choice":[])",
        R"("functions":[],"function_call":"none","modalities":[])", R"("best_of":2,"n":2)",
        R"("repeat_penalty":1.0,"repetition_penalty":1.2)", R"("tool_choice":"none")"})
    ask("/v1/chat/completions", chat + fields + "}");
  ask("/v1/completions", R"({"prompt":"a","max_tokens":1,"suffix":"","logprobs":false})");
  ask("/v1/responses",
      R"({"input":"a","previous_response_id":"","text":{"format":{}},"instructions":""})");
  ask("/api/generate", R"({"prompt":"a","suffix":"","system":"","stream":false})");
  EXPECT_EQ(message("/v1/chat/completions", chat + R"("top_logprobs":1})"),
            "top_logprobs: needs logprobs to be true");
}

TEST_F(ClientShapes, EarlierAnswersComeBack) {
  const std::string hi = "," + user("\"hi\"");
  EXPECT_EQ(prompt(R"({"role":"assistant","content":[{"type":"refusal","refusal":"No."}]})" + hi),
            "(assistant:No.)(user:hi)");
  EXPECT_EQ(prompt(R"({"role":"assistant","content":null,"refusal":"No."})" + hi),
            "(assistant:No.)(user:hi)");
  EXPECT_EQ(prompt(R"({"role":"assistant","content":[{"type":"thinking","thinking":"hm"},)"
                   R"({"type":"output_text","text":"a","annotations":[]},)"
                   R"({"type":"redacted_thinking","data":"x"}]})" +
                   hi),
            R"x((assistant:a|reasoning_content="hm")(user:hi))x");
  EXPECT_EQ(prompt(R"({"role":"assistant","content":"a","reasoning":"hm"})" + hi),
            R"x((assistant:a|reasoning_content="hm")(user:hi))x");
  EXPECT_EQ(
      prompt(R"({"role":"assistant","content":"","function_call":{"name":"f","arguments":"{}"}},)"
             R"({"role":"function","name":"f","content":"1"})" +
             hi),
      R"x((assistant:|tool_calls=[{"type": "function", "function": {"name": "f", "arguments": {}}}])(tool:1|name="f")(user:hi))x");
  EXPECT_EQ(
      prompt(user(
          R"([{"type":"document","source":{"type":"text","media_type":"text/plain","data":"d"}},)"
          R"({"type":"search_result","title":"t","source":"s","content":[{"type":"text","text":"c"}]}])")),
      "(user:d\nt\nc)");
  // All items of a response are accepted as input. (This vocabulary has no line feed.)
  EXPECT_EQ(
      counted(
          "/v1/responses/input_tokens",
          R"({"input":[{"type":"message","role":"user","content":"a"},)"
          R"({"type":"reasoning","id":"rs_1","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]},)"
          R"({"type":"web_search_call","id":"ws_1","status":"completed"},)"
          R"({"type":"message","role":"assistant","content":[{"type":"output_text","text":"b",)"
          R"("annotations":[],"logprobs":[]},{"type":"refusal","refusal":"c"}]}]})"),
      std::to_string(std::string("(user:a)(assistant:bc)").size()));
  EXPECT_EQ(
      counted(
          "/v1/messages/count_tokens",
          R"({"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[)"
          R"({"type":"redacted_thinking","data":"x"},{"type":"server_tool_use","id":"s","name":"web_search","input":{}},)"
          R"({"type":"web_search_tool_result","tool_use_id":"s","content":[]},)"
          R"({"type":"text","text":"b","citations":[]}]},{"role":"user","content":[)"
          R"({"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"c"},)"
          R"({"type":"document","source":{"type":"content","content":"d"}}]}]}]})"),
      std::to_string(std::string(R"((user:a)(assistant:b)(tool:cd|tool_call_id="t"))").size()));
  for (const char *part : {R"({"type":"image_url","image_url":{"url":"data:"}})",
                           R"({"type":"document","source":{"type":"base64","data":"x"}})"})
    EXPECT_NE(message("/v1/chat/completions",
                      "{\"messages\":[" + user(std::string("[") + part + "]") + "]}")
                  .find("only text documents"),
              message("/v1/chat/completions",
                      "{\"messages\":[" + user(std::string("[") + part + "]") + "]}")
                  .find("accepts only text, no"));
}

TEST_F(ClientShapes, ToolsThatRunElsewhereAreLeftOut) {
  const std::string f = R"({"type":"function","name":"f","parameters":{"type":"object"}})";
  for (const char *type : {"web_search", "web_search_preview", "custom", "namespace", "mcp",
                           "local_shell", "code_interpreter", "tool_of_tomorrow"}) {
    const std::string other = std::string(R"({"type":")") + type + R"(","name":"o"})";
    EXPECT_EQ(
        counted("/v1/responses/input_tokens", R"({"input":"a","tools":[)" + f + "," + other + "]}"),
        counted("/v1/responses/input_tokens", R"({"input":"a","tools":[)" + f + "]}"))
        << type;
    EXPECT_EQ(at(ask("/v1/responses",
                     R"({"input":"a","tools":[)" + other + R"(],"tool_choice":{"type":")" + type +
                         R"("}})",
                     400),
                 "/error/param"),
              "tool_choice.type");
  }
  EXPECT_EQ(prompt(user("\"a\""), R"(,"tools":[{"type":"custom","custom":{"name":"o"}}])"),
            "(user:a)");
  const std::string own = R"({"name":"f","input_schema":{"type":"object"}})";
  const std::string search = R"({"type":"web_search_20250305","name":"web_search","max_uses":5})";
  const std::string messages =
      R"({"max_tokens":1,"messages":[{"role":"user","content":"a"}],"tools":[)";
  EXPECT_EQ(counted("/v1/messages/count_tokens", messages + own + "," + search + "]}"),
            counted("/v1/messages/count_tokens", messages + own + "]}"));
  EXPECT_NE(message("/v1/messages", messages + own + "," + search +
                                        R"(],"tool_choice":{"type":"tool","name":"web_search"}})")
                .find("tool_choice.name"),
            std::string::npos);
  // Codex sends this request to check that a server is reachable.
  EXPECT_EQ(at(ask("/v1/responses", R"({"input":[],"max_output_tokens":1})"), "/object"),
            "response");
}

TEST_F(ClientShapes, AnswersThatHaveBegun) {
  const std::string begun = user("\"a\"") + R"(,{"role":"assistant","content":"Whill"})";
  // On the routes of llama.cpp, Anthropic and Ollama the answer continues from that message.
  EXPECT_EQ(prompt(begun), "(user:a)(assistant:Whill");
  EXPECT_EQ(prompt(begun, R"(,"continue_final_message":false)"), "(user:a)(assistant:Whill)");
  EXPECT_EQ(at(ask("/chat/completions", "{\"messages\":[" + begun + "],\"max_tokens\":1}"),
               "/usage/prompt_tokens"),
            "24");
  EXPECT_EQ(at(ask("/v1/chat/completions", "{\"messages\":[" + begun + "],\"max_tokens\":1}"),
               "/usage/prompt_tokens"),
            "25");
  EXPECT_EQ(counted("/v1/messages/count_tokens", "{\"messages\":[" + begun + "]}"), "24");
  EXPECT_EQ(at(ask("/api/chat", "{\"stream\":false,\"messages\":[" + begun +
                                    "],\"options\":{\"num_predict\":1}}"),
               "/prompt_eval_count"),
            "24");
  EXPECT_EQ(message("/v1/chat/completions",
                    "{\"messages\":[" + begun +
                        R"(],"add_generation_prompt":true,"continue_final_message":true})"),
            "continue_final_message: cannot be given together with add_generation_prompt");
}

TEST_F(ClientShapes, WhatIsTooLongIsToldInEachApisWords) {
  const std::string text(3000, 'a');
  const std::string messages =
      R"("messages":[{"role":"user","content":")" + text + R"("}],"max_tokens":5)";
  const auto openAi = ask("/v1/chat/completions", "{" + messages + "}", 400);
  EXPECT_EQ(at(openAi, "/error/code"), "context_length_exceeded");
  EXPECT_EQ(at(openAi, "/error/type"), "invalid_request_error");
  EXPECT_EQ(at(openAi, "/error/n_prompt_tokens"), "3007");
  EXPECT_EQ(at(openAi, "/error/n_ctx"), "2048");
  EXPECT_NE(at(openAi, "/error/message")
                .find("This model's maximum context length is 2048 tokens. However, you requested "
                      "3012 tokens (3007 in the messages, 5 in the completion)"),
            std::string::npos);
  ask("/v1/chat/completions", "{\"stream\":true," + messages + "}", 400);
  EXPECT_EQ(at(ask("/v1/responses", R"({"input":")" + text + R"("})", 400), "/error/code"),
            "context_length_exceeded");
  EXPECT_EQ(message("/v1/messages", "{" + messages + "}"),
            "prompt is too long: 3007 tokens > 2048 maximum");
  EXPECT_EQ(
      message("/v1/messages", R"({"max_tokens":5000,"messages":[{"role":"user","content":"a"}]})"),
      "input length and `max_tokens` exceed context limit: 8 + 5000 > 2048, decrease input "
      "length or `max_tokens` and try again");
  EXPECT_NE(at(ask("/api/chat", "{" + messages + "}", 400), "/error")
                .find("the input length exceeds the context length"),
            std::string::npos);
  for (const std::string &path : {std::string("/chat/completions"), std::string("/completion")}) {
    const auto llama = ask(path, R"({"prompt":")" + text + R"(",)" + messages + "}", 400);
    EXPECT_EQ(at(llama, "/error/type"), "exceed_context_size_error");
    EXPECT_NE(at(llama, "/error/message").find("exceeds the available context size"),
              std::string::npos);
    EXPECT_EQ(at(llama, "/error/n_ctx"), "2048");
  }
}

TEST_F(ClientShapes, EachApisVersionAtItsOwnRoute) {
  EXPECT_EQ(at(ask("/api/version", ""), "/version"), "0.14.0");
  EXPECT_EQ(at(ask("/version", ""), "/version"), "");
}
