#include "mneme/ir/instruction_flags.h"

#include <llvm/IR/Instructions.h>
#include <llvm/IR/Operator.h>

#include "mneme/base/suggestion.h"
#include "mneme/ir/handle_access.h"

namespace mneme::ir {
namespace {

using llvm::Instruction;

bool wraps(const Instruction& i) { return llvm::isa<llvm::OverflowingBinaryOperator, llvm::TruncInst>(i); }
bool is_gep(const Instruction& i) { return llvm::isa<llvm::GetElementPtrInst>(i); }
bool is_float(const Instruction& i) { return llvm::isa<llvm::FPMathOperator>(i); }
bool is_call(const Instruction& i) { return llvm::isa<llvm::CallInst>(i); }
bool can_be_volatile(const Instruction& i) {
  return llvm::isa<llvm::LoadInst, llvm::StoreInst, llvm::AtomicRMWInst, llvm::AtomicCmpXchgInst>(i);
}

void set_gep(Instruction& i, llvm::GEPNoWrapFlags flag, bool on) {
  auto& gep = llvm::cast<llvm::GetElementPtrInst>(i);
  const llvm::GEPNoWrapFlags now = gep.getNoWrapFlags();
  if (on)
    gep.setNoWrapFlags(now | flag);
  else if (flag == llvm::GEPNoWrapFlags::inBounds())
    gep.setNoWrapFlags(now.withoutInBounds());
  else if (flag == llvm::GEPNoWrapFlags::noUnsignedWrap())
    gep.setNoWrapFlags(now.withoutNoUnsignedWrap());
  else
    gep.setNoWrapFlags(now.withoutNoUnsignedSignedWrap());
}

void set_volatile(Instruction& i, bool on) {
  if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&i)) load->setVolatile(on);
  if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&i)) store->setVolatile(on);
  if (auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&i)) update->setVolatile(on);
  if (auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&i)) exchange->setVolatile(on);
}

template <llvm::CallInst::TailCallKind kind>
bool is_tail(const Instruction& i) {
  return llvm::cast<llvm::CallInst>(i).getTailCallKind() == kind;
}
template <llvm::CallInst::TailCallKind kind>
void set_tail(Instruction& i, bool on) {
  llvm::cast<llvm::CallInst>(i).setTailCallKind(on ? kind : llvm::CallInst::TCK_None);
}

struct Flag {
  std::string_view name;
  bool (*applies)(const Instruction&);
  bool (*get)(const Instruction&);
  void (*set)(Instruction&, bool);
};

const Flag kFlags[] = {
    {"nuw", [](const Instruction& i) { return wraps(i) || is_gep(i); },
     [](const Instruction& i) {
       return is_gep(i) ? llvm::cast<llvm::GetElementPtrInst>(i).hasNoUnsignedWrap() : i.hasNoUnsignedWrap();
     },
     [](Instruction& i, bool on) {
       is_gep(i) ? set_gep(i, llvm::GEPNoWrapFlags::noUnsignedWrap(), on) : i.setHasNoUnsignedWrap(on);
     }},
    {"nsw", wraps, [](const Instruction& i) { return i.hasNoSignedWrap(); },
     [](Instruction& i, bool on) { i.setHasNoSignedWrap(on); }},
    {"exact", [](const Instruction& i) { return llvm::isa<llvm::PossiblyExactOperator>(i); },
     [](const Instruction& i) { return i.isExact(); }, [](Instruction& i, bool on) { i.setIsExact(on); }},
    {"disjoint", [](const Instruction& i) { return llvm::isa<llvm::PossiblyDisjointInst>(i); },
     [](const Instruction& i) { return llvm::cast<llvm::PossiblyDisjointInst>(i).isDisjoint(); },
     [](Instruction& i, bool on) { llvm::cast<llvm::PossiblyDisjointInst>(i).setIsDisjoint(on); }},
    {"nneg", [](const Instruction& i) { return llvm::isa<llvm::PossiblyNonNegInst>(i); },
     [](const Instruction& i) { return i.hasNonNeg(); }, [](Instruction& i, bool on) { i.setNonNeg(on); }},
    {"samesign", [](const Instruction& i) { return llvm::isa<llvm::ICmpInst>(i); },
     [](const Instruction& i) { return llvm::cast<llvm::ICmpInst>(i).hasSameSign(); },
     [](Instruction& i, bool on) { llvm::cast<llvm::ICmpInst>(i).setSameSign(on); }},
    {"inbounds", is_gep, [](const Instruction& i) { return llvm::cast<llvm::GetElementPtrInst>(i).isInBounds(); },
     [](Instruction& i, bool on) { set_gep(i, llvm::GEPNoWrapFlags::inBounds(), on); }},
    {"nusw", is_gep, [](const Instruction& i) { return llvm::cast<llvm::GetElementPtrInst>(i).hasNoUnsignedSignedWrap(); },
     [](Instruction& i, bool on) { set_gep(i, llvm::GEPNoWrapFlags::noUnsignedSignedWrap(), on); }},
    {"fast", is_float, [](const Instruction& i) { return i.isFast(); },
     [](Instruction& i, bool on) { i.copyFastMathFlags(on ? llvm::FastMathFlags::getFast() : llvm::FastMathFlags()); }},
    {"reassoc", is_float, [](const Instruction& i) { return i.hasAllowReassoc(); },
     [](Instruction& i, bool on) { i.setHasAllowReassoc(on); }},
    {"nnan", is_float, [](const Instruction& i) { return i.hasNoNaNs(); }, [](Instruction& i, bool on) { i.setHasNoNaNs(on); }},
    {"ninf", is_float, [](const Instruction& i) { return i.hasNoInfs(); }, [](Instruction& i, bool on) { i.setHasNoInfs(on); }},
    {"nsz", is_float, [](const Instruction& i) { return i.hasNoSignedZeros(); },
     [](Instruction& i, bool on) { i.setHasNoSignedZeros(on); }},
    {"arcp", is_float, [](const Instruction& i) { return i.hasAllowReciprocal(); },
     [](Instruction& i, bool on) { i.setHasAllowReciprocal(on); }},
    {"contract", is_float, [](const Instruction& i) { return i.hasAllowContract(); },
     [](Instruction& i, bool on) {
       llvm::FastMathFlags flags = i.getFastMathFlags();
       flags.setAllowContract(on);
       i.copyFastMathFlags(flags);
     }},
    {"afn", is_float, [](const Instruction& i) { return i.hasApproxFunc(); },
     [](Instruction& i, bool on) { i.setHasApproxFunc(on); }},
    {"volatile", can_be_volatile, [](const Instruction& i) { return i.isVolatile(); }, set_volatile},
    {"tail", is_call, is_tail<llvm::CallInst::TCK_Tail>, set_tail<llvm::CallInst::TCK_Tail>},
    {"musttail", is_call, is_tail<llvm::CallInst::TCK_MustTail>, set_tail<llvm::CallInst::TCK_MustTail>},
    {"notail", is_call, is_tail<llvm::CallInst::TCK_NoTail>, set_tail<llvm::CallInst::TCK_NoTail>},
};

bool is_part_of_fast(std::string_view name) {
  return llvm::is_contained({"reassoc", "nnan", "ninf", "nsz", "arcp", "contract", "afn"}, name);
}

}  // namespace

std::vector<std::string> flags_of(const Instruction& instruction) {
  std::vector<std::string> found;
  const bool fast = is_float(instruction) && instruction.isFast();
  for (const Flag& flag : kFlags)
    if (flag.applies(instruction) && flag.get(instruction) && !(fast && is_part_of_fast(flag.name)))
      found.emplace_back(flag.name);
  return found;
}

Status set_flag_of(Instruction& instruction, const std::string& name, bool is_set) {
  std::vector<std::string> names;
  for (const Flag& flag : kFlags) {
    names.emplace_back(flag.name);
    if (flag.name != name) continue;
    if (!flag.applies(instruction)) return error(Code::invalid_argument, "{} cannot be {}", describe(instruction), name);
    flag.set(instruction, is_set);
    return {};
  }
  return error(Code::invalid_argument, "'{}' is no flag of an instruction{}", name, did_you_mean(name, names));
}

}  // namespace mneme::ir
