internal import CLinuxShims

/// The processor that the calling thread runs on.
package enum Processor {
    /// How many the thread may use.
    package static var count: Int { Int(tr_processors()) }

    /// Its number.
    package static var current: Int { Int(tr_processor()) }

    /// How often the thread had to make way for another while it had something to do.
    package static var timesMadeWay: Int { tr_times_made_way() }

    /// Goes on on another of those that the thread may use, whichever the system picks. Nothing happens where it has only
    /// this one.
    package static func leave() { tr_leave_processor() }
}
