/// An unfinished file under a temporary name, and what proves its bytes.
package struct PartFile: Hashable, Sendable {
    /// The file's name, in the folder of the download's destination.
    package var name: String
    /// How many of its bytes count, from the beginning; what lies behind them may be anything.
    package var size: Int64
    /// Checksum of these bytes, as `QuickSum` makes it.
    package var sum: [UInt8]
    /// Shorter beginnings, the shortest first. After a power cut the file may be shorter than `size`, or end in zeros.
    package var earlier: [Beginning]
    /// What was written beyond `size`; `nil` if nothing was.
    package var scattered: Scattered?

    /// A beginning of the file and its checksum.
    package struct Beginning: Hashable, Sendable {
        /// Length in bytes.
        package var size: Int64
        /// Checksum of these bytes, as `QuickSum` makes it.
        package var sum: [UInt8]

        package init(size: Int64, sum: [UInt8]) {
            self.size = size
            self.sum = sum
        }
    }

    /// Ranges without a checksum. A killed process leaves them as it wrote them, for they are in the system's memory; a
    /// power cut may not. So they count in the same file alone, and until the system starts anew.
    package struct Scattered: Hashable, Sendable {
        /// The ranges, in order; no two of them touch.
        package var ranges: [Range<Int64>]
        /// What tells the file from others of its name, as in `FileStamp`.
        package var identity: Int64
        /// Number of the system's start in which they were written.
        package var boot: Int64

        package init(ranges: [Range<Int64>], identity: Int64, boot: Int64) {
            self.ranges = ranges
            self.identity = identity
            self.boot = boot
        }
    }

    package init(
        name: String, size: Int64, sum: [UInt8], earlier: [Beginning] = [], scattered: Scattered? = nil
    ) {
        self.name = name
        self.size = size
        self.sum = sum
        self.earlier = earlier
        self.scattered = scattered
    }

    /// The part as it counts in that start of the system.
    package func counting(in boot: Int64?) -> PartFile {
        var part = self
        if scattered?.boot != boot { part.scattered = nil }
        return part
    }

    /// Length in bytes from which a body that is still coming in gets a name without a note, so that a later run finds it
    /// after a crash.
    package static let smallest: Int64 = 1 << 20
    /// Length in bytes from which an unfinished download is kept when its task ends.
    package static let leastLeft: Int64 = 64 << 10
    /// Greatest number of bytes that a kill may cost: a file up to that length gets no note.
    package static let dispensable: Int64 = 256 << 10
}

/// What is noted of an unfinished file at each write, so that a kill right after it costs nothing.
package struct PartNote: Hashable, Sendable {
    /// The file; `scattered` is left to whoever knows which start of the system this is.
    package var part: PartFile
    /// What tells the file from others of its name.
    package var identity: Int64
    /// Ranges that were written beyond the part's size.
    package var beyond: [Range<Int64>]
    /// The final name that the whole file is given next, and the file as it is then; `nil` before.
    package var final: Final?

    /// A whole file and its name.
    package struct Final: Hashable, Sendable {
        /// The name, in the folder of the download's destination.
        package var name: String
        /// The file as it gets that name.
        package var stamp: FileStamp

        package init(name: String, stamp: FileStamp) {
            self.name = name
            self.stamp = stamp
        }
    }

    package init(part: PartFile, identity: Int64, beyond: [Range<Int64>] = [], final: Final? = nil) {
        self.part = part
        self.identity = identity
        self.beyond = beyond
        self.final = final
    }
}

/// Chooses which beginnings of a growing file stay noted: few, and the closer to its end, the closer together, for a power
/// cut takes what was written last. Pure.
package struct PartBeginnings: Hashable, Sendable {
    /// The beginnings, the shortest first.
    package private(set) var all: [PartFile.Beginning]
    /// Greatest number of beginnings.
    package static let most = 12

    package init(_ all: [PartFile.Beginning] = []) { self.all = all }

    /// Adds a longer beginning. One too many goes: that whose neighbours are closest to each other, measured by how far
    /// they are from the end.
    package mutating func add(_ next: PartFile.Beginning) {
        guard next.size > all.last?.size ?? 0 else { return }
        all.append(next)
        guard all.count > Self.most else { return }
        var (least, place) = (Double.infinity, 0)
        for index in 0..<(all.count - 2) {
            let before = index == 0 ? 0 : all[index - 1].size
            let gap = Double(all[index + 1].size - before) / Double(next.size - all[index].size)
            if gap < least { (least, place) = (gap, index) }
        }
        all.remove(at: place)
    }

    /// Keeps those up to a size.
    package mutating func cut(at size: Int64) { all.removeAll { $0.size > size } }
}
