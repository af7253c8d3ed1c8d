package import TransferModel

// What a task captured, as bytes and back: secrets among it, so that it is for sealed places only.

extension RecordWriter {
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
