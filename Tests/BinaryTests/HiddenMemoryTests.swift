import Glibc
import SystemIO
import TestSupport
import Testing

/// A process that knows a secret is not looked into by other processes of its user: what is below its `/proc` is root's.
@Suite(.enabled(if: geteuid() == 0 && access("/usr/bin/setpriv", X_OK) == 0)) struct HiddenMemoryTests {
    /// The run is of a user who is not root, who reads `/proc/self` all the same: unnamed files get their names through it.
    @Test(arguments: [("", false), ("headers: { A: \"${secret.TOKEN}\" }", true), ("Basic", true)])
    func memoryIsHidden_fromTheFirstSecretOn(_ lines: String, _ isHidden: Bool) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/a", Script([.gate("answer")]) + .respond(200, body: "new"))
        let binary = try Binary()
        var job = "tasks: [{ id: a, url: \"\(server.url("/a"))\", to: a, \(lines) }]"
        if lines == "Basic" {
            // A secret that the run itself learns.
            job = """
                sessions: { s: { credentials: [{ host: 127.0.0.1, netrc: true, preemptive: true }] } }
                tasks: [{ id: a, url: "\(server.url("/a"))", to: a }]
                """
            try binary.home.write(".netrc", "machine 127.0.0.1 login me password long-enough-to-mask\n", mode: 0o600)
            #expect(chown(binary.home.path(".netrc"), 65534, 65534) == 0)
        }
        try binary.folder.write("job.yaml", job)
        for tree in [binary.folder, binary.home] { #expect(chown(tree.path, 65534, 65534) == 0) }
        let program = try binary.start(
            ["job.yaml"], environment: ["TOKEN": "value-of-a-secret"],
            under: ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"])
        #expect(happens { server.requests().count == 1 }, "\(program.errorOutputSoFar)")
        let owner = try FileFacts.of("/proc/\(program.processID)/environ").owner
        server.open(gate: "answer")
        let result = program.wait()
        #expect(result.exitStatus == 0, "\(result.errorText)")
        #expect(owner == (isHidden ? 0 : 65534))
        #expect(try binary.folder.text("a") == "new" && binary.folder.exists("job.report.json"))
    }
}
