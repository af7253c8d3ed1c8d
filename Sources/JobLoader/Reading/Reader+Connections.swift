import TransferModel
import YAMLTree

extension ConnectionRange: Blank { static var blank: ConnectionRange { .standard } }

extension Reader {
    /// Reads `maximumConnectionsPerHost`: a number, `auto`, or bounds between which the number is found.
    func connections(_ node: NodeID, into session: inout SessionConfiguration) {
        if tree.kind(node) == .mapping { return connectionBounds(node, into: &session) }
        let shape = Shape.either([.integer(Sections.connectionCounts), .choice(["auto"])])
        switch scalar(node, shape) {
        case .text(let text) where text.plain == "auto":
            (session.connectionRange, session.maximumConnectionsPerHost) = (.standard, ConnectionRange.standard.maximum)
        case .text(let text) where !tree.hasDollar(node) && text.plain.flatMap { ValueText.integer($0) } == nil:
            wrongType(node, shape)
        case .number, .text:
            guard let count = integer(node, Sections.connectionCounts) else { return }
            (session.connectionRange, session.maximumConnectionsPerHost) = (nil, Int(count))
        case .boolean, .null: wrongType(node, shape)
        case .unknown, nil: break
        }
    }

    private func connectionBounds(_ node: NodeID, into session: inout SessionConfiguration) {
        var range = session.connectionRange ?? .blank
        Sections.connectionRange.decode(node, into: &range, self)
        guard range.minimum <= range.maximum else {
            return error(
                "out-of-range", "`minimum` is \(range.minimum), and `maximum` is \(range.maximum)",
                hint: "`minimum` must not be above `maximum`; left out they are 2 and 16", at: beginning(node))
        }
        (session.connectionRange, session.maximumConnectionsPerHost) = (range, range.maximum)
    }
}
