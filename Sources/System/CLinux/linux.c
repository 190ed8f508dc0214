#include "CTandemLinux.h"
