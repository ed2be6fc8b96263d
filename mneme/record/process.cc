#include "mneme/record/process.h"

namespace mneme {
namespace {

std::atomic<Recorder*> process_recorder = nullptr;

}  // namespace

Recorder* recorder() { return process_recorder.load(std::memory_order_acquire); }
void set_recorder(Recorder* recorder) { process_recorder.store(recorder, std::memory_order_release); }

}  // namespace mneme
