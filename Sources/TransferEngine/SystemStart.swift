import HTTPRules
import SystemIO
import TransferModel

/// Which start of the system this is.
enum SystemStart {
    /// Four bytes of it are enough. Where the kernel does not tell, each process counts as a start.
    static let number: Int64 = {
        guard let start = CurrentProcess.bootID() else { return Clocks.wall().nanoseconds }
        var print = Fingerprint()
        print.add(start + "\n")
        return print.value & 0x7FFF_FFFF
    }()
}
