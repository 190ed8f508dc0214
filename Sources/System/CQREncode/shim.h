// The one door to libqrencode: Codes is the only room that imports it.
#pragma once
#include <qrencode.h>
