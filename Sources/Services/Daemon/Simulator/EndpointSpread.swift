// One device's local socket served by several loops. The first loop accepts and greets; what registers goes to the loop
// that owns its app, and stays there. Which loop that is follows from the app's identifier alone, so that both sides of
// a pair meet on one loop and no frame ever crosses threads.

package import TandemBase
package import TandemReactor

/// The endpoints of one device, one on each loop. The first keeps what is counted for all: connections, and whose an
/// app is.
package struct EndpointSpread {
    /// The loops, the accepting one first.
    let loops: [EventLoop]
    let endpoints: [LoopBound<LocalEndpoint>]
    /// Which of them is the one that holds this.
    let own: Int

    /// - Parameter own: the place of the endpoint that gets this.
    package init(loops: [EventLoop], endpoints: [LoopBound<LocalEndpoint>], own: Int) {
        self.loops = loops
        self.endpoints = endpoints
        self.own = own
    }

    /// The place of the loop that serves an app, if it is not this one.
    func otherPlace(of app: ApplicationIdentifier) -> Int? {
        let place = Self.place(of: app, among: loops.count)
        return place == own ? nil : place
    }

    /// The place of the loop that serves an app: the same in every process and at every start.
    package static func place(of app: ApplicationIdentifier, among count: Int) -> Int {
        // FNV-1a. Its high half is mixed in, because the lowest bit of the low half is hardly mixed at all.
        let hash = app.description.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { hash, byte in
            (hash ^ UInt64(byte)) &* 0x100_0000_01b3
        }
        return Int((hash ^ hash >> 32) % UInt64(count))
    }

    /// Runs the action with the endpoint at a place, on its loop, in a later turn.
    func submit(to place: Int, _ action: @escaping @Sendable (LocalEndpoint) -> Void) {
        let endpoint = endpoints[place]
        loops[place].submit { action(endpoint.value) }
    }
}
