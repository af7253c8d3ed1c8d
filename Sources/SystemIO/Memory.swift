internal import CLinuxShims

package enum Memory {
    /// What is given back stays with the process for the next who asks, up to so many bytes at a time. Called before the
    /// first thread.
    package static func keep(_ bytes: Int32) { tr_keep_memory(bytes) }
}
