// The Linux calls and constants that Swift's C library import cannot see. Reactor, Transport and Files call them
// through Reactor's wrappers; nothing here holds state.
#pragma once
