#include "mneme/cli/completion_scripts.h"

namespace mneme::cli {
namespace {

// bash replaces what stands behind the last = or : of a word, which part words there.
constexpr std::string_view kBash =
    R"sh(# Tab completion of mneme for bash: source it, or put it into bash-completion's folder as "mneme".
_mneme() {
  local line=${COMP_LINE:0:COMP_POINT} word about
  local -a words
  read -ra words <<<"$line"
  if [[ $line == *[[:space:]] ]]; then words+=(""); fi
  local current=${words[-1]}
  local before=${current%"${current##*[:=]}"}
  COMPREPLY=()
  while IFS=$'\t' read -r word about; do
    case $word in
      :files) compopt -o default 2>/dev/null ;;
      :folders) compopt -o dirnames 2>/dev/null ;;
      *)
        printf -v word %q "${word#"$before"}"
        COMPREPLY+=("$word")
        ;;
    esac
  done < <(mneme complete -- "${words[@]:1}" 2>/dev/null)
  if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then compopt -o nospace 2>/dev/null; fi
}
complete -F _mneme mneme
)sh";

constexpr std::string_view kZsh = R"sh(#compdef mneme
# Tab completion of mneme for zsh: a file _mneme in a folder of $fpath.
_mneme() {
  local word about paths
  local -a found line
  line=("${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}")
  while IFS=$'\t' read -r word about; do
    case $word in
      (:files|:folders) paths=$word ;;
      (*) found+=("${word//:/\\:}:$about") ;;
    esac
  done < <(mneme complete -- "${line[@]}" 2>/dev/null)
  local result=1
  if (( $#found )); then _describe -t words 'mneme' found && result=0; fi
  if [[ $paths == :files ]]; then _files && result=0; fi
  if [[ $paths == :folders ]]; then _files -/ && result=0; fi
  return result
}
if [[ $funcstack[1] == _mneme ]]; then _mneme "$@"; else compdef _mneme mneme; fi
)sh";

constexpr std::string_view kFish = R"sh(# Tab completion of mneme for fish: a file mneme.fish in a folder of $fish_complete_path.
function __mneme_complete
  set -l line (commandline -opc)
  set -l current (commandline -ct)
  for candidate in (mneme complete -- $line[2..-1] "$current" 2>/dev/null)
    switch $candidate
      case ':files'
        __fish_complete_path "$current"
      case ':folders'
        __fish_complete_directories "$current"
      case '*'
        printf '%s\n' $candidate
    end
  end
end
complete -c mneme -f -a '(__mneme_complete)'
)sh";

}  // namespace

const std::vector<CompletionScript>& completion_scripts() {
  static const std::vector<CompletionScript> scripts = {{"bash", "bash-completion/completions/mneme", kBash},
                                                        {"zsh", "zsh/site-functions/_mneme", kZsh},
                                                        {"fish", "fish/vendor_completions.d/mneme.fish", kFish}};
  return scripts;
}

}  // namespace mneme::cli
