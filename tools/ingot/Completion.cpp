//===- Completion.cpp - ingot completion: scripts for shells ---------------===//
//
// Written from the very definitions that are parsed, so that they cannot differ.
//===----------------------------------------------------------------------===//
#include "tools/ingot/Command.h"
#include "tools/ingot/Console.h"

namespace ingot::cli {

namespace {

/// Long options, and short ones without a long name. What the help hides stays hidden.
std::vector<std::string> optionsOf(const Command &command) {
  CLI::App app;
  command.define(app);
  std::vector<std::string> names = {"--help"};
  for (const CLI::Option *option : app.get_options()) {
    const bool hidden = option->get_group().empty();
    if (option->check_lname("help") || option->get_positional() || hidden)
      continue;
    if (!option->get_lnames().empty())
      names.push_back("--" + option->get_lnames().front());
    else
      for (const std::string &name : option->get_snames())
        names.push_back("-" + name);
  }
  return names;
}

std::string joined(const std::vector<std::string> &words) {
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? "" : " ") + word;
  return text;
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
  return text;
}

} // namespace

Action defineCompletion(CLI::App &app) {
  auto shell = std::make_shared<std::string>();
  app.add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  app.footer(
      "\nExamples:\n  ingot completion bash > ~/.local/share/bash-completion/completions/ingot\n");
  return [shell]() -> Result<int> {
    emit(*shell == "bash" ? bash() : *shell == "zsh" ? zsh() : fish());
    return 0;
  };
}

} // namespace ingot::cli
