import TextFormats
import TransferModel

extension ServiceHello {
    /// The greeting as a frame.
    package var frame: [UInt8] {
        Frame.write("hello") { writer in
            writer.key("protocol")
            writer.beginArray()
            writer.integer(Int64(protocols.lowerBound))
            writer.integer(Int64(protocols.upperBound))
            writer.endArray()
            writer.member("version", version)
            writer.member("pid", Int64(process))
            if let started { writer.member("started", started) }
            if let state { writer.member("state", state) }
        }
    }

    /// Reads the first frame of a conversation. Unknown members are ignored, since a later version may have added them
    /// and no version is agreed on yet.
    package static func parse(_ frame: [UInt8]) throws(ServiceProblem) -> ServiceHello {
        var members = try MessageMembers(frame)
        guard members.type == "hello" else {
            throw ServiceProblem("`\(members.type.prefix(64))` came first: a conversation begins with `hello`")
        }
        return try ServiceHello(&members)
    }

    private init(_ members: inout MessageMembers) throws(ServiceProblem) {
        let bounds = (try members.elements("protocol") ?? []).map { bound -> Int? in
            if case .number(let digits) = bound { Int(digits) } else { nil }
        }
        guard bounds.count == 2, let lowest = bounds[0], let highest = bounds[1], lowest >= 1, lowest <= highest else {
            throw ServiceProblem("`protocol` of `hello` must be the lowest and the highest version, such as `[1,1]`")
        }
        self.init(
            version: try members.text("version", limit: 256), protocols: lowest...highest,
            process: try members.number("pid", Int32.self),
            started: try members.textIfAny("started", limit: 64).flatMap { RFC3339.parse($0) },
            state: try members.textIfAny("state"))
    }
}
