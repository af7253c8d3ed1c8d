package import TransferModel

/// What the process accepts from connections, and how long it stays without them.
package struct ServiceLimits: Sendable {
    /// Greatest number of connections; more wait in the socket's queue. Smaller where the system allows fewer
    /// descriptors.
    package var connections = 16_384
    /// Time for the greeting, and for the rest of a frame that was begun.
    package var patience = TimeSpan.seconds(5)
    /// Time for some of the output to be taken; long enough for a terminal that was stopped for a while.
    package var slowness = TimeSpan.seconds(30)
    /// Frames that one connection may send in a second, and at most at once.
    package var framesPerSecond = 200
    /// Greatest number of unanswered requests of one connection; beyond it the process reads no more from it.
    package var requests = 16
    /// Greatest number of sessions that one connection may follow.
    package var follows = 64
    /// Time after which the process ends without a run and a connection.
    package var idle = TimeSpan.seconds(60)
    /// How often the process checks its socket, its idleness and what its service manager waits for.
    package var tick = TimeSpan.seconds(2)
    /// Shortest time between two progress messages to one follower.
    package var progressPace = TimeSpan.milliseconds(200)
    /// Shortest time between two rounds of news, however few followers there are.
    package var newsPace = TimeSpan.milliseconds(5)
    /// Time that each follower adds to a sum; the time between two rounds is the larger of that sum and `newsPace`, so
    /// that many followers cost as much as a few.
    package var newsPacePerFollower = TimeSpan.microseconds(100)

    package init() {}

    var ownTick: TimeSpan { min(tick, max(.milliseconds(10), TimeSpan(nanoseconds: idle.nanoseconds / 4))) }
}
