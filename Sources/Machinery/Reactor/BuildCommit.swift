// Commit that this program was built from, as the linker of a release states it. In this room because no other one
// imports the C that reads it.

internal import CTandemLinux

package enum BuildCommit {
    /// `+` and the commit's first digits; empty in a build without one.
    package static var suffix: String {
        let number = tandem_build_commit()
        // Without the leading 1, which keeps leading zeros.
        return number == 0 ? "" : "+\(String(number, radix: 16).dropFirst())"
    }
}
