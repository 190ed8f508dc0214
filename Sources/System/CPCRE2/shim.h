// The one door to PCRE2: Pattern is the only room that imports it. The code unit width must be chosen before the
// header is read, so it is chosen here, once.
#pragma once
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
