// RelaxedCapture: what a call of ours does while it lives, such as a copy, ends no capture of the program's in another thread.
#pragma once

namespace mneme::substitute {

// `exchange` is the vendor's function that exchanges the mode of this thread, and `relaxed` its mode for that. It may be null:
// then nothing is changed.
template <typename Code, typename Mode>
class RelaxedCapture {
 public:
  RelaxedCapture(Code (*exchange)(Mode*), Mode relaxed) : exchange_(exchange), mode_(relaxed) { exchange_mode(); }
  ~RelaxedCapture() { exchange_mode(); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  void exchange_mode() {
    if (exchange_) (void)exchange_(&mode_);
  }

  Code (*const exchange_)(Mode*);
  Mode mode_;
};

}  // namespace mneme::substitute
