package import TransferModel

// The values that a task captured, as bytes and back. Secrets are among them: the bytes are for encrypted storage only.

extension RecordWriter {
    /// Appends captured values, secret ones in the clear.
    package mutating func put(_ captures: [CapturedValue]) {
        put(captures) { writer, capture in
            writer.put(capture.name)
            writer.put(capture.text)
            writer.put(capture.value)
            let secrecy: UInt8 = !capture.isSecret ? 0 : capture.secretParts == nil ? 1 : 2
            writer.put(byte: secrecy + (capture.answers.isEmpty ? 0 : 3))
            writer.put(capture.hosts) { $0.put($1) { $0.put($1.description) } }
            if let parts = capture.secretParts { writer.put(parts.sorted()) { $0.put($1) } }
            guard !capture.answers.isEmpty else { return }
            writer.put(capture.answers) { writer, answer in
                writer.put(answer.first)
                writer.put(answer.url)
            }
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
            let form = try reader.byte()
            guard form < 6 else { throw reader.problem(.unknown, "form \(form) is unknown") }
            let secrecy = form % 3
            let hosts = try reader.optional { (reader) throws(RecordProblem) in
                try reader.list { (reader) throws(RecordProblem) in try reader.hostPattern() }
            }
            var parts: Set<String>?
            if secrecy == 2 {
                parts = Set(try reader.list { (reader) throws(RecordProblem) in try reader.text() })
            }
            var capture = CapturedValue(
                name: name, text: text, value: value, isSecret: secrecy > 0, hosts: hosts, secretParts: parts)
            if form >= 3 {
                capture.answers = try reader.list { (reader) throws(RecordProblem) in
                    CapturedValue.AnswerPlace(first: try reader.int(), url: try reader.text())
                }
            }
            return capture
        }
    }

    private mutating func hostPattern() throws(RecordProblem) -> HostPattern {
        guard let pattern = HostPattern(try text()) else { throw problem(.malformed, "a host's pattern is none") }
        return pattern
    }
}
