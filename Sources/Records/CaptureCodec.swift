package import TransferModel

// The values that a task captured, as bytes and back. Secrets are among them: the bytes are for encrypted storage only.

extension RecordWriter {
    /// Appends captured values, secret ones in the clear.
    package mutating func put(_ captures: [CapturedValue]) {
        put(captures) { writer, capture in
            writer.put(capture.name)
            writer.put(capture.text)
            writer.put(capture.value)
            writer.put(byte: !capture.isSecret ? 0 : capture.secretParts == nil ? 1 : 2)
            writer.put(capture.hosts) { $0.put($1) { $0.put($1.description) } }
            if let parts = capture.secretParts { writer.put(parts.sorted()) { $0.put($1) } }
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
            let secrecy = try reader.byte()
            guard secrecy < 3 else { throw reader.problem(.unknown, "secrecy \(secrecy) is unknown") }
            let hosts = try reader.optional { (reader) throws(RecordProblem) in
                try reader.list { (reader) throws(RecordProblem) in try reader.hostPattern() }
            }
            var parts: Set<String>?
            if secrecy == 2 {
                parts = Set(try reader.list { (reader) throws(RecordProblem) in try reader.text() })
            }
            return CapturedValue(
                name: name, text: text, value: value, isSecret: secrecy > 0, hosts: hosts, secretParts: parts)
        }
    }

    private mutating func hostPattern() throws(RecordProblem) -> HostPattern {
        guard let pattern = HostPattern(try text()) else { throw problem(.malformed, "a host's pattern is none") }
        return pattern
    }
}
