#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/Attributes.h>
#include <llvm/Support/SourceMgr.h>

#include "mneme/ir/diagnostics.h"
#include "mneme/ir/global.h"
#include "mneme/ir/handle_access.h"

namespace mneme::ir {
namespace {

struct Holder {
  llvm::Function* function = nullptr;
  llvm::CallBase* call = nullptr;
  llvm::AttributeList list;
  unsigned index = 0;

  void set(llvm::AttributeList changed) const {
    if (function)
      function->setAttributes(changed);
    else
      call->setAttributes(changed);
  }
};

unsigned index_of(const AttributePlace& place) {
  switch (place.of) {
    case AttributePlace::Of::function: return llvm::AttributeList::FunctionIndex;
    case AttributePlace::Of::result: return llvm::AttributeList::ReturnIndex;
    case AttributePlace::Of::argument: return llvm::AttributeList::FirstArgIndex + place.argument;
  }
  return 0;
}

Result<Holder> hold(const ValueRef& ref, const AttributePlace& place) {
  MNEME_ASSIGN(llvm::Value * value, get_value(ref));
  Holder holder;
  holder.function = llvm::dyn_cast<llvm::Function>(value);
  holder.call = llvm::dyn_cast<llvm::CallBase>(value);
  if (!holder.function && !holder.call) return wrong_kind(*value, "a function or a call");
  const size_t count = holder.function ? holder.function->arg_size() : holder.call->arg_size();
  if (place.of == AttributePlace::Of::argument && place.argument >= count)
    return error(Code::invalid_argument, "{} has {} arguments, none of number {}", describe(*value), count, place.argument);
  holder.list = holder.function ? holder.function->getAttributes() : holder.call->getAttributes();
  holder.index = index_of(place);
  return holder;
}

// A declaration that has it there: LLVM's own parser says what can be where.
std::string declaration_with(const AttributePlace& place, const std::string& text) {
  switch (place.of) {
    case AttributePlace::Of::function: return "declare void @f() " + text;
    case AttributePlace::Of::result: return "declare " + text + " ptr @f()";
    case AttributePlace::Of::argument: return "declare void @f(ptr " + text + ")";
  }
  return "";
}

}  // namespace

Result<std::vector<AttributeInfo>> attributes(const ValueRef& ref, const AttributePlace& place) {
  MNEME_ASSIGN(const Holder holder, hold(ref, place));
  std::vector<AttributeInfo> all;
  for (llvm::Attribute attribute : holder.list.getAttributes(holder.index)) {
    AttributeInfo info;
    info.text = attribute.getAsString();
    info.is_string = attribute.isStringAttribute();
    if (info.is_string) {
      info.name = attribute.getKindAsString().str();
      info.value = attribute.getValueAsString().str();
    } else {
      info.name = llvm::Attribute::getNameFromAttrKind(attribute.getKindAsEnum()).str();
      llvm::StringRef rest = info.text;
      if (rest.consume_front(info.name)) {
        rest = rest.trim(" =");
        if (rest.starts_with("(") && rest.ends_with(")")) rest = rest.drop_front().drop_back();
        info.value = rest.str();
      }
    }
    all.push_back(std::move(info));
  }
  return all;
}

Status add_attribute(const ValueRef& ref, const AttributePlace& place, const std::string& text) {
  MNEME_TRY(edit(ref).status());
  MNEME_TRY(check_nesting(text));
  MNEME_ASSIGN(const Holder holder, hold(ref, place));
  llvm::LLVMContext& context = state_of(ref)->context();
  DiagnosticCollector diagnostics(context);
  llvm::SMDiagnostic diagnostic;
  AttributePlace alone = place;
  alone.argument = 0;
  const auto parsed = llvm::parseAssemblyString(declaration_with(place, text), diagnostic, context);
  const llvm::Function* function = parsed ? parsed->getFunction("f") : nullptr;
  const llvm::AttributeSet added = function ? function->getAttributes().getAttributes(index_of(alone)) : llvm::AttributeSet();
  if (!added.hasAttributes()) {
    const char* where = place.of == AttributePlace::Of::function ? "a function"
                        : place.of == AttributePlace::Of::result ? "a result"
                                                                 : "an argument";
    return error(Code::invalid_argument, "'{}' is no attribute of {}{}{}", text, where, parsed ? "" : ": ",
                 parsed ? "" : diagnostic.getMessage().str());
  }
  const llvm::AttrBuilder builder(context, added);
  llvm::AttributeList list = holder.list;
  for (llvm::Attribute attribute : added)
    list = attribute.isStringAttribute() ? list.removeAttributeAtIndex(context, holder.index, attribute.getKindAsString())
                                         : list.removeAttributeAtIndex(context, holder.index, attribute.getKindAsEnum());
  holder.set(place.of == AttributePlace::Of::function ? list.addFnAttributes(context, builder)
             : place.of == AttributePlace::Of::result ? list.addRetAttributes(context, builder)
                                                      : list.addParamAttributes(context, place.argument, builder));
  return {};
}

Status add_string_attribute(const ValueRef& ref, const AttributePlace& place, const std::string& key, const std::string& value) {
  MNEME_TRY(edit(ref).status());
  MNEME_ASSIGN(const Holder holder, hold(ref, place));
  if (key.empty() || key.find('\0') != std::string::npos || value.find('\0') != std::string::npos)
    return error(Code::invalid_argument, "a string attribute has a name, and no NUL in it or in its value");
  llvm::LLVMContext& context = state_of(ref)->context();
  holder.set(holder.list.removeAttributeAtIndex(context, holder.index, key)
                 .addAttributeAtIndex(context, holder.index, llvm::Attribute::get(context, key, value)));
  return {};
}

Result<bool> remove_attribute(const ValueRef& ref, const AttributePlace& place, const std::string& name) {
  MNEME_TRY(edit(ref).status());
  MNEME_ASSIGN(const Holder holder, hold(ref, place));
  llvm::LLVMContext& context = state_of(ref)->context();
  llvm::AttributeList list = holder.list.removeAttributeAtIndex(context, holder.index, name);
  if (const auto kind = llvm::Attribute::getAttrKindFromName(name); kind != llvm::Attribute::None)
    list = list.removeAttributeAtIndex(context, holder.index, kind);
  const bool changed = list != holder.list;
  holder.set(list);
  return changed;
}

}  // namespace mneme::ir
