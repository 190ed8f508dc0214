// The one door to expat: PropertyListXML is the only room that imports it.
#pragma once
#include <expat.h>
