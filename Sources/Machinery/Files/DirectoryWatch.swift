// Telling a program that files of a directory changed: how an app learns of a new configuration that its daemon put in
// place. It says which names, never what happened to them: whoever is told reads the file again and judges for itself.

internal import CTandemLinux
package import TandemReactor

/// A watch on a directory, until `stop`; belongs to its loop's thread.
package final class DirectoryWatch: ReadinessTarget {
    /// What a change report says.
    package enum Change: Equatable, Sendable {
        /// These names changed, each once, in the order in which they first did.
        case names([String])
        /// So much happened that the kernel lost count: look at everything.
        case anything
    }

    private let watch: OwnedDescriptor
    private let loop: EventLoop
    private let onChange: (Change) -> Void
    private var registration: Registration?

    /// - Parameter onChange: called on the loop's thread, once for each wake-up.
    package init(
        _ directory: OwnedDirectory, on loop: EventLoop, onChange: @escaping (Change) -> Void
    ) throws(FileError) {
        let place = FilePlace(path: directory.path)
        watch = OwnedDescriptor(takingOwnership: try place.check(tandem_watch_create(), "inotify_init1"))
        self.loop = loop
        self.onChange = onChange
        let raw = watch.raw
        try place.check(directory.withDescriptor { tandem_watch_add_directory(raw, $0) }, "inotify_add_watch")
        do throws(SystemError) {
            registration = try loop.register(raw, for: .readable, target: self)
        } catch {
            throw .system(path: directory.path, error)
        }
    }

    /// Ends the watch; nothing is reported afterwards.
    package func stop() {
        if let registration { loop.deregister(registration) }
        registration = nil
    }

    package func isReady(_ readiness: Readiness) {
        let raw = watch.raw
        let change = loop.withReadBuffer { buffer -> Change? in
            // A watch that cannot be read any more has lost count.
            guard let transfer = try? Linux.read(raw, into: buffer) else { return .anything }
            guard case .bytes(let count) = transfer else { return nil }
            return Self.change(in: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
        if let change, registration != nil { onChange(change) }
    }

    private static func change(in events: UnsafeRawBufferPointer) -> Change? {
        var names: [String] = []
        var offset = 0
        while let start = events.baseAddress, offset < events.count {
            var name: UnsafePointer<CChar>?
            var overflowed: CInt = 0
            let length = tandem_watch_next(start + offset, events.count - offset, &name, &overflowed)
            guard length > 0, overflowed == 0 else { return .anything }
            offset += length
            guard let text = name.map({ String(cString: $0) }), FileName.isSafe(text) else { continue }
            if !names.contains(text) { names.append(text) }
        }
        return names.isEmpty ? nil : .names(names)
    }
}
