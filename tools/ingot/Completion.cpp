//===- Completion.cpp - ingot completion: scripts for shells ---------------===//
//
// The scripts are generated from the definitions that the parser uses, so the two cannot differ.
//===----------------------------------------------------------------------===//
#include "runtime/error/Codes.h"
#include "tools/ingot/command/Command.h"
#include "tools/terminal/Console.h"

namespace ingot::cli {

namespace {

std::vector<std::string> optionsOf(const Command &command) {
  CommandLine line;
  command.define(line);
  return line.optionNames();
}

std::string joined(const std::vector<std::string> &words) {
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? "" : " ") + word;
  return text;
}

/// Returns the error codes, which `ingot explain` takes besides models.
std::string codes() {
  std::vector<std::string> words;
  for (const errors::Entry &entry : errors::all())
    words.emplace_back(entry.code);
  return joined(words);
}

std::string bash() {
  std::string names, cases;
  for (const Command &command : commands()) {
    names += std::string(names.empty() ? "" : " ") + command.name;
    cases +=
        std::string("    ") + command.name + ") words=\"" + joined(optionsOf(command)) + "\" ;;\n";
  }
  return "# ingot for bash: ingot completion bash > "
         "~/.local/share/bash-completion/completions/ingot\n"
         "_ingot() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} words=\n"
         "  if [ \"$COMP_CWORD\" = 1 ]; then\n"
         "    COMPREPLY=($(compgen -W \"" +
         names +
         " --help --version\" -- \"$current\")); return\n"
         "  fi\n"
         "  case ${COMP_WORDS[1]} in\n" +
         cases +
         "  esac\n"
         "  if [[ $current == -* ]]; then COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "  elif [[ ${COMP_WORDS[1]} == explain && $current == E* ]]; then\n"
         "    COMPREPLY=($(compgen -f -W \"" +
         codes() +
         "\" -- \"$current\"))\n"
         "  else COMPREPLY=($(compgen -f -- \"$current\")); fi\n"
         "}\n"
         "complete -o filenames -F _ingot ingot\n";
}

std::string zsh() {
  std::string names, cases;
  for (const Command &command : commands()) {
    names += std::string("    '") + command.name + ":" + command.summary + "'\n";
    cases +=
        std::string("    ") + command.name + ") compadd -- " + joined(optionsOf(command)) + " ;;\n";
  }
  return "#compdef ingot\n"
         "# ingot for zsh: ingot completion zsh > a folder of $fpath, named _ingot\n"
         "_ingot() {\n"
         "  local -a names\n  names=(\n" +
         names +
         "  )\n"
         "  if (( CURRENT == 2 )); then _describe command names; return; fi\n"
         "  if [[ ${words[2]} == explain && ${words[CURRENT]} == E* ]]; then compadd -- " +
         codes() +
         "; fi\n"
         "  if [[ ${words[CURRENT]} != -* ]]; then _files; return; fi\n"
         "  case ${words[2]} in\n" +
         cases +
         "  esac\n"
         "}\n"
         "if [ \"$funcstack[1]\" = _ingot ]; then _ingot \"$@\"; else compdef _ingot ingot; fi\n";
}

std::string fish() {
  std::string text =
      "# ingot for fish: ingot completion fish > ~/.config/fish/completions/ingot.fish\n";
  for (const Command &command : commands()) {
    text += std::string("complete -c ingot -n __fish_use_subcommand -a ") + command.name + " -d '" +
            command.summary + "'\n";
    for (const std::string &option : optionsOf(command))
      text +=
          std::string("complete -c ingot -n '__fish_seen_subcommand_from ") + command.name + "' " +
          (option.rfind("--", 0) == 0 ? "-l " + option.substr(2) : "-s " + option.substr(1)) + "\n";
  }
  return text + "complete -c ingot -n '__fish_seen_subcommand_from explain; and string match -q " +
         "\"E*\" -- (commandline -ct)' -a '" + codes() + "'\n";
}

} // namespace

Action defineCompletion(CommandLine &command) {
  auto shell = std::make_shared<std::string>();
  command.option("SHELL", *shell, "bash, zsh or fish").required().oneOf({"bash", "zsh", "fish"});
  command.examples("  ingot completion bash > ~/.local/share/bash-completion/completions/ingot\n");
  return [shell]() -> Result<int> {
    emit(*shell == "bash" ? bash() : *shell == "zsh" ? zsh() : fish());
    return 0;
  };
}

} // namespace ingot::cli
