import TestSupport

/// What HTTP/1.1 is spoken over: what goes wrong with an answer must not depend on it.
enum Transport: CaseIterable {
    case plain, secure

    func server() throws -> ScriptedServer { try ScriptedServer(tls: self == .secure ? TLSOptions() : nil) }

    /// The `sessions` of a job that speaks to it; `more` are further keys of the session.
    func session(_ server: ScriptedServer, _ more: String = "") -> String {
        let trust = server.caFile.map { "tls: { trust: { ca: \($0) } }, " } ?? ""
        return "sessions: { default: { \(trust)http: { version: \"1.1\" }\(more) } }"
    }
}
