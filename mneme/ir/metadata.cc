#include "mneme/ir/metadata.h"

#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/DebugLoc.h>
#include <llvm/Support/raw_ostream.h>

#include "mneme/ir/handle_access.h"

namespace mneme::ir {
namespace {

std::string class_of(const llvm::Metadata& metadata) {
  switch (metadata.getMetadataID()) {
    case llvm::Metadata::MDStringKind: return "string";
    case llvm::Metadata::MDTupleKind: return "tuple";
    case llvm::Metadata::ConstantAsMetadataKind:
    case llvm::Metadata::LocalAsMetadataKind: return "value";
#define HANDLE_SPECIALIZED_MDNODE_LEAF(CLASS) \
  case llvm::Metadata::CLASS##Kind: return #CLASS;
#include <llvm/IR/Metadata.def>
    default: return "other";
  }
}

SourceLocation location_of(const llvm::DILocation& location) {
  SourceLocation found;
  found.line = location.getLine();
  found.column = location.getColumn();
  if (const llvm::DILocalScope* scope = location.getScope()) {
    found.file = scope->getFilename().str();
    found.directory = scope->getDirectory().str();
    if (const llvm::DISubprogram* subprogram = scope->getSubprogram()) found.function = subprogram->getName().str();
  }
  return found;
}

std::vector<std::string> kind_names(const llvm::LLVMContext& context) {
  llvm::SmallVector<llvm::StringRef> names;
  context.getMDKindNames(names);
  return {names.begin(), names.end()};
}

}  // namespace

Result<MetadataInfo> metadata_info(const MetadataRef& ref) {
  MNEME_ASSIGN(llvm::Metadata * metadata, get(ref));
  MetadataInfo info{.kind = class_of(*metadata), .text = ""};
  if (auto* string = llvm::dyn_cast<llvm::MDString>(metadata)) {
    info.text = string->getString().str();
  } else {
    llvm::raw_string_ostream stream(info.text);
    metadata->print(stream, &state_of(ref)->llvm());
    // Before a node stands its number, or its address where it has none.
    if (const size_t at = info.text.find(" = "); llvm::isa<llvm::MDNode>(metadata) && at != std::string::npos)
      info.text.erase(0, at + 3);
  }
  return info;
}

Result<std::vector<std::optional<MetadataRef>>> metadata_operands(const MetadataRef& ref) {
  MNEME_ASSIGN(llvm::Metadata * metadata, get(ref));
  std::vector<std::optional<MetadataRef>> all;
  if (auto* node = llvm::dyn_cast<llvm::MDNode>(metadata))
    for (const llvm::MDOperand& operand : node->operands())
      all.push_back(operand ? std::optional(refer(state_of(ref), operand.get())) : std::nullopt);
  return all;
}

Result<ValueRef> metadata_as_value(const MetadataRef& ref) {
  MNEME_ASSIGN(llvm::Metadata * metadata, get(ref));
  if (auto* value = llvm::dyn_cast<llvm::ValueAsMetadata>(metadata)) return refer(state_of(ref), value->getValue());
  return error(Code::invalid_argument, "metadata of kind {} is no value", class_of(*metadata));
}

Result<std::vector<std::pair<std::string, MetadataRef>>> attached_metadata(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::Value * value, get_value(ref));
  llvm::SmallVector<std::pair<unsigned, llvm::MDNode*>> nodes;
  if (auto* instruction = llvm::dyn_cast<llvm::Instruction>(value))
    instruction->getAllMetadata(nodes);
  else if (auto* object = llvm::dyn_cast<llvm::GlobalObject>(value))
    object->getAllMetadata(nodes);
  else
    return wrong_kind(*value, "an instruction, a function or a global variable");
  const std::vector<std::string> names = kind_names(value->getContext());
  std::vector<std::pair<std::string, MetadataRef>> all;
  for (auto [kind, node] : nodes) all.emplace_back(names[kind], refer(state_of(ref), static_cast<llvm::Metadata*>(node)));
  return all;
}

Status set_metadata(const ValueRef& ref, const std::string& kind, const std::optional<MetadataRef>& given) {
  MNEME_ASSIGN(llvm::Value * value, edit(ref));
  const auto refused = [&](std::string_view why) {
    return error(Code::invalid_argument, "attaching metadata '{}' to {}: {}", kind, describe(*value), why);
  };
  if (kind.empty()) return refused("it has a name");
  llvm::MDNode* node = nullptr;
  if (given) {
    MNEME_ASSIGN(llvm::Metadata * metadata, get_of(state_of(ref), *given));
    node = llvm::dyn_cast<llvm::MDNode>(metadata);
    if (!node) return refused("what is attached is a node; put it into one");
    if (llvm::isa<llvm::DIExpression>(node)) return refused("an expression is not attached to anything");
  }
  auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  auto* object = llvm::dyn_cast<llvm::GlobalObject>(value);
  if (!instruction && !object) return wrong_kind(*value, "an instruction, a function or a global variable");
  if (instruction) {
    if (kind == "dbg" && node && !llvm::isa<llvm::DILocation>(node)) return refused("it is no debug location");
    if (kind == "DIAssignID") return refused("that is LLVM's own");
    instruction->setMetadata(kind, node);
  } else {
    if (kind == "dbg" && node) {
      const bool fits = llvm::isa<llvm::Function>(object) ? llvm::isa<llvm::DISubprogram>(node)
                                                          : llvm::isa<llvm::DIGlobalVariableExpression>(node);
      if (!fits) return refused("it is no debug information of such a thing");
    }
    object->setMetadata(kind, node);
  }
  return {};
}

Result<std::vector<SourceLocation>> debug_location(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::Instruction * instruction, get<llvm::Instruction>(ref));
  std::vector<SourceLocation> all;
  for (const llvm::DILocation* location = instruction->getDebugLoc().get(); location; location = location->getInlinedAt())
    all.push_back(location_of(*location));
  return all;
}

Result<std::optional<SourceLocation>> debug_location_of_function(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::Function * function, get<llvm::Function>(ref));
  const llvm::DISubprogram* subprogram = function->getSubprogram();
  if (!subprogram) return std::optional<SourceLocation>();
  return std::optional(SourceLocation{.line = subprogram->getLine(),
                                      .column = 0,
                                      .file = subprogram->getFilename().str(),
                                      .directory = subprogram->getDirectory().str(),
                                      .function = subprogram->getName().str()});
}

Status set_debug_location(const ValueRef& ref, unsigned line, unsigned column) {
  MNEME_ASSIGN(llvm::Instruction * instruction, edit<llvm::Instruction>(ref));
  llvm::DISubprogram* subprogram = instruction->getFunction()->getSubprogram();
  if (!subprogram)
    return error(Code::invalid_argument, "giving {} a source line: its function '{}' has no debug information",
                 describe(*instruction), instruction->getFunction()->getName().str());
  instruction->setDebugLoc(llvm::DILocation::get(instruction->getContext(), line, column, subprogram));
  return {};
}

Status copy_debug_location(const ValueRef& ref, const ValueRef& from_ref) {
  MNEME_ASSIGN(llvm::Instruction * instruction, edit<llvm::Instruction>(ref));
  MNEME_TRY(get_of(state_of(ref), from_ref).status());
  MNEME_ASSIGN(llvm::Instruction * from, get<llvm::Instruction>(from_ref));
  if (instruction->getFunction() != from->getFunction())
    return error(Code::invalid_argument, "{} cannot have the source line of {}: that is in function '{}'", describe(*instruction),
                 describe(*from), from->getFunction()->getName().str());
  instruction->setDebugLoc(from->getDebugLoc());
  return {};
}

Status remove_debug_location(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::Instruction * instruction, edit<llvm::Instruction>(ref));
  instruction->setDebugLoc(llvm::DebugLoc());
  return {};
}

}  // namespace mneme::ir
