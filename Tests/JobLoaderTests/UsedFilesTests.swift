import JobLoader
import Testing
import TransferModel

/// The files that a job reads and runs, which a name chosen by a server must not take.
struct UsedFilesTests {
    private func used(_ text: String) -> [String] {
        let job = load(text).job
        return (job?.reserved ?? []).filter(\.mayBeNamed).map(\.path)
    }

    private let uses = """
        tasks:
          - { id: up, type: upload, url: "https://a.test/u", body: { file: body.bin } }
          - { id: form, url: "https://a.test/m", method: POST, body: { multipart: [{ name: p, file: d/part }] } }
          - { id: local, url: "file:///src/f", to: out/f }
          - { id: ends, url: "https://a.test/e", to: e, onFinish: [sh, ./hook.sh, --data=x.json, -v] }

        """

    @Test func filesAndWordsOfCommands_areUsed_whereAServerMayChooseAName() {
        let found = used(uses + "  - { id: any, url: \"https://a.test/x\", to: ./ }\n")
        for path in ["body.bin", "d/part", "hook.sh", "x.json"] {
            #expect(found.contains { $0.hasSuffix("/" + path) }, "\(path) \(found)")
        }
        #expect(found.contains("/src/f"))
        #expect(!found.contains { $0.hasSuffix("/-v") || $0.hasSuffix("/") })
    }

    @Test func nothingIsUsed_whereTheJobNamesEveryFile() { #expect(used(uses).isEmpty) }
}
