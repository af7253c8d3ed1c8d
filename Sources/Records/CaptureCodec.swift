package import TransferModel

// The values that a task captured, as bytes and back. Secrets are among them: the bytes are for encrypted storage only.

extension RecordWriter {
    /// Appends captured values, secret ones in the clear.
    package mutating func put(_ captures: [CapturedValue]) {
        put(captures) { writer, capture in
            writer.put(capture.name)
            writer.put(capture.text)
            writer.put(capture.value)
            writer.put(capture.isSecret)
            writer.put(capture.hosts) { $0.put($1) { $0.put($1.description) } }
        }
    }
}

extension RecordReader {
    /// Reads captured values.
    package mutating func captures() throws(RecordProblem) -> [CapturedValue] {
        try list { (reader) throws(RecordProblem) in
            let name = try reader.text()
            let text = try reader.text()
            let value = try reader.plainValue()
            let isSecret = try reader.flag()
            let hosts = try reader.optional { (reader) throws(RecordProblem) in
                try reader.list { (reader) throws(RecordProblem) in try reader.hostPattern() }
            }
            return CapturedValue(name: name, text: text, value: value, isSecret: isSecret, hosts: hosts)
        }
    }

    private mutating func hostPattern() throws(RecordProblem) -> HostPattern {
        guard let pattern = HostPattern(try text()) else { throw problem(.malformed, "a host's pattern is none") }
        return pattern
    }
}
