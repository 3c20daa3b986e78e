#include "halfstep/engine/capture/switches.h"

namespace halfstep::capture {
namespace {

thread_local Switches current;

}  // namespace

const Switches& switches() { return current; }

Switches without_gradients() {
  Switches now = current;
  now.gradients = false;
  return now;
}

Switched::Switched(const Switches& now) : before_(current) { current = now; }
Switched::~Switched() { current = before_; }

}  // namespace halfstep::capture
