package import TransferModel

/// What the process bears from those who connect, and how long it stays without them.
package struct ServiceLimits: Sendable {
    /// Whoever comes when so many are there waits outside. Fewer where the system allows fewer descriptors.
    package var connections = 16_384
    /// For a first frame, and for the rest of one that was begun.
    package var patience = TimeSpan.seconds(5)
    /// For something to be taken by one to whom something is owed: a terminal that was stopped is forgiven.
    package var slowness = TimeSpan.seconds(30)
    package var framesPerSecond = 200
    /// Requests of one connection that wait for their answers; no more of it are read.
    package var requests = 16
    /// Sessions that one connection follows.
    package var follows = 64
    /// Without a run and a connection the process ends after that.
    package var idle = TimeSpan.seconds(60)
    /// How often the process looks after itself: its socket, its idleness, what its manager wants to hear.
    package var tick = TimeSpan.seconds(2)
    /// Between two words of progress to one follower.
    package var progressPace = TimeSpan.milliseconds(200)
    /// Between two rounds of news: one, and so much for each follower, so that many cost as much as a few.
    package var newsPace = TimeSpan.milliseconds(5)
    package var newsPacePerFollower = TimeSpan.microseconds(100)

    package init() {}

    var ownTick: TimeSpan { min(tick, max(.milliseconds(10), TimeSpan(nanoseconds: idle.nanoseconds / 4))) }
}
