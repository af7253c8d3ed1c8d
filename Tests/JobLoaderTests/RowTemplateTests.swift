import Diagnostics
import JobLoader
import Testing
import TransferModel

/// Tasks that are made of what another task brought.
struct RowTemplateTests {
    private static let index = """
        tasks:
          - { id: index, url: https://a.test/Packages.xz, to: Packages.xz }

        """

    private static let debs = """
          - { id: "deb-${d.index}", forEach: { d: { debian: { task: index } } }, url: "https://a.test/${d.Filename}", \
        to: "./${d.Filename}", checksum: "sha256:${d.SHA256}", description: "${d.Version:-none}" }

        """

    private static let list = RowList(
        task: "index", format: .debian, fields: RowFields(needed: ["Filename", "SHA256"], optional: ["Version"]))

    private func captured(_ list: RowList, _ rows: [PlainValue]) -> CapturedValues {
        var captured = CapturedValues()
        captured.keep([CapturedValue(name: RowList.name, text: "", value: .list(rows))], of: list.key)
        return captured
    }

    private func row(_ fields: KeyValuePairs<String, PlainValue>) -> PlainValue {
        .map(fields.map { PlainValue.Entry(key: $0.key, value: $0.value) })
    }

    private func expand(_ text: String, _ captured: CapturedValues) -> LoadResult {
        let source = SourceText(name: "/job/jobs.yaml", bytes: Array(text.utf8))
        return JobLoader.load(
            source, options: LoadOptions(), resources: world(),
            templates: TemplateValues(order: [0], captured: captured))
    }

    private static let sum = String(repeating: "ab", count: 32)

    @Test func aTemplateNamesItsListAndTheFieldsInUse() throws {
        let job = try #require(load(Self.index + Self.debs).job, "\(load(Self.index + Self.debs).messages)")
        let template = try #require(job.tasks[1].options.values.template)
        #expect(template.lists == [Self.list] && template.sources == [Self.list.key])
        #expect(job.tasks[1].needs == [TaskIndex(raw: 0)] && job.tasks[0].options.values.leavesRows)
        #expect(template.sourceWords == "`index` brought")
    }

    @Test func eachRowIsATask() throws {
        let captured = captured(
            Self.list,
            [
                row(["Filename": .string("pool/a b.deb"), "SHA256": .string(Self.sum), "Version": .string("1.0")]),
                row(["Filename": .string("pool/c.deb"), "SHA256": .string(Self.sum)]),
            ])
        let result = expand(Self.index + Self.debs, captured)
        let job = try #require(result.job, "\(result.messages)")
        #expect(job.tasks[2...].map(\.id) == ["deb-1", "deb-2"])
        #expect(job.tasks[2...].allSatisfy { $0.needs == [TaskIndex(raw: 0)] })
        let filled = try job.tasks[2...].map { try $0.filled(from: captured) }
        #expect(filled.map(\.location.shown) == ["https://a.test/pool/a%20b.deb", "https://a.test/pool/c.deb"])
        #expect(filled.map(\.destination) == ["/job/./pool/a b.deb", "/job/./pool/c.deb"])
        #expect(filled.map { $0.options.values.description } == ["1.0", "none"])
        guard case .literal(let checksum)? = filled[0].options.values.checksum else {
            Issue.record("no checksum")
            return
        }
        #expect(checksum.description == "sha256:\(Self.sum)")
    }

    @Test(
        arguments: [
            (["Filename": .string("a")], "row 1 of what `index` brought has no `SHA256`"),
            (
                ["Filename": .null, "SHA256": .string("x")],
                "row 1 of what `index` brought: `${d.Filename}` is null, no text"
            ),
            (
                ["Filename": .list([]), "SHA256": .string("x")],
                "row 1 of what `index` brought: `${d.Filename}` is a list"
            ),
        ] as [([String: PlainValue], String)]) func aRowThatLacksAField_isNamed(
            _ fields: [String: PlainValue], _ told: String
        )
    {
        let row = PlainValue.map(fields.map { PlainValue.Entry(key: $0.key, value: $0.value) })
        let result = expand(Self.index + Self.debs, captured(Self.list, [row]))
        #expect(result.job == nil && result.messages.contains(told), "\(result.messages)")
    }

    @Test(arguments: ["../../etc/passwd", "/../../x", "a/../../../b"]) func noRowLeavesItsFolder(_ name: String) throws
    {
        let captured = captured(
            Self.list, [row(["Filename": .string(name), "SHA256": .string(Self.sum)])])
        let job = try #require(expand(Self.index + Self.debs, captured).job)
        do throws(TransferError) {
            _ = try job.tasks[2].filled(from: captured)
            Issue.record("`\(name)` was taken")
        } catch {
            #expect(error.name == .captureUnusable, "\(error.message)")
            #expect(error.message.contains("`Filename` of row 1 of what `index` brought"), "\(error.message)")
        }
    }

    @Test func aRowMayNotBeginAPath() {
        let text = Self.index + Self.debs.replacing("./${d.Filename}", with: "${d.Filename}")
        #expect(load(text).summary.count == 1 && load(text).summary[0].hasSuffix("path-from-network"))
        #expect(load(text).messages.contains("or `./`"), "\(load(text).messages)")
    }

    @Test(arguments: [
        ("{ lines: { task: nothing } }", "unknown-task"), ("{ lines: { task: send } }", "not-for-type"),
        ("{ lines: { task: out } }", "not-for-type"), ("{ lines: { task: index }, path: $.x }", "conflicting-keys"),
        ("{ json: { task: index, path: $.a }, path: $.b }", "conflicting-keys"),
        ("{ xml: { task: index } }", "missing-key"),
        ("{ json: { task: index, path: a } }", "invalid-json-path"),
        ("{ xml: { task: index, path: a } }", "invalid-value"),
        ("{ links: { task: index, match: \"(\" } }", "invalid-regex"), ("{ links: { match: x } }", "missing-key"),
        ("{ json: { task: index, file: f, path: $.a } }", "conflicting-keys"), ("{ debian: index }", "wrong-type"),
        ("{ csv: { task: index }, lines: { task: index } }", "conflicting-keys"),
    ]) func whatIsWrongWithAList(_ list: String, _ code: String) {
        let text =
            Self.index + """
                  - { id: send, url: https://a.test/, body: { data: x } }
                  - { id: out, url: https://a.test/, to: "-" }
                  - { id: "t-${d.index}", forEach: { d: \(list) }, url: "https://a.test/${d.index}" }

                """
        let result = load(text)
        #expect(result.summary.contains { $0.hasSuffix(code) }, "\(result.summary): \(result.messages)")
        #expect(result.job == nil)
    }

    /// The fields of some lists are known before they come.
    @Test func anUnknownFieldOfAKnownList_isAnErrorAtOnce() {
        let text = Self.index + Self.debs.replacing("debian: {", with: "checksums: {")
        let result = load(text)
        #expect(
            result.messages.contains("unknown name `d.Filename` (`d` has `path`, `checksum`, `size`, `index`)"),
            "\(result.messages)")
    }

    /// What one list's rows are does not depend on another list of the same task.
    @Test func listsOfOneTaskAreKeptApart() throws {
        let text =
            Self.index + """
                  - { id: "a-${d.index}", forEach: { d: { csv: { task: index } } }, url: "${d.url}" }
                  - { id: "b-${d.index}", forEach: { d: { csv: { task: index } } }, url: "${d.mirror}" }
                  - { id: "c-${e.index}", forEach: { e: { csv: { task: index } } }, url: "${e.url}" }

                """
        let job = try #require(load(text).job, "\(load(text).messages)")
        let lists = job.tasks.compactMap { $0.options.values.template?.lists.first }
        #expect(lists.count == 3 && lists[0] != lists[1] && lists[0].key != lists[1].key && lists[0] == lists[2])
    }

    /// A task whose defaults alone use the rows waits for them, too.
    @Test func defaultsMayUseTheRows() throws {
        let text = """
            defaults: { url: "https://a.test/${d.name}", to: "out/${d.name}" }
            tasks:
              - { id: index, url: https://a.test/list, to: list }
              - { id: "t-${d.index}", forEach: { d: { csv: { task: index } } } }

            """
        let list = RowList(task: "index", format: .csv, fields: RowFields(optional: ["name"]))
        let captured = captured(list, [row(["name": .string("x")])])
        let job = try #require(expand(text, captured).job, "\(expand(text, captured).messages)")
        let task = try #require(job.tasks.last).filled(from: captured)
        #expect(task.location.shown == "https://a.test/x" && task.destination == "/job/out/x")
        #expect(job.tasks.last?.needs == [TaskIndex(raw: 0)])
    }
}
