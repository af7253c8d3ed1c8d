internal import Glibc

/// Input, output and errors of the process.
package enum StandardDescriptors {
    /// Opens `/dev/null` for each standard descriptor that was closed before the program began: otherwise the next
    /// opened file would take its number and receive messages meant for people. Writing to a closed output fails, as
    /// before.
    package static func occupy() {
        for number in Int32(0)...2 where fcntl(number, F_GETFD) < 0 {
            // The lowest free number is this one, since those before it are taken.
            _ = unsafe open("/dev/null", number == 1 ? O_RDONLY : O_RDWR)
        }
    }
}
