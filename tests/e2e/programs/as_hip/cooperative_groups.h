#include "as_hip.h"
