#include "mneme/instrument/device_uses.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include "mneme/abi/segment.h"
#include "mneme/instrument/names.h"

namespace mneme::instrument {
namespace {

using namespace llvm;

// PTX's instructions for textures and surfaces, which LLVM's intrinsics are named after.
constexpr StringLiteral kTextures[] = {"tex", "tld4", "txq", "istypep", "suld", "sust", "sured", "suq"};

// "tex.1d.v4.f32.s32", or of a kind without a modifier, "tex"
bool is_of_textures(StringRef mnemonic) { return is_contained(kTextures, mnemonic.split('.').first); }

bool has_textures(StringRef assembly) {
  SmallVector<StringRef> statements;
  assembly.split(statements, ';');
  for (StringRef statement : statements) {
    SmallVector<StringRef> words;
    SplitString(statement, words, " \t\n\v\f\r{}");
    if (any_of(words, is_of_textures)) return true;
  }
  return false;
}

bool uses_textures(const CallBase& call) {
  if (const auto* assembly = dyn_cast<InlineAsm>(call.getCalledOperand())) return has_textures(assembly->getAsmString());
  const Function* callee = call.getCalledFunction();
  if (!callee || !callee->isIntrinsic()) return false;
  StringRef name = callee->getName();
  return name.starts_with("llvm.amdgcn.image.") || (name.consume_front("llvm.nvvm.") && is_of_textures(name));
}

// What a function stands for that the device's system has. On AMDGCN the heap and images are a library's, which is linked in; an
// image of linear memory is read by an instruction for buffers.
uint64_t uses_of_system(const Function& function) {
  StringRef name = function.getName();
  if (is_contained({"__ockl_dm_alloc", "__ockl_dm_dealloc"}, name)) return MNEME_USES_DEVICE_HEAP;
  if (name.starts_with("__ockl_image_")) return MNEME_USES_TEXTURES;
  if (!function.isDeclaration()) return 0;
  if (is_contained({"malloc", "free", "__nv_aligned_device_malloc"}, name)) return MNEME_USES_DEVICE_HEAP;
  return is_of_device_runtime(name) ? MNEME_USES_DEVICE_LAUNCH : 0;
}

}  // namespace

uint64_t device_uses(const Closure& closure) {
  uint64_t uses = 0;
  for (const GlobalValue* member : closure.members) {
    const auto* function = dyn_cast<Function>(member);
    if (!function) continue;
    uses |= uses_of_system(*function);
    for (const Instruction& instruction : instructions(*function)) {
      const auto* call = dyn_cast<CallBase>(&instruction);
      if (call && uses_textures(*call)) uses |= MNEME_USES_TEXTURES;
    }
  }
  return uses;
}

}  // namespace mneme::instrument
