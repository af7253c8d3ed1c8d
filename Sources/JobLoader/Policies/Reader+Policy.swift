import Diagnostics
import HTTPRules
import TransferModel
import YAMLTree

/// The policy that a job is read under.
struct HeldReading {
    /// The rules.
    let policy: Policy
    /// The rules for URLs among them.
    let rewrites: RedirectRewrites

    init(_ policy: Policy) {
        self.policy = policy
        rewrites = RedirectRewrites([], imposed: policy.rewrite)
    }
}

/// What an operator's policy says of a job's values while they are read.
extension Reader {
    /// The operator's rules; `nil` without any.
    var policy: Policy? { held?.policy }

    /// Returns where the policy's `rewrite` leads a URL of the job; `nil` where that is none, which is reported. The page
    /// that a request belongs to is asked for by nobody.
    func rewritten(_ url: ResourceURL, _ node: NodeID) -> ResourceURL? {
        guard let rewrites = held?.rewrites, !rewrites.isEmpty, key.description != "mainDocument" else { return url }
        do throws(TransferError) { return try rewrites.target(for: url) ?? url } catch {
            return self.error(Policy.code, error.message, node)
        }
    }

    /// Refuses a session that checks no certificates, at the word that says so.
    func refuseInsecure(_ node: NodeID) {
        guard let rule = policy?.insecure, !rule.value else { return }
        refuse(
            "tls.insecure", rule.place,
            "`policy: insecure` checks no certificates, and \(Policy.words)\(rule.place) forbids that",
            at: tree.span(node))
    }

    /// Refuses a session whose highest version of TLS is below the policy's lowest.
    func refuseOldTLS(_ tls: TLSConfiguration, at span: @autoclosure () -> SourceSpan) {
        guard let floor = policy?.minimumTLS, let most = tls.maximum, most < floor.value else { return }
        refuse(
            "tls.minimum", floor.place,
            "`tls.maximum` is \(most.rawValue), and \(Policy.words)\(floor.place) allows no version below "
                + "\(floor.value.rawValue)", at: span())
    }

    private func refuse(_ rule: String, _ place: String, _ message: String, at span: SourceSpan) {
        let refusal = AccessRefusal(code: Policy.code, rule: rule, place: place, message: message, hint: nil)
        refuse(refusal, at: span)
        access?.add(refused: refusal, line: span.line)
    }

    /// Puts the job that was read under the policy: its sessions, and its number of tasks. Limits of the run are held when it
    /// is known what else the command line says; here they are told.
    func hold(_ job: inout Job, to policy: Policy) {
        job.policy = policy
        let notes = job.sessions.indices.flatMap { job.sessions[$0].hold(to: policy) }
        var bounded = job
        access?.notes = notes + bounded.holdLimits()
        let tasks = job.tasks.filter { !$0.isTemplate }
        guard let refusal = policy.refusal(ofTasks: tasks.count), let most = policy.limits.tasks?.value else { return }
        let line = Int(tasks[min(most, tasks.count - 1)].line)
        refuse(refusal.rule, refusal.place, refusal.message, at: SourceSpan(line: line, column: 1))
    }
}

extension Policy {
    /// The code of the diagnostics about what a policy refuses.
    package static let code = "policy"

    /// Returns why a thing that the job would do is refused; `nil` if it is not. `host` is the place of a `.host`.
    func refusal(of kind: JobAccess.Kind, _ what: String, _ host: HostAndPort?) -> AccessRefusal? {
        switch kind {
        case .command:
            guard let rule = commands, !rule.value else { return nil }
            return AccessRefusal(
                code: Self.code, rule: "commands", place: rule.place,
                message: "`\(Reader.short(what))` would run, and \(Self.words)\(rule.place) lets a job run no command",
                hint: nil)
        case .host:
            // A name that comes from an answer is judged when it is there.
            guard let host, let refusal = hosts.refusal(ofHost: host.host, port: host.port ?? 0) else { return nil }
            return AccessRefusal(
                code: Self.code, rule: refusal.rule, place: refusal.place, message: refusal.message, hint: nil)
        case .read, .write, .remove, .environment, .secret, .key, .socket, .background: return nil
        }
    }
}
