// Everything that LLVM lets an instruction, a constant, a variable or a function say is part of the hash: changed one at a time.
#include "mneme/instrument/static_hash.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace mneme::instrument {
namespace {

using llvm::Instruction;

// Modules each of which says something else, and what they are about: an instruction's name, or anything else.
struct Group {
  std::string about;
  std::vector<std::string> modules;
};

constexpr char kHead[] = R"(
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@a = addrspace(1) global i32 0
@b = addrspace(1) global i32 0
declare void @f(i32)
declare void @g(i32)
)";

std::string kernel(const std::string& body) {
  return std::string(kHead) +
         "define ptx_kernel void @k(ptr %p, i1 %c, i32 %x, i64 %l, float %f, double %d, <4 x i32> %v, {i32, {i32, i32}} %s, ...) "
         "{\n"
         "entry:\n" +
         body + "\n}\n";
}
// A kernel that has one line.
std::string line(const std::string& text) { return kernel("  " + text + "\n  ret void"); }
std::string global(const std::string& text, const std::string& used = "@own") {
  return line("store ptr addrspacecast (ptr addrspace(1) " + used + " to ptr), ptr %p") + text + "\n";
}

Group lines(const std::string& about, const std::vector<std::string>& texts) {
  Group group{about, {}};
  for (const std::string& text : texts) group.modules.push_back(line(text));
  return group;
}
Group kernels(const std::string& about, const std::vector<std::string>& bodies) {
  Group group{about, {}};
  for (const std::string& body : bodies) group.modules.push_back(kernel(body));
  return group;
}

std::vector<Group> terminators() {
  const auto choice = [](const char* cases) {
    return std::string("  switch i32 %x, label %one [") + cases +
           "]\none:\n  store i32 1, ptr %p\n  ret void\ntwo:\n  store i32 2, ptr %p\n  ret void";
  };
  const std::string blocks = "\none:\n  store i32 1, ptr %p\n  ret void\ntwo:\n  store i32 2, ptr %p\n  ret void";
  const auto callee = [](const char* value) {
    return line("%r = call i32 @h()") + "define internal i32 @h() {\n  ret i32 " + value + "\n}\n";
  };
  return {{"ret", {callee("1"), callee("2"), callee("undef"), callee("poison")}},
          kernels("br", {"  br label %one" + blocks, "  br label %two" + blocks, "  br i1 %c, label %one, label %two" + blocks,
                         "  br i1 %c, label %two, label %one" + blocks}),
          kernels("switch", {choice(""), choice("i32 1, label %two"), choice("i32 2, label %two"), choice("i32 1, label %one"),
                             choice("i32 1, label %two i32 2, label %two"), choice("i32 1, label %two i32 3, label %two"),
                             choice("i32 1, label %one i32 2, label %two"), choice("i32 2, label %one i32 1, label %two")}),
          kernels("indirectbr", {"  indirectbr ptr blockaddress(@k, %one), [label %one, label %two]" + blocks,
                                 "  indirectbr ptr blockaddress(@k, %two), [label %one, label %two]" + blocks,
                                 "  indirectbr ptr blockaddress(@k, %one), [label %two, label %one]" + blocks,
                                 "  indirectbr ptr blockaddress(@k, %one), [label %one]" + blocks}),
          kernels("unreachable", {"  unreachable", "  ret void"}),
          kernels("phi", {"  br i1 %c, label %one, label %two\none:\n  br label %two\ntwo:\n"
                          "  %r = phi i32 [1, %entry], [2, %one]\n  ret void",
                          "  br i1 %c, label %one, label %two\none:\n  br label %two\ntwo:\n"
                          "  %r = phi i32 [2, %entry], [1, %one]\n  ret void",
                          "  br i1 %c, label %one, label %two\none:\n  br label %two\ntwo:\n"
                          "  %r = phi i32 [1, %one], [2, %entry]\n  ret void",
                          "  br i1 %c, label %one, label %two\none:\n  br label %two\ntwo:\n"
                          "  %r = phi i32 [1, %entry], [%x, %one]\n  ret void"})};
}

std::vector<Group> arithmetic() {
  std::vector<Group> groups;
  Group all{"binary operators", {}};
  for (unsigned opcode = Instruction::BinaryOpsBegin; opcode != Instruction::BinaryOpsEnd; ++opcode) {
    const std::string name = Instruction::getOpcodeName(opcode);
    const bool is_real = name[0] == 'f';
    const std::string type = is_real ? "float" : "i32", left = is_real ? "%f" : "%x", right = is_real ? "2.0" : "2";
    std::vector<std::string> texts = {type + " " + left + ", " + right, type + " " + right + ", " + left,
                                      type + " " + left + ", " + left};
    const auto flagged = [&](std::initializer_list<const char*> flags) {
      for (const char* flag : flags) texts.push_back(std::string(flag) + " " + texts[0]);
    };
    if (is_real) flagged({"reassoc", "nnan", "ninf", "nsz", "arcp", "contract", "afn", "fast"});
    if (name == "add" || name == "sub" || name == "mul" || name == "shl") flagged({"nuw", "nsw", "nuw nsw"});
    if (name.ends_with("div") && !is_real) flagged({"exact"});
    if (name == "lshr" || name == "ashr") flagged({"exact"});
    if (name == "or") flagged({"disjoint"});
    for (std::string& text : texts) text = "%r = " + name + " " + text;
    all.modules.push_back(line(texts[0]));
    groups.push_back(lines(name, texts));
  }
  groups.push_back(all);
  groups.push_back(lines("fneg", {"%r = fneg float %f", "%r = fneg nnan float %f", "%r = fneg double %d"}));
  groups.push_back(lines("freeze", {"%r = freeze i32 %x", "%r = freeze i64 %l"}));
  groups.push_back(lines("select", {"%r = select i1 %c, i32 %x, i32 1", "%r = select i1 %c, i32 1, i32 %x",
                                    "%r = select nnan i1 %c, float %f, float 1.0", "%r = select i1 %c, float %f, float 1.0"}));
  Group integers{"icmp", {}}, reals{"fcmp", {}};
  for (unsigned i = llvm::CmpInst::FIRST_ICMP_PREDICATE; i <= llvm::CmpInst::LAST_ICMP_PREDICATE; ++i)
    integers.modules.push_back(
        line("%r = icmp " + llvm::CmpInst::getPredicateName(llvm::CmpInst::Predicate(i)).str() + " i32 %x, 1"));
  integers.modules.push_back(line("%r = icmp samesign ult i32 %x, 1"));
  for (unsigned i = llvm::CmpInst::FIRST_FCMP_PREDICATE; i <= llvm::CmpInst::LAST_FCMP_PREDICATE; ++i)
    reals.modules.push_back(
        line("%r = fcmp " + llvm::CmpInst::getPredicateName(llvm::CmpInst::Predicate(i)).str() + " float %f, 1.0"));
  reals.modules.push_back(line("%r = fcmp nnan oeq float %f, 1.0"));
  groups.push_back(integers);
  groups.push_back(reals);
  return groups;
}

std::vector<Group> casts() {
  return {
      lines("trunc", {"%r = trunc i64 %l to i32", "%r = trunc nuw i64 %l to i32", "%r = trunc nsw i64 %l to i32",
                      "%r = trunc i64 %l to i16"}),
      lines("zext", {"%r = zext i32 %x to i64", "%r = zext nneg i32 %x to i64", "%r = sext i32 %x to i64"}),
      lines("sext", {"%r = sext i32 %x to i64", "%r = sext i32 %x to i128"}),
      lines("fptoui", {"%r = fptoui float %f to i32", "%r = fptosi float %f to i32", "%r = fptoui float %f to i64"}),
      lines("fptosi", {"%r = fptosi float %f to i32", "%r = fptosi double %d to i32"}),
      lines("uitofp", {"%r = uitofp i32 %x to float", "%r = uitofp nneg i32 %x to float", "%r = sitofp i32 %x to float"}),
      lines("sitofp", {"%r = sitofp i32 %x to float", "%r = sitofp i32 %x to double"}),
      lines("fptrunc", {"%r = fptrunc double %d to float", "%r = fptrunc nnan double %d to float",
                        "%r = fptrunc double %d to half", "%r = fptrunc double %d to bfloat"}),
      lines("fpext", {"%r = fpext float %f to double", "%r = fpext ninf float %f to double"}),
      lines("ptrtoint", {"%r = ptrtoint ptr %p to i64", "%r = ptrtoint ptr %p to i32", "%r = ptrtoaddr ptr %p to i64"}),
      lines("ptrtoaddr", {"%r = ptrtoaddr ptr %p to i64", "%r = ptrtoaddr ptr null to i64"}),
      lines("inttoptr", {"%r = inttoptr i64 %l to ptr", "%r = inttoptr i64 %l to ptr addrspace(1)"}),
      lines("bitcast", {"%r = bitcast i32 %x to float", "%r = bitcast i32 %x to <2 x i16>", "%r = bitcast i32 %x to <4 x i8>"}),
      lines("addrspacecast", {"%r = addrspacecast ptr %p to ptr addrspace(1)", "%r = addrspacecast ptr %p to ptr addrspace(3)"})};
}

std::vector<Group> memory() {
  std::vector<Group> groups = {
      lines("alloca", {"%r = alloca i32", "%r = alloca i64", "%r = alloca i32, align 16", "%r = alloca i32, i32 2",
                       "%r = alloca i32, addrspace(5)"}),
      lines("load",
            {"%r = load i32, ptr %p, align 4", "%r = load i32, ptr %p, align 2", "%r = load volatile i32, ptr %p, align 4",
             "%r = load i32, ptr null, align 4", "%r = load float, ptr %p, align 4",
             "%r = load atomic i32, ptr %p monotonic, align 4", "%r = load atomic i32, ptr %p acquire, align 4",
             "%r = load atomic i32, ptr %p syncscope(\"block\") monotonic, align 4"}),
      lines("store", {"store i32 %x, ptr %p, align 4", "store i32 %x, ptr %p, align 2", "store volatile i32 %x, ptr %p, align 4",
                      "store i32 1, ptr %p, align 4", "store i32 %x, ptr null, align 4",
                      "store atomic i32 %x, ptr %p monotonic, align 4", "store atomic i32 %x, ptr %p release, align 4",
                      "store atomic i32 %x, ptr %p syncscope(\"block\") monotonic, align 4"}),
      lines("getelementptr", {"%r = getelementptr i32, ptr %p, i64 1", "%r = getelementptr i8, ptr %p, i64 1",
                              "%r = getelementptr inbounds i32, ptr %p, i64 1", "%r = getelementptr nuw i32, ptr %p, i64 1",
                              "%r = getelementptr nusw i32, ptr %p, i64 1", "%r = getelementptr i32, ptr %p, i64 2",
                              "%r = getelementptr [4 x i32], ptr %p, i64 0, i64 1"}),
      lines("fence", {"fence acquire", "fence release", "fence seq_cst", "fence syncscope(\"block\") acquire"}),
      lines("cmpxchg",
            {"%r = cmpxchg ptr %p, i32 %x, i32 1 monotonic monotonic",
             "%r = cmpxchg weak ptr %p, i32 %x, i32 1 monotonic monotonic",
             "%r = cmpxchg volatile ptr %p, i32 %x, i32 1 monotonic monotonic",
             "%r = cmpxchg ptr %p, i32 1, i32 %x monotonic monotonic", "%r = cmpxchg ptr %p, i32 %x, i32 1 acquire monotonic",
             "%r = cmpxchg ptr %p, i32 %x, i32 1 acquire acquire",
             "%r = cmpxchg ptr %p, i32 %x, i32 1 syncscope(\"block\") monotonic monotonic",
             "%r = cmpxchg ptr %p, i32 %x, i32 1 monotonic monotonic, align 8"})};
  Group updates{"atomicrmw", {}};
  for (unsigned i = llvm::AtomicRMWInst::FIRST_BINOP; i <= llvm::AtomicRMWInst::LAST_BINOP; ++i) {
    const auto operation = llvm::AtomicRMWInst::BinOp(i);
    const bool is_real = llvm::AtomicRMWInst::isFPOperation(operation);
    updates.modules.push_back(line("%r = atomicrmw " + llvm::AtomicRMWInst::getOperationName(operation).str() + " ptr %p, " +
                                   (is_real ? "float %f" : "i32 %x") + " monotonic"));
  }
  for (const char* text : {"volatile add ptr %p, i32 %x monotonic", "add ptr %p, i32 %x acquire", "add ptr %p, i32 1 monotonic",
                           "add ptr %p, i32 %x syncscope(\"block\") monotonic", "add ptr %p, i32 %x monotonic, align 8"})
    updates.modules.push_back(line(std::string("%r = atomicrmw ") + text));
  groups.push_back(updates);
  return groups;
}

std::vector<Group> other_instructions() {
  return {
      lines("call", {"call void @f(i32 %x)", "call void @g(i32 %x)", "call void @f(i32 1)", "tail call void @f(i32 %x)",
                     "notail call void @f(i32 %x)", "call fastcc void @f(i32 %x)", "call void @f(i32 noundef %x)",
                     "call void @f(i32 %x) nounwind", "call void @f(i32 %x) \"some\"=\"thing\"",
                     "call void @f(i32 %x) [\"tag\"(i32 1)]", "call void @f(i32 %x) [\"tag\"(i32 2)]",
                     "call void @f(i32 %x) [\"other\"(i32 1)]", "call void @f(i32 %x) [\"tag\"(i32 1), \"other\"()]",
                     "call void @f(i32 %x) [\"tag\"(), \"other\"(i32 1)]", "call void (i32, ...) @f(i32 %x)"}),
      lines("assembly", {"call void asm \"one\", \"\"()", "call void asm \"two\", \"\"()",
                         "call void asm sideeffect \"one\", \"\"()", "call void asm alignstack \"one\", \"\"()",
                         "call void asm unwind \"one\", \"\"()", "call void asm inteldialect \"one\", \"\"()",
                         "call void asm \"one\", \"r\"(i32 %x)", "call void asm \"one\", \"l\"(i32 %x)"}),
      lines("va_arg", {"%r = va_arg ptr %p, i32", "%r = va_arg ptr %p, i64"}),
      lines("extractelement", {"%r = extractelement <4 x i32> %v, i32 0", "%r = extractelement <4 x i32> %v, i32 1"}),
      lines("insertelement", {"%r = insertelement <4 x i32> %v, i32 1, i32 0", "%r = insertelement <4 x i32> %v, i32 1, i32 1",
                              "%r = insertelement <4 x i32> %v, i32 2, i32 0"}),
      lines("shufflevector", {"%r = shufflevector <4 x i32> %v, <4 x i32> %v, <2 x i32> <i32 0, i32 1>",
                              "%r = shufflevector <4 x i32> %v, <4 x i32> %v, <2 x i32> <i32 0, i32 4>",
                              "%r = shufflevector <4 x i32> %v, <4 x i32> %v, <2 x i32> <i32 1, i32 0>",
                              "%r = shufflevector <4 x i32> %v, <4 x i32> %v, <2 x i32> <i32 0, i32 poison>",
                              "%r = shufflevector <4 x i32> %v, <4 x i32> poison, <2 x i32> <i32 0, i32 1>"}),
      lines("extractvalue", {"%r = extractvalue {i32, {i32, i32}} %s, 0", "%r = extractvalue {i32, {i32, i32}} %s, 1, 0",
                             "%r = extractvalue {i32, {i32, i32}} %s, 1, 1"}),
      lines("insertvalue",
            {"%r = insertvalue {i32, {i32, i32}} %s, i32 1, 0", "%r = insertvalue {i32, {i32, i32}} %s, i32 1, 1, 0",
             "%r = insertvalue {i32, {i32, i32}} %s, i32 1, 1, 1"})};
}

std::vector<Group> constants() {
  const auto of = [](const char* about, const std::string& type, const std::vector<std::string>& values) {
    std::vector<std::string> texts;
    for (const std::string& value : values) texts.push_back("store " + type + " " + value + ", ptr %p, align 16");
    return lines(about, texts);
  };
  return {
      of("integers", "i32",
         {"0", "1", "-1", "undef", "poison", "ptrtoint (ptr addrspace(1) @a to i32)", "ptrtoint (ptr addrspace(1) @b to i32)",
          "add (i32 ptrtoint (ptr addrspace(1) @a to i32), i32 1)", "sub (i32 ptrtoint (ptr addrspace(1) @a to i32), i32 1)",
          "add nuw (i32 ptrtoint (ptr addrspace(1) @a to i32), i32 1)"}),
      of("wide integers", "i128", {"1", "18446744073709551617", "36893488147419103233"}),
      of("numbers", "float", {"0.0", "-0.0", "1.0", "0x7FF8000000000000", "0x7FF0000000000000"}),
      of("pointers", "ptr",
         {"null", "undef", "poison", "inttoptr (i64 8 to ptr)", "inttoptr (i64 9 to ptr)", "@f", "@g",
          "addrspacecast (ptr addrspace(1) @a to ptr)", "addrspacecast (ptr addrspace(1) @b to ptr)", "dso_local_equivalent @f",
          "no_cfi @f", "ptrauth (ptr @f, i32 0)", "ptrauth (ptr @f, i32 1)", "blockaddress(@k, %entry)"}),
      of("addresses", "ptr addrspace(1)",
         {"getelementptr (i32, ptr addrspace(1) @a, i64 1)", "getelementptr (i32, ptr addrspace(1) @a, i64 2)",
          "getelementptr (i8, ptr addrspace(1) @a, i64 1)", "getelementptr inbounds (i32, ptr addrspace(1) @a, i64 1)",
          "getelementptr nuw (i32, ptr addrspace(1) @a, i64 1)", "getelementptr inrange(0, 4) (i32, ptr addrspace(1) @a, i64 1)",
          "getelementptr inrange(0, 8) (i32, ptr addrspace(1) @a, i64 1)", "getelementptr (i32, ptr addrspace(1) @b, i64 1)"}),
      of("data", "[2 x i32]",
         {"[i32 1, i32 2]", "[i32 2, i32 1]", "zeroinitializer", "[i32 1, i32 undef]", "[i32 1, i32 poison]",
          "[i32 1, i32 ptrtoint (ptr addrspace(1) @a to i32)]"}),
      of("vectors", "<2 x i32>",
         {"<i32 1, i32 2>", "<i32 2, i32 1>", "splat (i32 1)", "splat (i32 2)", "<i32 1, i32 poison>", "<i32 1, i32 undef>"}),
      of("structures", "{i32, ptr}", {"{i32 1, ptr null}", "{i32 2, ptr null}", "{i32 1, ptr @f}", "{i32 1, ptr @g}"}),
      of("texts", "[2 x i8]", {"c\"ab\"", "c\"ac\"", "c\"b\\00\""})};
}

// Types, of which nothing but their structure counts.
std::vector<Group> types() {
  const auto of = [](const char* about, const std::vector<std::string>& types) {
    std::vector<std::string> texts;
    for (const std::string& type : types) texts.push_back("%r = alloca " + type + ", align 16");
    return lines(about, texts);
  };
  return {of("arrays", {"[4 x i32]", "[8 x i32]", "[0 x i32]", "[4 x i64]", "[2 x [4 x i32]]", "[4 x [2 x i32]]"}),
          of("vectors", {"<4 x i32>", "<8 x i32>", "<4 x float>", "<4 x i64>"}),
          of("structures", {"{i8, i32}", "<{i8, i32}>", "{i32, i8}", "{i8, {i32}}", "{{i8, i32}}", "{i8, i32, i32}", "{}"}),
          of("integers", {"i1", "i8", "i32", "i33", "i128"}),
          of("reals", {"half", "bfloat", "float", "double"}),
          of("pointers", {"ptr", "ptr addrspace(1)", "ptr addrspace(3)"}),
          lines("signatures", {"call void %p(i32 %x)", "call void (i32, ...) %p(i32 %x)", "call i32 %p(i32 %x)"})};
}

std::vector<Group> globals() {
  const auto of = [](const std::vector<std::string>& texts) {
    Group group{"variable", {}};
    for (const std::string& text : texts) group.modules.push_back(global("@own = " + text));
    return group;
  };
  const auto functions = [](const std::vector<std::string>& texts) {
    Group group{"function", {}};
    for (const std::string& text : texts) group.modules.push_back(line("call void @own(i32 1)") + text + "\n");
    return group;
  };
  const Group aliases{"alias",
                      {global("@own = alias i32, ptr addrspace(1) @a"), global("@own = alias i32, ptr addrspace(1) @b"),
                       global("@own = internal alias i32, ptr addrspace(1) @a")}};
  return {
      of({"addrspace(1) global i32 0", "addrspace(1) global i32 1", "addrspace(1) global i32 undef", "addrspace(1) global i64 0",
          "addrspace(1) global [2 x i32] [i32 1, i32 2]", "addrspace(1) global [2 x i32] [i32 1, i32 3]",
          "addrspace(1) constant i32 0", "addrspace(1) externally_initialized global i32 0", "external addrspace(1) global i32",
          "addrspace(1) global i32 0, align 16", "internal addrspace(1) global i32 0", "weak addrspace(1) global i32 0",
          "hidden addrspace(1) global i32 0", "protected addrspace(1) global i32 0", "addrspace(1) global i32 0, section \"s\"",
          "unnamed_addr addrspace(1) global i32 0", "local_unnamed_addr addrspace(1) global i32 0",
          "addrspace(1) global i32 0 \"some\"=\"thing\"", "addrspace(1) global i32 0 \"some\"=\"other\""}),
      functions({"define void @own(i32 %x) {\n  ret void\n}", "define internal void @own(i32 %x) {\n  ret void\n}",
                 "define hidden void @own(i32 %x) {\n  ret void\n}", "define void @own(i32 noundef %x) {\n  ret void\n}",
                 "define void @own(i32 signext %x) {\n  ret void\n}", "define void @own(i32 %x) noinline {\n  ret void\n}",
                 "define void @own(i32 %x) \"some\"=\"thing\" {\n  ret void\n}",
                 "define void @own(i32 %x) \"some\"=\"other\" {\n  ret void\n}",
                 "define void @own(i32 %x) align 16 {\n  ret void\n}", "define void @own(i32 %x) section \"s\" {\n  ret void\n}",
                 "define fastcc void @own(i32 %x) {\n  ret void\n}", "define void @own(i32 %x) unnamed_addr {\n  ret void\n}",
                 "declare void @own(i32)", "define void @own(i32 %x) {\n  unreachable\n}",
                 "define void @own(i32 %x) !noted !0 {\n  ret void\n}\n!0 = !{i32 1}",
                 "define void @own(i32 %x) !noted !0 {\n  ret void\n}\n!0 = !{i32 2}",
                 "define void @own(i32 %x) !other !0 {\n  ret void\n}\n!0 = !{i32 1}"}),
      aliases};
}

// What a loop's node has beside itself, as "!1", "!2", …
std::string loop(const std::vector<std::string>& properties) {
  std::string text = kernel(
      "  br label %head\nhead:\n  %n = load volatile i32, ptr %p\n  %again = icmp slt i32 %n, %x\n"
      "  br i1 %again, label %head, label %exit, !llvm.loop !0\nexit:\n  ret void");
  std::string node = "!0 = distinct !{!0", rest;
  for (size_t i = 0; i < properties.size(); ++i) {
    node += ", !" + std::to_string(i + 1);
    rest += "!" + std::to_string(i + 1) + " = " + properties[i] + "\n";
  }
  return text + node + "}\n" + rest;
}

std::vector<Group> metadata() {
  const auto load = [](const std::string& attached, const std::string& nodes) {
    return line("%r = load i32, ptr %p, align 4" + attached) + nodes + "\n";
  };
  return {{"loop",
           {loop({}), loop({"!{!\"llvm.loop.mustprogress\"}"}), loop({"!{!\"llvm.loop.unroll.count\", i32 4}"}),
            loop({"!{!\"llvm.loop.unroll.count\", i32 8}"}), loop({"!{!\"llvm.loop.unroll.disable\"}"}),
            loop({"!{!\"llvm.loop.mustprogress\"}", "!{!\"llvm.loop.unroll.disable\"}"})}},
          {"module flags",
           {line(""), line("") + "!llvm.module.flags = !{!0}\n!0 = !{i32 4, !\"nvvm-reflect-ftz\", i32 1}\n",
            line("") + "!llvm.module.flags = !{!0}\n!0 = !{i32 4, !\"nvvm-reflect-ftz\", i32 0}\n",
            line("") + "!llvm.module.flags = !{!0}\n!0 = !{i32 4, !\"another\", i32 1}\n"}},
          {"metadata of a load",
           {load("", ""), load(", !range !0", "!0 = !{i32 0, i32 10}"), load(", !range !0", "!0 = !{i32 0, i32 11}"),
            load(", !invariant.load !0", "!0 = !{}"), load(", !nontemporal !0", "!0 = !{i32 1}"),
            load(", !noundef !0", "!0 = !{}")}}};
}

std::vector<Group> all_groups() {
  std::vector<Group> all;
  for (const auto& some :
       {terminators(), arithmetic(), casts(), memory(), other_instructions(), constants(), types(), globals(), metadata()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

// Of code for a GPU: no exceptions, no control flow out of assembly.
const std::set<std::string> kNotOfGpus = {"invoke", "resume",     "cleanupret", "catchret",   "catchswitch",
                                          "callbr", "cleanuppad", "catchpad",   "landingpad", "<Invalid operator> "};

class StaticHashTest : public testing::Test {
 protected:
  std::unique_ptr<llvm::Module> parse(const std::string& text) {
    llvm::SMDiagnostic words;
    auto module = llvm::parseAssemblyString(text, words, context_);
    std::string message;
    llvm::raw_string_ostream stream(message);
    if (!module) words.print("", stream);
    EXPECT_TRUE(module) << message << text;
    return module;
  }
  StaticHash hash(const std::string& text) {
    auto module = parse(text);
    return module ? static_hash(*module->getFunction("k")) : StaticHash();
  }
  llvm::LLVMContext context_;
};

TEST_F(StaticHashTest, WhateverIsChangedIsAnotherHash) {
  for (const Group& group : all_groups()) {
    std::map<StaticHash, std::string> seen;
    for (const std::string& module : group.modules) {
      auto [other, is_new] = seen.try_emplace(hash(module), module);
      EXPECT_TRUE(is_new) << group.about << ": one hash of" << module << "and of" << other->second;
    }
    EXPECT_GE(group.modules.size(), 2u) << group.about;
  }
}

TEST_F(StaticHashTest, TheSameIsTheSameHash) {
  for (const Group& group : all_groups()) EXPECT_EQ(hash(group.modules[0]), hash(group.modules[0])) << group.about;
  EXPECT_EQ(hash(line("%r = add i32 %x, 1")), hash(line("%another = add i32 %x, 1")));
}

// Each loop has a node of its own, also one that nothing was asked of; with debug information it says where the loop stands.
TEST_F(StaticHashTest, ALoopsNodeIsWhatWasAskedOfTheLoop) {
  const std::string place = "!DILocation(line: 3, scope: !9)\n!9 = distinct !DISubprogram(name: \"k\")";
  EXPECT_EQ(hash(loop({place})), hash(loop({})));
  const std::string unrolled = "!{!\"llvm.loop.unroll.count\", i32 4}";
  EXPECT_EQ(hash(loop({unrolled, place})), hash(loop({unrolled})));
}

TEST_F(StaticHashTest, HowAFileWasCompiledDoesNotCount) {
  EXPECT_EQ(hash(line("") + "!llvm.module.flags = !{!0}\n!0 = !{i32 2, !\"Dwarf Version\", i32 4}\n"), hash(line("")));
}

TEST_F(StaticHashTest, EqualKernelsOfTwoNamesAreTwo) {
  const auto text = [](const std::string& name) {
    std::string text = line("store i32 %x, ptr %p");
    return text.replace(text.find("@k("), 2, "@" + name);
  };
  const auto hash_of = [&](const std::string& name) {
    auto module = parse(text(name));
    return static_hash(*module->getFunction(name));
  };
  EXPECT_NE(hash_of("first"), hash_of("second"));
  EXPECT_EQ(hash_of("first"), hash_of("first__static__0123"));
  EXPECT_EQ(hash_of("first"), hash_of("first.static.0123"));
  EXPECT_EQ(hash_of("first"), hash_of("first.intern.89abcdef01234567"));
}

// Where the same names stand, and not which they are.
TEST_F(StaticHashTest, NamesOfScopesAndTypesDoNotCount) {
  const auto scoped = [](const std::string& kind, const std::string& domain, const std::string& scope) {
    return line("%r = load i32, ptr %p, align 4, !" + kind + " !0") + "!0 = !{!1}\n!1 = distinct !{!1, !2, !\"" + scope +
           "\"}\n!2 = distinct !{!2, !\"" + domain + "\"}\n";
  };
  for (const char* kind : {"alias.scope", "noalias"})
    EXPECT_EQ(hash(scoped(kind, "domain", "scope")), hash(scoped(kind, "another domain", "another scope"))) << kind;
  EXPECT_NE(hash(scoped("alias.scope", "domain", "scope")), hash(scoped("noalias", "domain", "scope")));
  const auto typed = [](const std::string& name) {
    return line("%r = load i32, ptr %p, align 4, !tbaa !0") + "!0 = !{!1, !1, i64 0}\n!1 = !{!\"" + name +
           "\", !2, i64 0}\n!2 = !{!\"root\"}\n";
  };
  EXPECT_EQ(hash(typed("int")), hash(typed("another int")));
}

// File, line and function of an assertion move with every edit of the file; its text is the program's.
TEST_F(StaticHashTest, WhereAnAssertionStandsDoesNotCount) {
  const auto asserts = [](const std::string& name, const std::string& arguments) {
    return line("call void @" + name + "(" + arguments + ")") + "declare void @" + name +
           "(ptr, ptr, i32, ptr, i64)\n@text = internal constant [2 x i8] c\"a\\00\"\n@one = internal constant [2 x i8] "
           "c\"b\\00\"\n@two = internal constant [2 x i8] c\"c\\00\"\n";
  };
  for (const std::string name : {"__assertfail", "__assert_fail"}) {
    const StaticHash usual = hash(asserts(name, "ptr @text, ptr @one, i32 3, ptr @one, i64 1"));
    EXPECT_EQ(hash(asserts(name, "ptr @text, ptr @two, i32 4, ptr @two, i64 1")), usual) << name;
    EXPECT_NE(hash(asserts(name, "ptr @one, ptr @one, i32 3, ptr @one, i64 1")), usual) << name;
    EXPECT_NE(hash(asserts(name, "ptr @text, ptr @one, i32 3, ptr @one, i64 2")), usual) << name;
  }
  EXPECT_NE(hash(asserts("somebody", "ptr @text, ptr @one, i32 3, ptr @one, i64 1")),
            hash(asserts("somebody", "ptr @text, ptr @one, i32 4, ptr @one, i64 1")));
}

// An instruction or a constant that a new LLVM has must be tried here.
TEST_F(StaticHashTest, EveryInstructionAndConstantIsTried) {
  std::set<std::string> tried;
  std::set<unsigned> constants;
  const std::function<void(const llvm::Value&)> note = [&](const llvm::Value& value) {
    const auto* constant = llvm::dyn_cast<llvm::Constant>(&value);
    if (!constant) return;
    constants.insert(constant->getValueID());
    if (!llvm::isa<llvm::GlobalValue>(constant))
      for (const llvm::Use& operand : constant->operands()) note(*operand);
  };
  for (const Group& group : all_groups()) {
    bool found = false;
    for (const std::string& text : group.modules) {
      auto module = parse(text);
      if (!module) continue;
      for (llvm::Function& function : *module)
        for (llvm::Instruction& instruction : llvm::instructions(function)) {
          found = found || instruction.getOpcodeName() == group.about;
          for (const llvm::Use& operand : instruction.operands()) note(*operand);
        }
    }
    if (found) tried.insert(group.about);
  }
  for (unsigned opcode = 1; opcode < Instruction::OtherOpsEnd; ++opcode) {
    const std::string name = Instruction::getOpcodeName(opcode);
    if (name.starts_with("UserOp") || kNotOfGpus.contains(name)) continue;
    EXPECT_TRUE(tried.contains(name)) << name;
  }
  const std::set<unsigned> not_of_gpus = {llvm::Value::ConstantTargetNoneVal, llvm::Value::ConstantTokenNoneVal,
                                          llvm::Value::GlobalIFuncVal};
  for (unsigned kind = llvm::Value::ConstantFirstVal; kind <= llvm::Value::ConstantLastVal; ++kind)
    EXPECT_TRUE(constants.contains(kind) || not_of_gpus.contains(kind)) << "constants of kind " << kind;
}

}  // namespace
}  // namespace mneme::instrument
