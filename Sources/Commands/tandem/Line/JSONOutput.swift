// What `--json` prints: one value, one line, so that a program may read line by line.

import TandemPropertyList

extension Console {
    /// Prints a value as one line of JSON.
    func print(json value: PropertyListValue) { print(PropertyListJSON.text(value)) }
}
