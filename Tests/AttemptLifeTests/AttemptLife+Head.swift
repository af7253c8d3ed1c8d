import AttemptLife
import HTTPRules
import TransferModel

extension AttemptLife {
    /// An answer to a session that knows nothing and learns nothing.
    func head(status: Int, version: HTTPProtocol, headers: HeaderBlock) -> HeadDecision {
        var lore = SessionState()
        return head(
            status: status, version: version, headers: headers, sessionState: &lore, at: WallTime(nanoseconds: 0))
    }
}
