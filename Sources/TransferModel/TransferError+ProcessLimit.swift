extension TransferError {
    /// Whether the process had no descriptor left for what was to be opened, or no thread or process for what was to be
    /// begun: the same may be possible when others have ended. The numbers are those of Linux.
    package var isOfProcessLimit: Bool {
        switch errno {
        case 24, 23: true  // EMFILE, ENFILE
        // EAGAIN and ENOMEM of a thread or command that cannot be started. Of a connection they mean something else.
        case 11, 12: curl == nil && !name.isOfServer
        default: false
        }
    }
}
