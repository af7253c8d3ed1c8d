/// Reads the kernel's list of file locks, `/proc/locks`.
package enum LockTable {
    /// Returns the process that holds the file's `flock`; `nil` if there is none or this process cannot see it.
    package static func holder(of file: borrowing Descriptor) -> Int32? {
        guard let facts = try? file.facts(), let bytes = try? WholeFile.read("/proc/locks", limit: 4 << 20) else {
            return nil
        }
        return holder(device: facts.device, inode: facts.inode, in: String(decoding: bytes, as: UTF8.self))
    }

    /// Finds the holder in a table with lines such as `1: FLOCK ADVISORY WRITE 4242 fd:01:1311075 0 EOF`; a waiting
    /// process's line has `->` after the number.
    package static func holder(device: UInt64, inode: UInt64, in table: String) -> Int32? {
        let place = "\(hex(major(device))):\(hex(minor(device))):\(inode)"
        for line in table.utf8.split(separator: 0x0A) {
            let words = line.split(separator: 0x20).map { String($0) ?? "" }
            guard words.count == 8, words[1] == "FLOCK", words[5] == place, let process = Int32(words[4]) else {
                continue
            }
            // 0 stands for a process that this one cannot see.
            if process > 0 { return process }
        }
        return nil
    }

    private static func hex(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return digits.utf8.count < 2 ? "0\(digits)" : digits
    }

    // The encoding by which the C library packs a device's two numbers into one.
    private static func major(_ device: UInt64) -> UInt64 { device >> 8 & 0xFFF | device >> 32 & ~0xFFF }
    private static func minor(_ device: UInt64) -> UInt64 { device & 0xFF | device >> 12 & ~0xFF }
}
