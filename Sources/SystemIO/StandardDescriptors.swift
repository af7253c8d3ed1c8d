internal import Glibc

/// Input, output and errors of the process.
package enum StandardDescriptors {
    /// Whoever closed one of them before the program began would have the next file that is opened take its number, and all
    /// that is meant for people be written there. What is written to a closed output fails, as it would have.
    package static func occupy() {
        for number in Int32(0)...2 where fcntl(number, F_GETFD) < 0 {
            // The lowest free number is this one: those before it are taken.
            _ = unsafe open("/dev/null", number == 1 ? O_RDONLY : O_RDWR)
        }
    }
}
