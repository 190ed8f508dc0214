// Error that ends a test with a text: for a `guard case` that has nothing to go on with.

package struct Unexpected: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}
