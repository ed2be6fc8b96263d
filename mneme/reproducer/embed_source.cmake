# FILES: texts, separated by "|". OUTPUT: the C++ source that defines source_files().
string(REPLACE "|" ";" FILES "${FILES}")
set(constants "")
set(rows "")
set(index 0)
foreach(file IN LISTS FILES)
  file(READ ${file} text)
  get_filename_component(name ${file} NAME)
  get_filename_component(folder ${file} DIRECTORY)
  get_filename_component(folder ${folder} NAME)
  if(NOT folder MATCHES "^(cuda|hip)$")
    set(folder "")
  endif()
  string(APPEND constants "constexpr char kText${index}[] = R\"source(${text})source\";\n")
  string(APPEND rows "    {\"${folder}\", \"${name}\", std::string_view(kText${index}, sizeof kText${index} - 1)},\n")
  math(EXPR index "${index} + 1")
endforeach()
file(WRITE ${OUTPUT} "// Made of the files that it names.
#include \"mneme/reproducer/source_files.h\"

namespace mneme {
namespace {

${constants}
constexpr SourceFile kFiles[] = {
${rows}};

}  // namespace

std::span<const SourceFile> source_files() { return kFiles; }

}  // namespace mneme
")
