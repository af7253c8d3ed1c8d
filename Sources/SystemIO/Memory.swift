internal import CLinuxShims

package enum Memory {
    /// What is given back stays with the process for the next who asks, up to so many bytes at a time. Called before the
    /// first thread.
    package static func keep(_ bytes: Int32) { tr_keep_memory(bytes) }

    /// However many threads come and go, they share so many heaps: each keeps what was its most. Called before the first
    /// thread.
    package static func shareHeaps(_ count: Int32) { tr_limit_arenas(count) }

    /// Gives to the system what nobody uses any more, whichever thread used it: some milliseconds, for a process that
    /// lives long.
    package static func giveBack() { tr_give_memory_back() }

    /// Before something long that needs little of the program: what of its code was needed until now leaves this process's
    /// memory, and what is needed again is taken from the system's. Costs some hundred page faults.
    package static func forgetCode() { tr_forget_code() }
}
