#include "mneme/cpu/lower/nvptx/intrinsics_spelling.h"

#include <fmt/format.h>
#include <llvm/ADT/StringSwitch.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DerivedTypes.h>

#include <map>
#include <string_view>
#include <vector>

namespace mneme::cpu::nvptx {
namespace {

using Words = std::vector<std::string>;

Words split(llvm::StringRef text) {
  Words words;
  llvm::SmallVector<llvm::StringRef, 8> parts;
  text.split(parts, '.');
  for (llvm::StringRef part : parts) words.push_back(part.str());
  return words;
}
std::string join(const Words& words, size_t begin, size_t end) {
  std::string text;
  for (size_t i = begin; i < end; ++i) text += (i == begin ? "" : ".") + words[i];
  return text;
}

// "$0, $1, …" for results and arguments in their order.
std::string all_operands(const llvm::IntrinsicInst& call) {
  unsigned count = call.arg_size() + (call.getType()->isVoidTy() ? 0 : 1);
  std::string text;
  for (unsigned i = 0; i < count; ++i) text += fmt::format("{} ${}", i ? "," : "", i);
  return text;
}

// NVVM's letters for a type, as they end an intrinsic's name.
std::string type_of_letter(const std::string& letter) {
  static const std::map<std::string, std::string> types = {
      {"f", "f32"}, {"d", "f64"},  {"h", "f16"},   {"i", "s32"},       {"ui", "u32"},    {"ll", "s64"},        {"ull", "u64"},
      {"s", "s16"}, {"us", "u16"}, {"f16", "f16"}, {"f16x2", "f16x2"}, {"bf16", "bf16"}, {"bf16x2", "bf16x2"},
  };
  auto found = types.find(letter);
  return found == types.end() ? std::string() : found->second;
}
std::string type_of(llvm::Type* type) {
  std::string lanes = type->isVectorTy() ? "x2" : "";
  type = type->getScalarType();
  if (type->isHalfTy()) return "f16" + lanes;
  if (type->isBFloatTy()) return "bf16" + lanes;
  if (type->isFloatTy()) return "f32" + lanes;
  if (type->isDoubleTy()) return "f64" + lanes;
  return fmt::format("b{}", type->isPointerTy() ? 64 : static_cast<unsigned>(type->getPrimitiveSizeInBits()));
}

// "fma.rn.ftz.f": the PTX instruction with the last letter made a type. Optionally under another opcode.
std::string with_type(const llvm::IntrinsicInst& call, Words words, const std::string& opcode) {
  std::string type = type_of_letter(words.back());
  if (type.empty()) {
    words.push_back(type_of(call.getType()));
  } else {
    words.back() = type;
  }
  for (std::string& word : words)
    if (word == "nan") word = "NaN";
  words[0] = opcode;
  return join(words, 0, words.size()) + all_operands(call);
}

bool is_type_letter(const std::string& word) { return !type_of_letter(word).empty(); }

// "d2i.rm", "ull2f.rp", "f2h.rn.ftz" and their like.
std::string conversion(const llvm::IntrinsicInst& call, const Words& words) {
  size_t two = words[0].find('2');
  std::string from = type_of_letter(words[0].substr(0, two));
  std::string to = type_of_letter(words[0].substr(two + 1));
  std::string round = words[1];
  if (from[0] == 'f' && to[0] != 'f') round += "i";
  return fmt::format("cvt.{}{}.{}.{} $0, $1", round, words.size() > 2 ? "." + join(words, 2, words.size()) : "", to, from);
}

// "f2bf16.rn.relu", "ff2f16x2.rz", "f2tf32.rna", "ff.to.e4m3x2.rn", "f16x2.to.e5m2x2.rn.relu", "e4m3x2.to.f16x2.rn".
std::optional<std::string> small_conversion(const llvm::IntrinsicInst& call, const Words& words) {
  std::string from, to;
  size_t rest = 1;
  if (words.size() > 3 && words[1] == "to") {
    from = words[0] == "ff" ? "f32" : words[0];
    to = words[2];
    rest = 3;
  } else {
    size_t two = words[0].find('2');
    if (two == std::string::npos || (words[0].substr(0, two) != "f" && words[0].substr(0, two) != "ff")) return std::nullopt;
    from = "f32";
    to = words[0].substr(two + 1);
  }
  std::string modifiers = join(words, rest, words.size());
  bool to_byte = to[0] == 'e';
  if (to_byte && modifiers.find("satfinite") == std::string::npos) modifiers += ".satfinite";
  return fmt::format("cvt.{}.{}.{}{}", modifiers, to, from, all_operands(call));
}

// "barrier.cta.sync.aligned.count", "barrier.cta.red.popc.all".
std::string block_barrier(const llvm::IntrinsicInst& call, const Words& words) {
  std::string text = "barrier";
  for (size_t i = 1; i < words.size(); ++i)
    if (words[i] != "cta" && words[i] != "all" && words[i] != "count") text += "." + words[i];
  if (words[2] == "red") text += words[3] == "popc" ? ".u32" : ".pred";
  return text + all_operands(call);
}

// "shfl.sync.down.f32p", "shfl.bfly.i32".
std::string shuffle(const Words& words) {
  bool pair = words.back().back() == 'p';
  const char* result = pair ? "$0|$1" : "$0";
  unsigned first = pair ? 2 : 1;
  if (words[1] == "sync")
    return fmt::format("shfl.sync.{}.b32 {}, ${}, ${}, ${}, ${}", words[2], result, first + 1, first + 2, first + 3, first);
  return fmt::format("shfl.{}.b32 {}, ${}, ${}, ${}", words[1], result, first, first + 1, first + 2);
}

std::string vote(const Words& words) {
  const char* type = words[1] == "ballot" ? "b32" : "pred";
  if (words.size() > 2) return fmt::format("vote.sync.{}.{} $0, $2, $1", words[1], type);
  return fmt::format("vote.{}.{} $0, $1", words[1], type);
}

std::string match(const Words& words) {
  std::string bits = words[3].substr(1, 2);
  if (words[1] == "any") return fmt::format("match.any.sync.b{} $0, $2, $1", bits);
  return fmt::format("match.all.sync.b{} $0|$1, $3, $2", bits);
}

std::optional<std::string> reduction(const Words& words) {
  std::string name = words[2];
  if (name[0] == 'f') return std::nullopt;
  if (name == "umin" || name == "umax") return fmt::format("redux.sync.{}.u32 $0, $1, $2", name.substr(1));
  bool arithmetic = name == "add" || name == "min" || name == "max";
  return fmt::format("redux.sync.{}.{} $0, $1, $2", name, arithmetic ? "s32" : "b32");
}

// "atomic.add.gen.f.cta"
std::string scoped_atomic(const llvm::IntrinsicInst& call, const Words& words) {
  unsigned bits = static_cast<unsigned>(call.getType()->getPrimitiveSizeInBits());
  const std::string& name = words[1];
  const char* kind = words[3] == "f"                                   ? "f"
                     : name == "min" || name == "max"                  ? "s"
                     : name == "add" || name == "inc" || name == "dec" ? "u"
                                                                       : "b";
  return fmt::format("atom.{}.{}.{}{} $0, [$1], $2{}", words[4], name, kind, bits, name == "cas" ? ", $3" : "");
}

// "tex.unified.2d.array.grad.v4f32.f32", "tld4.unified.r.2d.v4f32.f32": the object, a layer, the coordinates, and what says the
// level of detail.
std::optional<std::string> texture(const Words& words) {
  if (words.size() < 5 || words[1] != "unified") return std::nullopt;
  size_t at = 2;
  std::string text = words[0];
  if (words[0] == "tld4") text += "." + words[at++];
  std::string geometry = words[at++];
  const unsigned axes = geometry == "1d" ? 1 : geometry == "2d" ? 2 : 3;
  const bool layered = words[at] == "array";
  if (layered) geometry = "a" + geometry, ++at;
  const std::string detail = words[at] == "level" || words[at] == "grad" ? words[at++] : std::string();
  if (at + 2 != words.size()) return std::nullopt;
  unsigned next = 5;
  const auto operands = [&](unsigned count) {
    std::string list = "{";
    for (unsigned i = 0; i < count; ++i) list += fmt::format("{}${}", i ? ", " : "", next++);
    return list + "}";
  };
  if (!detail.empty()) text += "." + detail;
  text += fmt::format(".{}.v4.{}.{} {{$0, $1, $2, $3}}, [$4, {}]", geometry, words[at].substr(2), words[at + 1],
                      operands(axes + (layered ? 1 : 0)));
  if (detail == "level") text += fmt::format(", ${}", next);
  if (detail == "grad") text += ", " + operands(axes) + ", " + operands(axes);
  return text;
}

std::string special_register(const llvm::IntrinsicInst& call, llvm::StringRef name) {
  std::string spelled = name.str();
  for (const char* prefix : {"lanemask.", "cluster.", "globaltimer."})
    if (name.starts_with(prefix)) spelled[std::string_view(prefix).size() - 1] = '_';
  return fmt::format("mov.b{} $0, %{}", call.getType()->getIntegerBitWidth(), spelled);
}

bool is_set(const llvm::Value* argument) {
  auto* constant = llvm::dyn_cast<llvm::ConstantInt>(argument);
  return constant && constant->isOne();
}

// What follows no rule. The names are whole, without "llvm.nvvm.".
std::optional<std::string> irregular(const llvm::IntrinsicInst& call, llvm::StringRef name) {
  static const std::map<std::string_view, std::string_view> table = {
      {"activemask", "activemask.b32 $0"},
      {"bar.warp.sync", "bar.warp.sync $0"},
      {"bmsk.clamp", "bmsk.clamp.b32 $0, $1, $2"},
      {"bmsk.wrap", "bmsk.wrap.b32 $0, $1, $2"},
      {"compiler.error", ""},
      {"compiler.warn", ""},
      {"d2i.hi", "mov.b64 {_, $0}, $1"},
      {"d2i.lo", "mov.b64 {$0, _}, $1"},
      {"div.full", "div.full.f32 $0, $1, $2"},
      {"div.full.ftz", "div.full.ftz.f32 $0, $1, $2"},
      {"elect.sync", "elect.sync $0|$1, $2"},
      {"exit", "exit"},
      {"fence.proxy.alias", "fence.proxy.alias"},
      {"fence.proxy.async", "fence.proxy.async"},
      {"fence.proxy.async.global", "fence.proxy.async.global"},
      {"fence.sc.cluster", "fence.sc.cluster"},
      {"fns", "fns.b32 $0, $1, $2, $3"},
      {"fshl.clamp", "shf.l.clamp.b32 $0, $2, $1, $3"},
      {"fshr.clamp", "shf.r.clamp.b32 $0, $2, $1, $3"},
      {"griddepcontrol.launch.dependents", "griddepcontrol.launch_dependents"},
      {"griddepcontrol.wait", "griddepcontrol.wait"},
      {"idp2a.s.s", "dp2a.{}.s32.s32 $0, $1, $2, $4"},
      {"idp2a.s.u", "dp2a.{}.s32.u32 $0, $1, $2, $4"},
      {"idp2a.u.s", "dp2a.{}.u32.s32 $0, $1, $2, $4"},
      {"idp2a.u.u", "dp2a.{}.u32.u32 $0, $1, $2, $4"},
      {"idp4a.s.s", "dp4a.s32.s32 $0, $1, $2, $3"},
      {"idp4a.s.u", "dp4a.s32.u32 $0, $1, $2, $3"},
      {"idp4a.u.s", "dp4a.u32.s32 $0, $1, $2, $3"},
      {"idp4a.u.u", "dp4a.u32.u32 $0, $1, $2, $3"},
      {"is_explicit_cluster", "{ .reg .b32 r; mov.b32 r, %is_explicit_cluster; setp.ne.b32 $0, r, 0; }"},
      {"isspacep.const", "isspacep.const $0, $1"},
      {"isspacep.global", "isspacep.global $0, $1"},
      {"isspacep.local", "isspacep.local $0, $1"},
      {"isspacep.shared", "isspacep.shared $0, $1"},
      {"isspacep.shared.cluster", "isspacep.shared::cluster $0, $1"},
      {"lohi.i2d", "mov.b64 $0, {$1, $2}"},
      {"membar.cta", "membar.cta"},
      {"membar.gl", "membar.gl"},
      {"membar.sys", "membar.sys"},
      {"nanosleep", "nanosleep.u32 $0"},
      {"pm.event.mask", ""},
      {"prmt", "prmt.b32 $0, $1, $2, $3"},
      {"prmt.b4e", "prmt.b32.b4e $0, $1, $2, $3"},
      {"prmt.ecl", "prmt.b32.ecl $0, $1, 0, $2"},
      {"prmt.ecr", "prmt.b32.ecr $0, $1, 0, $2"},
      {"prmt.f4e", "prmt.b32.f4e $0, $1, $2, $3"},
      {"prmt.rc16", "prmt.b32.rc16 $0, $1, 0, $2"},
      {"prmt.rc8", "prmt.b32.rc8 $0, $1, 0, $2"},
      {"setmaxnreg.dec.sync.aligned.u32", ""},
      {"setmaxnreg.inc.sync.aligned.u32", ""},
      {"sext.clamp", "szext.clamp.s32 $0, $1, $2"},
      {"sext.wrap", "szext.wrap.s32 $0, $1, $2"},
      {"sqrt.f", "sqrt.rn.f32 $0, $1"},
      {"zext.clamp", "szext.clamp.u32 $0, $1, $2"},
      {"zext.wrap", "szext.wrap.u32 $0, $1, $2"},
  };
  if (name == "flo.s" || name == "flo.u") {
    unsigned bits = call.getArgOperand(0)->getType()->getIntegerBitWidth();
    return fmt::format("bfind{}.{}{} $0, $1", is_set(call.getArgOperand(1)) ? ".shiftamt" : "", name.back(), bits);
  }
  auto found = table.find(std::string_view(name.data(), name.size()));
  if (found == table.end()) return std::nullopt;
  std::string text(found->second);
  if (size_t half = text.find("{}"); half != std::string::npos)
    text.replace(half, 2, is_set(call.getArgOperand(2)) ? "hi" : "lo");
  return text;
}

}  // namespace

std::optional<std::string> ptx_spelling(const llvm::IntrinsicInst& call) {
  llvm::StringRef name = llvm::Intrinsic::getBaseName(call.getIntrinsicID());
  if (!name.consume_front("llvm.nvvm.")) return std::nullopt;
  if (name.consume_front("read.ptx.sreg.")) return special_register(call, name);
  if (std::optional<std::string> found = irregular(call, name)) return found;
  Words words = split(name);
  const std::string& first = words[0];
  auto is = [&](std::initializer_list<const char*> names) {
    for (const char* candidate : names)
      if (first == candidate) return true;
    return false;
  };
  if (is({"add", "mul", "fma", "div", "rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "neg", "mul24", "sad"}))
    return with_type(call, words, first);
  if (is({"ex2"})) return with_type(call, words, "ex2");
  if (is({"fabs"})) return with_type(call, words, "abs");
  if (is({"fmin", "fmax"})) return with_type(call, words, first.substr(1));
  if (is({"mulhi"})) return with_type(call, words, "mul.hi");
  if (is({"ceil", "floor", "trunc", "round", "saturate"})) {
    std::string how = first == "ceil"    ? "rpi"
                      : first == "floor" ? "rmi"
                      : first == "trunc" ? "rzi"
                      : first == "round" ? "rni"
                                         : "sat";
    std::string type = type_of_letter(words.back());
    return fmt::format("cvt.{}{}.{}.{} $0, $1", how, words.size() > 2 ? ".ftz" : "", type, type);
  }
  if (is({"barrier"}) && words[1] == "cta") return block_barrier(call, words);
  if (is({"shfl"})) return shuffle(words);
  if (is({"vote"})) return vote(words);
  if (is({"match"})) return match(words);
  if (is({"redux"})) return reduction(words);
  if (is({"tex", "tld4"})) return texture(words);
  if (is({"atomic"})) return scoped_atomic(call, words);
  if (is({"prefetch", "prefetchu", "discard", "applypriority"}))
    return name == "prefetch.tensormap" ? std::nullopt : std::optional<std::string>("");
  size_t two = first.find('2');
  if (two != std::string::npos && is_type_letter(first.substr(0, two)) && is_type_letter(first.substr(two + 1)) &&
      words.size() > 1 && first.substr(two + 1).size() < 4 && first.find("f16") == std::string::npos)
    return conversion(call, words);
  return small_conversion(call, words);
}

}  // namespace mneme::cpu::nvptx
