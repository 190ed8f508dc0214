// How OpenSSL reaches the bytes: a BIO of our own in place of its memory BIOs, which copy everything once more and keep
// the room of their largest burst for as long as the connection lives. Reading takes from bytes that the caller lends
// for the time of one call; writing goes into the thread's workspace.

import CTandemOpenSSL

/// One connection's two ends towards OpenSSL.
@safe final class TLSPort {
    let workspace: TLSWorkspace
    /// Lent bytes that OpenSSL has not taken yet.
    private var input = unsafe UnsafeRawBufferPointer(start: nil, count: 0)

    init(workspace: TLSWorkspace) { self.workspace = workspace }

    /// A BIO over this port, which must outlive it; nil only if OpenSSL is out of memory. Call inside `openSSL`.
    func makeBIO() -> OpaquePointer? {
        guard let bio = unsafe BIO_new(TLSPortMethod.shared.pointer) else { return nil }
        unsafe BIO_set_data(bio, Unmanaged.passUnretained(self).toOpaque())
        unsafe BIO_set_init(bio, 1)
        return unsafe bio
    }

    /// Lets OpenSSL read these bytes while the body runs; what it leaves is dropped.
    func lending<Result, Failure: Error>(
        _ bytes: UnsafeRawBufferPointer, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        unsafe input = unsafe bytes
        defer { unsafe input = unsafe UnsafeRawBufferPointer(start: nil, count: 0) }
        return try body()
    }

    /// Whether lent bytes wait.
    var hasInput: Bool { unsafe !input.isEmpty }

    fileprivate func read(into room: UnsafeMutableRawBufferPointer) -> Int {
        let count = unsafe min(room.count, input.count)
        unsafe room.copyMemory(from: UnsafeRawBufferPointer(rebasing: input.prefix(count)))
        unsafe input = unsafe UnsafeRawBufferPointer(rebasing: input.dropFirst(count))
        return count
    }

    /// Lends the port of a BIO, which it outlives; nil for a BIO without one.
    fileprivate static func with<Result>(_ bio: OpaquePointer?, _ body: (TLSPort) -> Result) -> Result? {
        guard let data = unsafe BIO_get_data(bio) else { return nil }
        return unsafe Unmanaged<TLSPort>.fromOpaque(data)._withUnsafeGuaranteedRef(body)
    }
}

/// What OpenSSL calls; made once for the process and never freed.
@safe private struct TLSPortMethod: @unchecked Sendable {
    // @unchecked: only read once it is made.
    static let shared = TLSPortMethod()

    let pointer = unsafe BIO_meth_new(BIO_TYPE_SOURCE_SINK | BIO_get_new_index(), "tandem")

    private init() {
        unsafe BIO_meth_set_read_ex(pointer, readFromPort)
        unsafe BIO_meth_set_write_ex(pointer, writeToPort)
        unsafe BIO_meth_set_ctrl(pointer, controlPort)
    }
}

private func readFromPort(
    _ bio: OpaquePointer?, _ bytes: UnsafeMutablePointer<CChar>?, _ room: Int, _ count: UnsafeMutablePointer<Int>?
) -> CInt {
    let room = unsafe UnsafeMutableRawBufferPointer(start: bytes, count: room)
    let taken = unsafe TLSPort.with(bio) { unsafe $0.read(into: room) } ?? 0
    unsafe count?.pointee = taken
    unsafe BIO_clear_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY)
    if taken == 0 { unsafe BIO_set_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY) }
    return taken == 0 ? 0 : 1
}

private func writeToPort(
    _ bio: OpaquePointer?, _ bytes: UnsafePointer<CChar>?, _ given: Int, _ count: UnsafeMutablePointer<Int>?
) -> CInt {
    let bytes = unsafe UnsafeRawBufferPointer(start: bytes, count: given)
    let isTaken: Void? = unsafe TLSPort.with(bio) { unsafe $0.workspace.append(bytes, for: $0) }
    unsafe count?.pointee = given
    return isTaken == nil ? 0 : 1
}

/// A flush has nothing to do and succeeds; everything else is no business of ours.
private func controlPort(_: OpaquePointer?, _ command: CInt, _: Int, _: UnsafeMutableRawPointer?) -> Int {
    command == BIO_CTRL_FLUSH ? 1 : 0
}
