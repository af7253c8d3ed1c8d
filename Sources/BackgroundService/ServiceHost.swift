package import JobRunner

/// Whoever carries the runs: the listener tells it what commands ask, and it tells the board what happens. All but
/// `leave` is called from the listener's thread and must return at once.
package protocol ServiceHost: AnyObject, Sendable {
    /// Once, before anybody is heard: takes up what is unfinished in the journal.
    func begin(_ board: NewsBoard) throws(ServiceTrouble)
    /// The journal has something new: of this session, or of any. From here until it was looked at, `isIdle` is false.
    func ring(_ identifier: String?)
    /// The runs under way, of one session or of all. `reply` may be called from any thread, once.
    func status(_ identifier: String?, reply: @escaping @Sendable ([SessionStatus]) -> Void)
    func control(_ control: ServiceControl, reply: @escaping @Sendable (ControlReply) -> Void)
    /// How many runs are under way.
    var liveRuns: Int { get }
    /// Nothing is under way and nothing was asked for that was not looked at.
    var isIdle: Bool { get }
    /// Ends its threads and leaves its runs to the next process; returns when that is done. Nothing but `status` and
    /// `control` is called afterwards, and those are to be refused.
    func leave()
}
