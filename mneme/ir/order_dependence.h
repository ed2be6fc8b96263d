// What in a kernel's IR can make its result depend on more than its memory: on the order in which threads run, or on a clock.
//
// Not every atomic operation does. Where nobody uses what it returns, an atomic addition, minimum, maximum or bit operation on
// integers gives the same result in every order, and so does a minimum or maximum of floating-point numbers. These are not
// listed. Atomic sums of floating-point numbers are, since each order rounds differently.
#pragma once

#include <string>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/ir/module.h"

namespace mneme::ir {

struct OrderDependence {
  enum class Kind {
    float_sum,      // an atomic sum of floating-point numbers
    atomic_result,  // the value that an atomic operation returns is used, and depends on who came before
    exchange,       // an atomic exchange or compare-and-swap: the order decides which value stays
    clock,          // a clock or timer is read
    placement,      // the multiprocessor or warp slot that a thread runs on is read
  };
  Kind kind = Kind::float_sum;
  unsigned places = 0;  // how many there are in the code
  std::string first;    // the first place that has a source line, "sum.cu:12"; empty where none has
  friend bool operator==(const OrderDependence&, const OrderDependence&) = default;
};
std::string_view to_string(OrderDependence::Kind kind);  // "float_sum"
// "adds floating-point numbers by atomic operations, and each order rounds otherwise (2 places, the first at sum.cu:12)"
std::string describe(const OrderDependence& dependence);

struct OrderUse {
  std::vector<OrderDependence> dependences;  // at most one of each kind, in the order of the kinds
  bool waits_in_blocks = false;              // there are barriers, by which threads of a block or warp wait for each other
  bool orders_blocks = false;                // there are fences, or volatile or atomic accesses, by which blocks can wait
};

// Looks at all code of the module. That is right for a recorded module, which is a kernel with what it calls.
OrderUse find_order_use(const Module& module);

}  // namespace mneme::ir
