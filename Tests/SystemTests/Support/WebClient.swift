// HTTP client that keeps no rule: it writes any bytes over a connection of its own, and reads the answer as text.

import Foundation
import Testing

/// One connection to the console.
final class WebClient {
    /// An answer as it came.
    struct Answer {
        let text: String

        var status: Int { text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0 }
        var body: String { text.range(of: "\r\n\r\n").map { String(text[$0.upperBound...]) } ?? "" }

        /// The first value of a header field.
        func field(_ name: String) -> String? {
            text.components(separatedBy: "\r\n").first { $0.lowercased().hasPrefix(name.lowercased() + ": ") }
                .map { String($0.dropFirst(name.count + 2)) }
        }
    }

    private let descriptor: Int32

    /// Connects to a port of loopback.
    /// - Parameters:
    ///   - owner: the user that the socket belongs to; nil for the test's own.
    ///   - isMapped: whether it is a socket of IPv6, with the address within it.
    init(port: UInt16, owner: uid_t? = nil, isMapped: Bool = false) throws {
        descriptor = socket(isMapped ? AF_INET6 : AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        if let owner { try #require(fchown(descriptor, owner, .max) == 0) }
        let ends: [UInt8] = [UInt8(port >> 8), UInt8(truncatingIfNeeded: port)]
        let rest: [UInt8] =
            isMapped
            ? [UInt8](repeating: 0, count: 14) + [255, 255, 127, 0, 0, 1, 0, 0, 0, 0]
            : [127, 0, 0, 1] + [UInt8](repeating: 0, count: 8)
        var target = sockaddr_storage()
        target.ss_family = sa_family_t(isMapped ? AF_INET6 : AF_INET)
        withUnsafeMutableBytes(of: &target) { bytes in
            for (offset, byte) in (ends + rest).enumerated() { bytes[2 + offset] = byte }
        }
        let isConnected = withUnsafePointer(to: &target) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(4 + rest.count)) == 0
            }
        }
        try #require(isConnected)
        var patience = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(descriptor) }

    /// Writes a text; false if the console does not take it any more.
    @discardableResult
    func write(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        return send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
    }

    /// Says that nothing more comes.
    func endWriting() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Reads until the console ends the connection, or until the text satisfies a condition.
    func read(until condition: (String) -> Bool = { _ in false }) -> Answer {
        var (bytes, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 65_536))
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            bytes += buffer[..<count]
            if condition(String(decoding: bytes, as: UTF8.self)) { break }
        }
        return Answer(text: String(decoding: bytes, as: UTF8.self))
    }
}

/// A console of one daemon, and a browser that has its cookie.
final class ConsoleProgram {
    let program: Program
    let port: UInt16
    private(set) var cookie = ""

    /// Starts the console and waits for its address.
    init(device: String, named name: String = "console", in workspace: Workspace) async throws {
        let program = try Program(
            "tandem-console", ["--device", device, "--address", "127.0.0.1:0"], named: name, in: workspace)
        self.program = program
        try #require(try await holds(within: .seconds(20)) { program.output.contains("\n") }, "\(program.errors)")
        let text = program.output.dropFirst("http://127.0.0.1:".count).prefix { $0.isNumber }
        port = try #require(UInt16(text), "\(program.output)")
    }

    /// The token of the last printed address.
    var token: String {
        program.output.split(separator: "\n").last.flatMap { $0.split(separator: "#").last }.map(String.init) ?? ""
    }

    func enter() throws {
        let answer = try post("/enter", "token=\(token)")
        try #require(answer.status == 303, "\(answer.text)")
        cookie = String(try #require(answer.field("Set-Cookie")).prefix { $0 != ";" })
    }

    /// One request over a connection that ends with it.
    func send(_ head: String, _ fields: [String] = [], body: String = "") throws -> WebClient.Answer {
        let client = try WebClient(port: port)
        let all =
            ["\(head) HTTP/1.1", "Host: 127.0.0.1:\(port)", "Connection: close"]
            + (cookie.isEmpty ? [] : ["Cookie: \(cookie)"]) + fields
        client.write(all.joined(separator: "\r\n") + "\r\n\r\n" + body)
        return client.read()
    }

    func get(_ path: String) throws -> WebClient.Answer { try send("GET \(path)") }

    /// Sends a form; `body` has its token, if it needs one.
    func post(_ path: String, _ body: String) throws -> WebClient.Answer {
        try send(
            "POST \(path)",
            [
                "Origin: http://127.0.0.1:\(port)", "Content-Type: application/x-www-form-urlencoded",
                "Content-Length: \(body.utf8.count)",
            ], body: body)
    }

    func formToken(_ path: String, of form: String = "values") throws -> String {
        let page = try get(path).body
        let start = try #require(page.range(of: "id=\"\(form)\""), "\(page)")
        let mark = try #require(page[start.upperBound...].range(of: "name=\"form\" value=\""))
        return String(page[mark.upperBound...].prefix(64))
    }
}
