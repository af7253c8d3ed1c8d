import TransferModel
import YAMLTree

extension ConnectionRange: Blank { static var blank: ConnectionRange { .standard } }

extension Reader {
    /// Reads `maximumConnectionsPerHost`: a number, `auto`, or bounds between which the number is found.
    func connections(_ node: NodeID, into session: inout SessionConfiguration) {
        if tree.kind(node) == .mapping {
            var range = ConnectionRange.blank
            Sections.connectionRange.decode(node, into: &range, self)
            guard range.minimum <= range.maximum else {
                return error(
                    "out-of-range", "`minimum` is \(range.minimum), and `maximum` is \(range.maximum)",
                    hint: "`minimum` must not be above `maximum`; left out they are 2 and 16", at: beginning(node))
            }
            (session.connectionRange, session.maximumConnectionsPerHost) = (range, range.maximum)
        } else if isWord(node, "auto") {
            (session.connectionRange, session.maximumConnectionsPerHost) = (.standard, ConnectionRange.standard.maximum)
        } else if let count = connectionCount(node) {
            (session.connectionRange, session.maximumConnectionsPerHost) = (nil, count)
        }
    }

    private func connectionCount(_ node: NodeID) -> Int? {
        let shape = Shape.either([.integer(Sections.connectionCounts), .choice(["auto"])])
        switch scalar(node, shape) {
        case .number: return integer(node, Sections.connectionCounts).map { Int($0) }
        case .text where hasDollar(node): return integer(node, Sections.connectionCounts).map { Int($0) }
        case .text, .boolean, .null: wrongType(node, shape)
        case .unknown, nil: break
        }
        return nil
    }
}
