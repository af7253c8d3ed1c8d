import HTTPRules
import SystemIO
package import TransferModel

/// What makes two runs runs of the same job, in whatever process: the job's `name` if it is written, else its file's
/// path.
package struct JobIdentity: Hashable, Sendable {
    /// The name or path by which the store and the lock know the job.
    package let text: String

    /// Takes an identity that was stored.
    package init(text: String) { self.text = text }

    package init(of job: Job) {
        text = job.isNamed ? job.name : Self.place(of: job.file, in: job.baseDirectory, job.sha256)
    }

    /// The identity of one of several jobs that run together: the same as when it runs alone.
    init(of member: Job.Member) {
        text = member.isNamed ? member.name : Self.place(of: member.file, in: member.baseDirectory, member.sha256)
    }

    /// Returns the path of the job file. Links in the folder's path lead to the same job; a link to the file is a job
    /// of its own, since its relative paths start elsewhere. A job on standard input is known by its text's hash, so
    /// that two jobs piped from one folder at the same time are two.
    private static func place(of file: String, in baseDirectory: String, _ sha256: LateText?) -> String {
        if file == "-" { return "\(baseDirectory)/-\(sha256?.text ?? "")" }
        let (folder, name) = Folders.split(file)
        // A folder whose name is not UTF-8 still differs from its neighbours.
        let absolute = Folders.resolved(folder).map { $0.text ?? NotText($0.bytes).escaped } ?? folder
        return absolute == "/" ? "/\(name)" : "\(absolute)/\(name)"
    }

    /// The lock file's name, `<fingerprint>.lock`, so that a job may have any name. No stronger hash is needed: each
    /// user has a folder of their own, and the lock is taken before libcrypto is loaded.
    var lockName: String {
        var fingerprint = Fingerprint()
        fingerprint.add(text)
        return String(UInt64(bitPattern: fingerprint.value), radix: 16) + ".lock"
    }
}
