import Records
import TransferModel

/// The bytes of what proves a partial file beside its length and sum.
enum PartProofs {
    /// Returns the bytes; `nil` where nothing else proves it.
    static func encode(_ part: PartFile) -> [UInt8]? {
        guard !part.earlier.isEmpty || part.scattered != nil else { return nil }
        var writer = RecordWriter()
        writer.put(part.earlier) { $0.put($1) }
        writer.put(part.scattered) { writer, scattered in
            writer.put(ranges: scattered.ranges)
            writer.put(scattered.identity)
            writer.put(scattered.boot)
        }
        return writer.bytes
    }

    /// Adds them to the part. What cannot be read proves nothing.
    static func decode(_ bytes: [UInt8], into part: inout PartFile) {
        var reader = RecordReader(bytes)
        do throws(RecordProblem) {
            let earlier = try reader.list { (reader) throws(RecordProblem) in try reader.beginning() }
            let scattered = try reader.optional { (reader) throws(RecordProblem) in
                PartFile.Scattered(
                    ranges: try reader.ranges(), identity: try reader.int64(), boot: try reader.int64())
            }
            try reader.finish()
            (part.earlier, part.scattered) = (earlier, scattered)
        } catch {
            (part.earlier, part.scattered) = ([], nil)
        }
    }
}

extension RecordWriter {
    /// Writes a beginning and its sum.
    mutating func put(_ beginning: PartFile.Beginning) {
        put(beginning.size)
        put(beginning.sum)
    }

    /// Writes ranges, as `RecordReader.ranges` reads them.
    mutating func put(ranges: [Range<Int64>]) {
        put(ranges) { writer, range in
            writer.put(range.lowerBound)
            writer.put(range.upperBound)
        }
    }
}

extension RecordReader {
    /// Reads a beginning and its sum.
    mutating func beginning() throws(RecordProblem) -> PartFile.Beginning {
        PartFile.Beginning(size: try int64(), sum: try blob())
    }

    /// Reads ranges; refuses those that are empty, or not in order with a gap between any two.
    mutating func ranges() throws(RecordProblem) -> [Range<Int64>] {
        var end: Int64 = -1
        return try list { (reader) throws(RecordProblem) in
            let (first, last) = (try reader.int64(), try reader.int64())
            guard first > end, last > first else { throw reader.problem(.malformed, "that is no range") }
            end = last
            return first..<last
        }
    }
}
