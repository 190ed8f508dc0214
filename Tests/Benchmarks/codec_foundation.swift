// Foundation's property lists on the same payloads, all of them our own: it must never see a peer's bytes. Prints what
// codec_peers.c prints.
//
//     codec_foundation ROUNDS PAYLOADS

import Foundation

func fail(_ what: String) -> Never {
    FileHandle.standardError.write(Data("codec_foundation: \(what)\n".utf8))
    exit(1)
}

func payloads(_ path: String) -> [Data] {
    guard let file = FileManager.default.contents(atPath: path) else { fail("cannot read \(path)") }
    var (rest, all) = (file, [Data]())
    while rest.count > 4 {
        let count = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
        all.append(Data(rest.dropFirst(4).prefix(count)))
        rest = rest.dropFirst(4 + count)
    }
    return all
}

func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
}

@inline(never) func keep<Value>(_ value: Value) {}

func measure(_ name: String, rounds: Int, count: Int, _ operation: (Int) -> Void) {
    var times: [Double] = []
    for round in -(rounds / 10)..<rounds {
        let began = now()
        for index in 0..<count { operation(index) }
        if round >= 0 { times.append((now() - began) / Double(count)) }
    }
    times.sort()
    let median = times[rounds / 2]
    let spread = (times[rounds * 3 / 4] - times[rounds / 4]) / median
    let figures = String(format: "\"unit\":\"ns\",\"value\":%.1f,\"spread\":%.3f", median, spread)
    print("{\"codec\":\"Foundation\",\"operation\":\"\(name)\",\(figures)}")
}

guard CommandLine.arguments.count == 3, let rounds = Int(CommandLine.arguments[1]), rounds > 0 else {
    fail("codec_foundation ROUNDS PAYLOADS")
}
let all = payloads(CommandLine.arguments[2])
func read(_ bytes: Data) -> Any {
    guard let value = try? PropertyListSerialization.propertyList(from: bytes, format: nil) else { fail("refused") }
    return value
}
let values = all.map(read)
measure("read", rounds: rounds, count: all.count) { keep(read(all[$0])) }
measure("write", rounds: rounds, count: all.count) {
    keep(try? PropertyListSerialization.data(fromPropertyList: values[$0], format: .binary, options: 0))
}
