// What in a kernel's IR makes its result depend on more than its memory: the order in which threads run, or a clock.
//
// An atomic operation on whole numbers whose result nobody uses gives the same in every order, and is not named: additions,
// minima, bits. Of floating-point numbers minima and maxima do so too; sums are rounded in each order otherwise.
#pragma once

#include <string>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/ir/module.h"

namespace mneme::ir {

struct OrderDependence {
  enum class Kind {
    float_sum,      // an atomic sum of floating-point numbers
    atomic_result,  // what an atomic operation found is used: who came first decides
    exchange,       // an atomic exchange or compare-and-swap: who comes last decides
    clock,          // a clock or timer is read
    placement,      // the multiprocessor or warp slot that a thread runs on is read
  };
  Kind kind = Kind::float_sum;
  unsigned places = 0;  // in the code
  std::string first;    // "sum.cu:12", of the first that has a source line; empty where none has
  friend bool operator==(const OrderDependence&, const OrderDependence&) = default;
};
std::string_view to_string(OrderDependence::Kind kind);  // "float_sum"
// "adds floating-point numbers by atomic operations, and each order rounds otherwise (2 places, the first at sum.cu:12)"
std::string describe(const OrderDependence& dependence);

struct OrderUse {
  std::vector<OrderDependence> dependences;  // by kind, each once
  bool waits_in_blocks = false;              // threads of a block or warp wait for each other: barriers
  bool orders_blocks = false;                // by fences, volatile or atomic accesses one block can wait for another
};

// All code of the module counts: a recorded one is a kernel with what it calls.
OrderUse find_order_use(const Module& module);

}  // namespace mneme::ir
