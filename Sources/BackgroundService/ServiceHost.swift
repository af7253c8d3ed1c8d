package import JobRunner

/// Carries the runs of the background process: the listener passes on what commands ask, and the host reports what
/// happens to the board. All but `leave` is called from the listener's thread and must return at once.
package protocol ServiceHost: AnyObject, Sendable {
    /// Resumes the journal's unfinished runs. Called once, before the first connection is accepted.
    func resumeRuns(reportingTo board: NewsBoard) throws(ServiceTrouble)
    /// Announces that the journal has something new, of this session or of any. From this call until the host has
    /// looked at the journal, `isIdle` is false.
    func ring(_ identifier: String?)
    /// Passes the status of the runs under way, of one session or of all, to `reply`, which may be called once, from
    /// any thread.
    func status(_ identifier: String?, reply: @escaping @Sendable ([SessionStatus]) -> Void)
    /// Suspends, resumes or cancels tasks of a session; `reply` may be called once, from any thread.
    func control(_ control: ServiceControl, reply: @escaping @Sendable (ControlReply) -> Void)
    /// The number of runs under way.
    var liveRuns: Int { get }
    /// Whether no run is under way and the host has handled every request that it got.
    var isIdle: Bool { get }
    /// Ends the host's threads and leaves its runs to the next process; returns when that is done. Afterwards nothing
    /// but `status` and `control` is called, and the host refuses both.
    func leave()
}
