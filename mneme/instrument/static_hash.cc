#include "mneme/instrument/static_hash.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>
#include <llvm/Support/Endian.h>
#include <llvm/Support/xxhash.h>

#include <map>

#include "mneme/instrument/names.h"
#include "mneme/instrument/state_globals.h"

namespace mneme::instrument {
namespace {

using namespace llvm;

// A byte string in which every piece carries its kind and length, so that different structures never read the same.
class Form {
 public:
  void put(uint64_t value) {
    uint8_t bytes[8];
    support::endian::write64le(bytes, value);
    bytes_.append(bytes, bytes + 8);
  }
  void put(StringRef text) {
    put(uint64_t{text.size()});
    bytes_.append(text.bytes_begin(), text.bytes_end());
  }
  void put(const char* text) { put(StringRef(text)); }
  void put(const APInt& value) {
    put(uint64_t{value.getBitWidth()});
    for (unsigned i = 0; i < value.getNumWords(); ++i) put(value.getRawData()[i]);
  }
  ArrayRef<uint8_t> bytes() const { return bytes_; }

 private:
  SmallVector<uint8_t, 0> bytes_;
};

// A type's structure; struct names are left out, so types of equal structure are equal.
class TypeForms {
 public:
  uint64_t of(Type* type) {
    if (auto found = known_.find(type); found != known_.end()) return found->second;
    Form form;
    form.put(uint64_t{type->getTypeID()});
    if (auto* integer = dyn_cast<IntegerType>(type)) form.put(uint64_t{integer->getBitWidth()});
    if (auto* pointer = dyn_cast<PointerType>(type)) form.put(uint64_t{pointer->getAddressSpace()});
    if (auto* array = dyn_cast<ArrayType>(type)) form.put(array->getNumElements());
    if (auto* vector = dyn_cast<VectorType>(type)) form.put(uint64_t{vector->getElementCount().getKnownMinValue()});
    if (auto* structure = dyn_cast<StructType>(type))
      form.put(uint64_t{structure->isPacked()} | uint64_t{structure->isOpaque()} << 1);
    if (auto* function = dyn_cast<FunctionType>(type)) form.put(uint64_t{function->isVarArg()});
    if (auto* extension = dyn_cast<TargetExtType>(type)) {
      form.put(extension->getName());
      for (unsigned parameter : extension->int_params()) form.put(uint64_t{parameter});
    }
    form.put(uint64_t{type->getNumContainedTypes()});
    for (Type* contained : type->subtypes()) form.put(of(contained));
    return known_[type] = xxh3_64bits(form.bytes());
  }

 private:
  DenseMap<Type*, uint64_t> known_;
};

// Where in the source something stands: of inline assembly, of an allocation's type.
bool is_of_the_source(StringRef metadata_kind) {
  return metadata_kind == "dbg" || metadata_kind == "srcloc" || metadata_kind == "heapallocsite" || metadata_kind == "DIAssignID";
}

// Metadata whose strings are names of types and variables.
bool has_names(StringRef metadata_kind) {
  return metadata_kind.starts_with("tbaa") || metadata_kind == "alias.scope" || metadata_kind == "noalias";
}

// Module flags that say how the file was compiled and not what its code may become.
bool is_of_the_compilation(StringRef module_flag) {
  return module_flag == "Debug Info Version" || module_flag == "Dwarf Version" || module_flag == "SDK Version";
}

bool is_debug_info(const Metadata* metadata) { return isa_and_nonnull<MDNode>(metadata) && !isa<MDTuple>(metadata); }

// A loop's node names itself and, with debug information, where the loop stands; the rest are its properties.
bool has_properties(const MDNode& loop) {
  return any_of(drop_begin(loop.operands()), [](const MDOperand& operand) { return !is_debug_info(operand.get()); });
}

// Parameters of the functions behind assert() that say where it stands: file, line and function.
bool is_assertion_place(const CallBase& call, unsigned argument) {
  const Function* callee = call.getCalledFunction();
  if (!callee || argument < 1 || argument > 3) return false;
  StringRef name = callee->getName();
  return name == "__assertfail" || name == "__assert_fail" || name == "_ZL13__assert_failPKcS0_jS0_";
}

class CanonicalForm {
 public:
  StaticHash hash(const GlobalValue& root) {
    form_.put(Triple(root.getParent()->getTargetTriple()).getArchName());
    form_.put(canonical_name(root.getName()));
    write_module_flags(*root.getParent());
    number_of(root);
    for (size_t i = 0; i < reached_.size(); ++i) write_global(*reached_[i]);  // grows while it is walked
    XXH128_hash_t hash = xxh3_128bits(form_.bytes());
    StaticHash digest;
    support::endian::write64be(digest.data(), hash.high64);
    support::endian::write64be(digest.data() + 8, hash.low64);
    return digest;
  }

 private:
  uint64_t number_of(const GlobalValue& value) {
    reached_.insert(&value);
    auto [at, inserted] = numbers_.try_emplace(&value, numbers_.size());
    return at->second;
  }

  void write_module_flags(const Module& module) {
    SmallVector<Module::ModuleFlagEntry, 8> flags;
    module.getModuleFlagsMetadata(flags);
    sort(flags, [](const auto& a, const auto& b) { return a.Key->getString() < b.Key->getString(); });
    for (const Module::ModuleFlagEntry& flag : flags) {
      if (is_of_the_compilation(flag.Key->getString())) continue;
      form_.put(flag.Key->getString());
      write_metadata(flag.Val, Strings::kept);
    }
  }

  void write_global(const GlobalValue& value) {
    put_all(value.getLinkage(), value.getVisibility(), value.getUnnamedAddr());
    if (auto* object = dyn_cast<GlobalObject>(&value)) {
      form_.put(object->getSection());
      write_attached(*object);
    }
    if (auto* function = dyn_cast<Function>(&value)) return write_function(*function);
    if (auto* variable = dyn_cast<GlobalVariable>(&value)) return write_variable(*variable);
    form_.put("alias");
    write_constant(*cast<GlobalAlias>(value).getAliasee());
  }

  void write_variable(const GlobalVariable& variable) {
    form_.put("variable");
    if (variable.isDeclaration() || is_state(variable)) form_.put(canonical_name(variable.getName()));
    form_.put(types_.of(variable.getValueType()));
    form_.put(uint64_t{variable.getAddressSpace()});
    form_.put(uint64_t{variable.isConstant()} | uint64_t{variable.isExternallyInitialized()} << 1 |
              uint64_t{variable.hasInitializer()} << 2);
    form_.put(variable.getAlign().valueOrOne().value());
    if (variable.hasInitializer()) write_constant(*variable.getInitializer());
    if (!variable.hasAttributes()) return;
    form_.put("attributes");
    for (Attribute attribute : variable.getAttributes()) write_attribute(attribute);
  }

  void write_function(const Function& function) {
    form_.put("function");
    form_.put(types_.of(function.getFunctionType()));
    form_.put(uint64_t{function.getCallingConv()});
    form_.put(uint64_t{function.isDeclaration()});
    if (function.isDeclaration()) {
      form_.put(canonical_name(function.getName()));
      if (function.isIntrinsic()) return;  // its attributes follow from its name
    }
    write_attributes(function.getAttributes());
    if (const MaybeAlign alignment = function.getAlign()) put_all(alignment->value());
    number_locals(function);
    for (const BasicBlock& block : function) {
      form_.put("block");
      for (const Instruction& instruction : block) {
        if (!is_skipped(instruction)) write_instruction(instruction);
      }
    }
    locals_.clear();
  }

  static bool is_skipped(const Instruction& instruction) { return isa<DbgInfoIntrinsic, PseudoProbeInst>(instruction); }

  void number_locals(const Function& function) {
    uint64_t next = 0;
    for (const Argument& argument : function.args()) locals_[&argument] = next++;
    for (const BasicBlock& block : function) {
      locals_[&block] = next++;
      for (const Instruction& instruction : block) {
        if (!is_skipped(instruction) && !instruction.getType()->isVoidTy()) locals_[&instruction] = next++;
      }
    }
  }

  void write_instruction(const Instruction& instruction) {
    form_.put(uint64_t{instruction.getOpcode()} | uint64_t{instruction.getRawSubclassOptionalData()} << 32);
    form_.put(types_.of(instruction.getType()));
    write_details(instruction);
    auto* call = dyn_cast<CallBase>(&instruction);
    form_.put(uint64_t{instruction.getNumOperands()});
    for (const Use& operand : instruction.operands()) {
      if (call && call->isArgOperand(&operand) && is_assertion_place(*call, call->getArgOperandNo(&operand))) continue;
      write_value(*operand);
    }
    if (auto* phi = dyn_cast<PHINode>(&instruction)) {
      for (const BasicBlock* block : phi->blocks()) write_value(*block);
    }
    write_attached(instruction);
  }

  // What distinguishes an instruction besides its opcode, flags, type and operands.
  void write_details(const Instruction& instruction) {
    if (auto* alloca = dyn_cast<AllocaInst>(&instruction)) {
      put_all(types_.of(alloca->getAllocatedType()), alloca->getAlign().value(), alloca->getAddressSpace());
    } else if (auto* load = dyn_cast<LoadInst>(&instruction)) {
      put_all(load->isVolatile(), load->getAlign().value(), load->getOrdering());
      write_scope(load->isAtomic(), load->getSyncScopeID(), instruction);
    } else if (auto* store = dyn_cast<StoreInst>(&instruction)) {
      put_all(store->isVolatile(), store->getAlign().value(), store->getOrdering());
      write_scope(store->isAtomic(), store->getSyncScopeID(), instruction);
    } else if (auto* update = dyn_cast<AtomicRMWInst>(&instruction)) {
      put_all(update->getOperation(), update->isVolatile(), update->getAlign().value(), update->getOrdering());
      write_scope(true, update->getSyncScopeID(), instruction);
    } else if (auto* exchange = dyn_cast<AtomicCmpXchgInst>(&instruction)) {
      put_all(exchange->isWeak(), exchange->isVolatile(), exchange->getAlign().value(), exchange->getSuccessOrdering(),
              exchange->getFailureOrdering());
      write_scope(true, exchange->getSyncScopeID(), instruction);
    } else if (auto* fence = dyn_cast<FenceInst>(&instruction)) {
      put_all(fence->getOrdering());
      write_scope(true, fence->getSyncScopeID(), instruction);
    } else if (auto* compare = dyn_cast<CmpInst>(&instruction)) {
      put_all(compare->getPredicate());
    } else if (auto* element = dyn_cast<GetElementPtrInst>(&instruction)) {
      put_all(types_.of(element->getSourceElementType()), element->getNoWrapFlags().getRaw());
    } else if (auto* call = dyn_cast<CallBase>(&instruction)) {
      write_call(*call);
    } else if (auto* extract = dyn_cast<ExtractValueInst>(&instruction)) {
      put_indices(extract->getIndices());
    } else if (auto* insert = dyn_cast<InsertValueInst>(&instruction)) {
      put_indices(insert->getIndices());
    } else if (auto* shuffle = dyn_cast<ShuffleVectorInst>(&instruction)) {
      for (int index : shuffle->getShuffleMask()) put_all(index);
    } else if (auto* choice = dyn_cast<SwitchInst>(&instruction)) {
      // No operands, as the blocks are.
      for (const auto& one : choice->cases()) write_constant(*one.getCaseValue());
    }
  }

  void write_call(const CallBase& call) {
    put_all(call.getCallingConv(), types_.of(call.getFunctionType()));
    if (auto* plain = dyn_cast<CallInst>(&call)) put_all(plain->getTailCallKind());
    write_attributes(call.getAttributes());
    for (unsigned i = 0; i < call.getNumOperandBundles(); ++i) {
      form_.put(call.getOperandBundleAt(i).getTagName());
      put_all(call.getOperandBundleAt(i).Inputs.size());
    }
  }

  void write_scope(bool is_atomic, SyncScope::ID scope, const Instruction& instruction) {
    if (!is_atomic) return;
    SmallVector<StringRef, 8> names;
    instruction.getContext().getSyncScopeNames(names);
    form_.put(names[scope]);
  }

  void write_attributes(const AttributeList& list) {
    for (unsigned index : list.indexes()) {
      AttributeSet set = list.getAttributes(index);
      if (!set.hasAttributes()) continue;
      form_.put(uint64_t{index});
      for (Attribute attribute : set) write_attribute(attribute);
    }
    form_.put("end of attributes");
  }

  void write_attribute(Attribute attribute) {
    if (attribute.isStringAttribute()) {
      form_.put(attribute.getKindAsString());
      form_.put(attribute.getValueAsString());
    } else if (attribute.isTypeAttribute()) {
      form_.put(Attribute::getNameFromAttrKind(attribute.getKindAsEnum()));
      form_.put(attribute.getValueAsType() ? types_.of(attribute.getValueAsType()) : 0);
    } else {
      form_.put(attribute.getAsString());
    }
  }

  void write_value(const Value& value) {
    if (auto local = locals_.find(&value); local != locals_.end()) {
      form_.put("local");
      form_.put(local->second);
    } else if (auto* constant = dyn_cast<Constant>(&value)) {
      write_constant(*constant);
    } else if (auto* assembly = dyn_cast<InlineAsm>(&value)) {
      form_.put("asm");
      form_.put(assembly->getAsmString());
      form_.put(assembly->getConstraintString());
      put_all(assembly->hasSideEffects(), assembly->isAlignStack(), assembly->canThrow(), assembly->getDialect());
    } else if (auto* metadata = dyn_cast<MetadataAsValue>(&value)) {
      write_metadata(metadata->getMetadata(), Strings::kept);
    } else {
      form_.put("other");
    }
  }

  void write_constant(const Constant& constant) {
    if (auto* value = dyn_cast<GlobalValue>(&constant)) {
      form_.put("global");
      form_.put(number_of(*value));
      return;
    }
    form_.put(uint64_t{constant.getValueID()});
    form_.put(types_.of(constant.getType()));
    if (auto* integer = dyn_cast<ConstantInt>(&constant)) return form_.put(integer->getValue());
    if (auto* real = dyn_cast<ConstantFP>(&constant)) return form_.put(real->getValueAPF().bitcastToAPInt());
    if (auto* data = dyn_cast<ConstantDataSequential>(&constant)) return form_.put(data->getRawDataValues());
    if (auto* address = dyn_cast<BlockAddress>(&constant)) {
      form_.put(number_of(*address->getFunction()));
      form_.put(uint64_t(std::distance(address->getFunction()->begin(), address->getBasicBlock()->getIterator())));
      return;
    }
    if (auto* expression = dyn_cast<ConstantExpr>(&constant)) {
      form_.put(uint64_t{expression->getOpcode()} | uint64_t{expression->getRawSubclassOptionalData()} << 32);
      if (auto* element = dyn_cast<GEPOperator>(expression)) write_element_of(*element);
    }
    form_.put(uint64_t{constant.getNumOperands()});
    for (const Use& operand : constant.operands()) write_constant(*cast<Constant>(operand));
  }

  void write_element_of(const GEPOperator& element) {
    form_.put(types_.of(element.getSourceElementType()));
    const std::optional<ConstantRange> range = element.getInRange();
    if (!range) return;
    form_.put("inrange");
    form_.put(range->getLower());
    form_.put(range->getUpper());
  }

  // Metadata of an instruction, function or variable, by the names of its kinds: their numbers are those of the process.
  template <typename Holder>
  void write_attached(const Holder& holder) {
    if (!holder.hasMetadata()) return;
    SmallVector<std::pair<unsigned, MDNode*>, 8> attached;
    holder.getAllMetadata(attached);
    SmallVector<StringRef, 64> kinds;
    holder.getContext().getMDKindNames(kinds);
    std::multimap<StringRef, const MDNode*> by_name;
    for (auto [kind, node] : attached) {
      if (!is_of_the_source(kinds[kind]) && (kind != LLVMContext::MD_loop || has_properties(*node)))
        by_name.emplace(kinds[kind], node);
    }
    for (auto [kind, node] : by_name) {
      form_.put(kind);
      write_metadata(node, has_names(kind) ? Strings::names : Strings::kept);
    }
  }

  enum class Strings { kept, names };

  // Nodes are told apart by numbers, as two types of one structure are two types for TBAA whatever they are called.
  void write_metadata(const Metadata* metadata, Strings strings) {
    if (auto* text = dyn_cast_or_null<MDString>(metadata)) {
      form_.put(strings == Strings::kept ? text->getString() : "name");
    } else if (auto* value = dyn_cast_or_null<ValueAsMetadata>(metadata)) {
      write_value(*value->getValue());
    } else if (auto* node = dyn_cast_or_null<MDTuple>(metadata)) {
      auto [at, inserted] = nodes_.try_emplace(node, nodes_.size());
      form_.put("node");
      form_.put(uint64_t{at->second});
      if (!inserted) return;
      for (const MDOperand& operand : node->operands())
        if (!is_debug_info(operand.get())) write_metadata(operand.get(), strings);
      form_.put("end of node");
    } else {
      form_.put("none");
    }
  }

  void put_indices(ArrayRef<unsigned> indices) {
    put_all(indices.size());
    for (unsigned index : indices) put_all(index);
  }

  template <typename... Values>
  void put_all(Values... values) {
    (form_.put(static_cast<uint64_t>(values)), ...);
  }

  Form form_;
  TypeForms types_;
  SetVector<const GlobalValue*> reached_;
  DenseMap<const GlobalValue*, uint64_t> numbers_;
  DenseMap<const MDNode*, uint64_t> nodes_;
  DenseMap<const Value*, uint64_t> locals_;  // of the function being written
};

}  // namespace

StaticHash static_hash(const GlobalValue& root) { return CanonicalForm().hash(root); }

}  // namespace mneme::instrument
