// Collects the errors that LLVM reports through a context's diagnostic handler. LLVM's own handler prints them and exits.
#pragma once

#include <llvm/IR/DiagnosticHandler.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/raw_ostream.h>

#include <memory>
#include <string>

namespace mneme::ir {

// While a collector lives, it keeps the errors that LLVM reports in `context`, and drops warnings and remarks.
class DiagnosticCollector {
 public:
  explicit DiagnosticCollector(llvm::LLVMContext& context) : context_(context), previous_(context.getDiagnosticHandler()) {
    context.setDiagnosticHandler(std::make_unique<Handler>(*this));
  }
  ~DiagnosticCollector() { context_.setDiagnosticHandler(std::move(previous_)); }
  DiagnosticCollector(const DiagnosticCollector&) = delete;
  DiagnosticCollector& operator=(const DiagnosticCollector&) = delete;

  bool failed() const { return failed_; }
  const std::string& errors() const { return errors_; }  // separated by "; "

 private:
  struct Handler : llvm::DiagnosticHandler {
    explicit Handler(DiagnosticCollector& to) : collector(to) {}
    bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
      if (info.getSeverity() == llvm::DS_Error) collector.add(info);
      return true;
    }
    DiagnosticCollector& collector;
  };

  void add(const llvm::DiagnosticInfo& info) {
    if (failed_) errors_ += "; ";
    failed_ = true;
    llvm::raw_string_ostream stream(errors_);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
  }

  llvm::LLVMContext& context_;
  std::unique_ptr<llvm::DiagnosticHandler> previous_;
  bool failed_ = false;
  std::string errors_;
};

}  // namespace mneme::ir
