import JobLoader
import Testing
import TransferModel

/// Uploads with `to`, and bodies of other methods.
struct SavedAnswerTests {
    private func upload(_ keys: String, head: String = "") -> LoadResult {
        load(head + "tasks: [{ id: t, url: https://e.org/t, type: upload, body: { file: sent }, \(keys) }]")
    }

    @Test func anUploadsTo_isWhereItsAnswerGoes() throws {
        let result = upload("to: answer.json")
        #expect(result.messages == "")
        let task = try #require(result.job?.tasks.first)
        #expect(task.type == .upload && task.destination == "/job/answer.json" && task.savesAnswer)
        #expect(try #require(upload("to: \"-\"").job?.tasks.first).toStandardOutput)
        #expect(upload("to: \"-\", existing: replace").messages == "")
    }

    /// Without a type a task with both is a download that sends a body, and a `to` of `defaults` is for downloads.
    @Test func whatIsNoOwnToOfAnUpload_staysWhatItWas() throws {
        let both = load("tasks: [{ id: t, url: https://e.org/t, body: { data: x }, to: f }]")
        #expect(both.job?.tasks.first?.type == .download)
        let task = try #require(upload("method: PUT", head: "defaults: { to: out/ }\n").job?.tasks.first)
        #expect(task.destination == nil && !task.savesAnswer)
    }

    @Test(arguments: [
        ("to: a, method: PUT, existing: skip", "`existing: skip` of an upload and `to` exclude each other"),
        ("to: a, method: PUT, existing: revalidate", "`existing: revalidate` of an upload and `to`"),
        ("to: s3://bucket/key", "cannot become an object of a store"),
        ("to: ./sent", "would replace the file that is sent"),
        ("to: a, group: g", "an upload with `to` and `group` exclude each other"),
    ])
    func whatDoesNotFitASavedAnswer_isTold(_ keys: String, _ words: String) {
        let messages = upload(keys, head: keys.contains("group") ? "groups: { g: { to: g } }\n" : "").messages
        #expect(messages.contains(words), "\(messages)")
    }

    @Test func twoTasksWithOneFile_areAnErrorForUploadsToo() {
        let tasks =
            "tasks: [{ id: a, url: https://e.org/a, to: f }, { id: b, url: https://e.org/b, type: upload, body: { data: x }, to: f }]"
        #expect(load(tasks).messages.contains("both write `f`"))
    }

    @Test func aBodyGoesWithGet_andNotWithHead() throws {
        let get = load("tasks: [{ id: t, url: https://e.org/t, method: GET, body: { json: { q: 1 } } }]")
        #expect(get.messages == "" && get.job?.tasks.first?.effectiveMethod == "GET")
        let head = load("tasks: [{ id: t, url: https://e.org/t, method: HEAD, body: { data: x } }]")
        #expect(head.messages.contains("a HEAD request has no body"))
    }
}
