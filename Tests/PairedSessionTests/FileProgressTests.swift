// Progress of a file for the app that sends it, beside a scripted daemon on a manual clock: at most ten values a second
// beyond the first, none twice, and always the last one.

import PairedSession
import TandemBase
import TandemFiles
import TandemSession
import TandemTestSupport
import TandemWire
import Testing

struct FileProgressTests {
    private let app: SendingApp
    private let directory = TemporaryDirectory()
    private let file: FileTransfer
    private let values = Collector<FileTransferProgress>()
    private let ends = Collector<Void>()

    init() throws {
        app = try SendingApp()
        directory.write([UInt8](repeating: 7, count: 1_000_000), to: "photo.jpg")
        file = app.session.beginFileTransfer(directory.path("photo.jpg"))
        settle()
        file.observe({ [values] in values.add($0) }, ended: { [ends] in ends.add(()) })
    }

    private func settle() {
        app.scheduler.run()
        app.core.run { $0.waitForFiles() }
        app.scheduler.run()
    }

    /// The daemon has written so much.
    private func wrote(_ offset: UInt64) {
        app.daemon.send(
            Envelope(
                .progress, app: app.daemon.app, pairing: app.pairing, id: file.id, channel: .file, name: "taking",
                offset: offset))
        app.scheduler.run()
    }

    private var handedOver: [Int64] { values.all.map(\.handedOver) }

    @Test("FIL-10: of many changes within a tenth of a second the newest is told at its end, and each value once")
    func pace() {
        #expect(values.all.map(\.total) == [1_000_000])
        wrote(0)
        #expect(handedOver == [0], "nothing has changed")
        for offset in 1...50 as ClosedRange<UInt64> {
            wrote(offset * 1_000)
            app.scheduler.advance(by: .milliseconds(10))
        }
        #expect(handedOver.count <= 7 && Set(handedOver).count == handedOver.count && handedOver[1] == 1_000)
        app.scheduler.advance(by: .milliseconds(100))
        #expect(handedOver.last == 50_000)
        let count = values.all.count
        app.scheduler.advance(by: .seconds(5))
        #expect(values.all.count == count)
    }

    @Test("FIL-10: a reader that comes within the pause hears each value once, too")
    func lateReader() {
        wrote(1_000)
        let late = Collector<Int64>()
        file.observe({ late.add($0.handedOver) }, ended: {})
        app.scheduler.advance(by: .milliseconds(200))
        #expect(late.all == [1_000])
        wrote(2_000)
        #expect(late.all == [1_000, 2_000] && handedOver == [0, 1_000, 2_000])
    }

    @Test("FIL-10: a reader of the progress that was cancelled or let go is forgotten before the file ends")
    func readersThatLeave() async {
        let before = file.observers
        for _ in 0..<10 {
            let reader = Task { [file] in for await _ in file.progressUpdates {} }
            reader.cancel()
            await reader.value
            _ = file.progressUpdates
        }
        #expect(file.observers == before)
        wrote(1_000)
        #expect(handedOver == [0, 1_000])
    }

    @Test("FIL-10: what is within the pause at the end comes before the end, and nothing after it")
    func last() async {
        let updates = file.progressUpdates
        wrote(1_000)
        wrote(2_000)
        app.session.end {}
        app.scheduler.run()
        #expect(handedOver == [0, 1_000, 2_000] && ends.all.count == 1)
        app.scheduler.advance(by: .seconds(1))
        #expect(values.all.count == 3)
        var newest: Int64?
        for await progress in updates { newest = progress.handedOver }
        #expect(newest == 2_000)
    }
}
