// Tests under construction.
