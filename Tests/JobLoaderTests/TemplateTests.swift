import Diagnostics
import JobLoader
import TestSupport
import Testing
import TransferModel

/// Tasks that are made of what another task captures.
struct TemplateTests {
    private static let list = """
        tasks:
          - { id: list, url: https://api.test/, capture: { names: { json: "$[*]", all: true }, one: { json: $.a } } }

        """

    private static let template = TaskTemplate(number: 0, sources: ["list"])

    private func book(_ values: PlainValue...) -> CapturedValues {
        var book = CapturedValues()
        book.keep([CapturedValue(name: "names", text: "", value: .list(values))], of: "list")
        return book
    }

    private func expand(_ text: String, _ book: CapturedValues, order: [Int] = [0]) -> LoadResult {
        let source = SourceText(name: "/job/jobs.yaml", bytes: Array(text.utf8))
        return JobLoader.load(
            source, options: LoadOptions(), resources: world(),
            templates: TemplateValues(order: order, captured: book))
    }

    private func ids(_ result: LoadResult) -> [String]? {
        result.added.flatMap { added in result.job.map { $0.tasks[added].map(\.id) } }
    }

    private let get = """
          - { id: "get-${n.index}", forEach: { n: { captured: tasks.list.names } }, url: "https://a.test/f/${n}", \
        to: "out/${n}" }

        """

    /// Of several values the tasks would have one id, and of one the template's own.
    @Test(arguments: [("fix", true), ("${x}", true), ("a-${n}", false), ("a-${m}", false), ("a-${n.index}", false)])
    func anIDThatIsTheSameForAllTasksIsRefused(_ id: String, _ isRefused: Bool) {
        let text =
            "variables: { x: y }\n" + Self.list
                + """
                  - id: "\(id)"
                    forEach: { n: { captured: tasks.list.names }, m: [1] }
                    url: https://a.test/
                """
        let read = load(text)
        #expect(read.summary == (isRefused ? ["4:9 warning duplicate-id"] : []), "\(read.messages)")
        #expect(read.messages.contains("put `${n.index}` and `${m.index}` into the id") == isRefused)
        let made = expand(text, book(.string("one")))
        #expect(made.diagnostics.hasErrors == isRefused, "\(made.messages)")
    }

    @Test func aTemplateIsOneTaskThatNeedsItsSource() throws {
        let job = try #require(load(Self.list + get).job, "\(load(Self.list + get).messages)")
        #expect(job.tasks.map(\.id) == ["list", "get-${n.index}"])
        #expect(job.tasks[1].isTemplate && job.tasks[1].needs == [TaskIndex(raw: 0)])
        #expect(job.tasks[1].options.values.template == TaskTemplate(number: 0, sources: ["list"]))
        #expect(job.tasks[1].destination == nil)
    }

    /// Any name may be that of a task whose id is a captured value, a mistyped one too.
    @Test(arguments: [
        ("lisst", "${n}", ["warning unknown-task"]), ("lisst", "get-${n}", ["error unknown-task"]),
        ("list", "${n}", []), ("get-seven", "${n}", []), ("get-seven", "get-${n}", []),
    ])
    func aMistypedName_isToldWhateverTheTemplateIsCalled(_ name: String, _ id: String, _ told: [String]) {
        let read = load(
            Self.list
                + """
                  - { id: "\(id)", forEach: { n: { captured: tasks.list.names } }, url: "https://a.test/${n}" }
                  - { id: last, url: "https://a.test/", needs: [\(name)] }
                """)
        #expect(read.diagnostics.sorted().map { "\($0.severity) \($0.code)" } == told)
        #expect(read.messages.contains("did you mean `list`?") == !told.isEmpty, "\(read.messages)")
    }

    @Test func withTheValuesTasksFollowAfterAllOthers() throws {
        let result = expand(Self.list + get, book(.string("a"), .string("b c"), .number("3.10")))
        #expect(ids(result) == ["get-1", "get-2", "get-3"], "\(result.messages)")
        let job = try #require(result.job)
        let filled = try job.tasks[2...].map {
            try $0.filled(from: book(.string("a"), .string("b c"), .number("3.10")))
        }
        #expect(
            filled.map(\.location.shown) == ["https://a.test/f/a", "https://a.test/f/b%20c", "https://a.test/f/3.10"])
        #expect(filled.map(\.destination) == ["/job/out/a", "/job/out/b c", "/job/out/3.10"])
        #expect(filled.allSatisfy { $0.needs == [TaskIndex(raw: 0)] })
    }

    @Test func fieldsOfObjectsStandWhereTypesMatter() throws {
        let item = PlainValue.map([
            .init(key: "id", value: .string("x")), .init(key: "size", value: .number("7")),
            .init(key: "url", value: .string("https://b.test/q")),
            .init(key: "sum", value: .string("sha256:" + String(repeating: "ab", count: 32))),
        ])
        let text =
            Self.list
                + """
                  - { id: "f-${n.id}", forEach: { n: { captured: tasks.list.names }, p: [u, v] }, url: "${n.url}?p=${p}", \
                to: "o/${p}/${n.id}", expect: { size: "${n.size}" }, checksum: "${n.sum}" }
                """.replacing("id: \"f-${n.id}\"", with: "id: \"f-${n.id}-${p}\"")
        let result = expand(text, book(item))
        #expect(ids(result) == ["f-x-u", "f-x-v"], "\(result.messages)")
        let task = try #require(result.job?.tasks.last).filled(from: book(item))
        #expect(task.location.url?.text == "https://b.test/q?p=v" && task.destination == "/job/o/v/x")
        #expect(task.options.values.expect.size == 7)
        guard case .literal? = task.options.values.checksum else { return #expect(Bool(false), "no checksum") }
    }

    private static let object = PlainValue.map([
        .init(key: "name", value: .string("x")), .init(key: "none", value: .null),
        .init(key: "empty", value: .string("")),
        .init(key: "tags", value: .list([.string("p"), .number("1.50"), .null])),
        .init(key: "owner", value: .map([.init(key: "login", value: .string("me"))])),
    ])

    /// Objects, lists and null keep their place in JSON, in whichever form the list is named.
    @Test(
        arguments: [
            ("${n.none}", .null), ("${n.tags}", .list([.string("p"), .number("1.50"), .null])),
            ("${n.owner}", .object([.init(name: "login", value: .string("me"))])), ("${n.owner.login}", .string("me")),
            ("${n.none:-else}", .string("else")), ("${n.empty:-else}", .string("else")),
            ("${n.lacking:-else}", .string("else")),
            ("${n}", JSONTemplate(object)),
        ] as [(String, JSONTemplate)], ["captured: tasks.list.names", "json: { task: list }"])
    func whatStandsAloneInJSON_keepsItsType(_ value: (String, JSONTemplate), _ list: String) throws {
        let (text, sent) = value
        let job =
            Self.list + """
                  - id: "a-${n.index}"
                    forEach: { n: { \(list) } }
                    url: https://a.test/
                    body: { json: { name: "${n.name}", value: "\(text)" } }
                    expect: { body: { json: { $.value: "\(text)" } } }
                  - id: "b-${n.index}"
                    forEach: { n: { \(list) } }
                    url: https://a.test/
                    body: { multipart: [{ name: p, json: "\(text)" }] }

                """
        let templates = try #require(load(job).job, "\(load(job).messages)").tasks[1...]
        var book = book(Self.object)
        for rows in templates.flatMap({ $0.options.values.template?.lists ?? [] }) {
            book.keep([CapturedValue(name: RowList.name, text: "", value: .list([Self.object]))], of: rows.key)
        }
        let made = expand(job, book, order: [0, 1])
        let tasks = try #require(made.job, "\(made.messages)").tasks[3...].map { try $0.filled(from: book) }
        guard case .json(.object(let members))? = tasks[0].options.values.body,
            case .multipart(let parts)? = tasks[1].options.values.body
        else {
            Issue.record("a body is gone")
            return
        }
        #expect(members == [.init(name: "name", value: .string("x")), .init(name: "value", value: sent)])
        #expect(tasks[0].options.values.expect.bodyJSON.map(\.value) == [sent])
        guard case .json(sent)? = parts.first?.content else {
            Issue.record("\(parts)")
            return
        }
    }

    /// Of a secret list, texts within the values stay secret.
    @Test func secretsWithinAValue_staySecret() throws {
        let job =
            Self.list
            + "  - { id: \"a-${n.index}\", forEach: { n: { captured: tasks.list.names } }, url: https://a.test/, "
            + "body: { json: \"${n.owner}\" } }\n"
        var book = CapturedValues()
        book.keep([CapturedValue(name: "names", text: "", value: .list([Self.object]), isSecret: true)], of: "list")
        let made = expand(job, book)
        let task = try #require(made.job?.tasks.last, "\(made.messages)").filled(from: book)
        guard case .json(.object(let members))? = task.options.values.body,
            case .string(let text)? = members.first?.value
        else {
            Issue.record("no body")
            return
        }
        #expect(text.isSecret && text.revealed == "me" && text.redacted == "***")
    }

    @Test(arguments: [
        ("${n.nam}", "value 1 of `tasks.list.names` has no `nam` (did you mean `${n.name}`?)"),
        ("${n.more}", "value 1 of `tasks.list.names` has no `more` (write `${n.more:-…}` if some have none)"),
        (
            "${n.owner.id}",
            "value 1 of `tasks.list.names` has no `owner.id` (write `${n.owner.id:-…}` if some have none)"
        ),
    ])
    func aMemberThatIsNotThere_isNamedWithItsValue(_ text: String, _ told: String) {
        let job =
            Self.list
            + "  - { id: \"a-${n.index}\", forEach: { n: { captured: tasks.list.names } }, url: \"https://a.test/\(text)\" }\n"
        let made = expand(job, book(Self.object))
        #expect(made.job == nil && made.messages == told, "\(made.messages)")
    }

    /// Text cannot be made of them.
    @Test(arguments: [
        ("${n.none}", "value 1 of `tasks.list.names`: `${n.none}` is null, no text (write `${n.none:-…}`"),
        ("${n.tags}", "`${n.tags}` is a list, no text"),
        ("${n.owner}", "`${n.owner}` is a map, no text (name one of its fields: `${n.owner.login}`)"),
    ])
    func whatIsNoText_cannotStandInText(_ text: String, _ told: String) {
        for place in ["description: \"\(text)\"", "headers: { X: \"\(text)\" }", "labels: { x: \"a \(text)\" }"] {
            let job =
                Self.list
                + "  - { id: \"a-${n.index}\", forEach: { n: { captured: tasks.list.names } }, url: https://a.test/, \(place) }\n"
            let made = expand(job, book(Self.object))
            #expect(made.job == nil && made.messages.contains(told), "\(place): \(made.messages)")
        }
    }

    @Test func whatNeedsATemplateNeedsAllThatItBecomes() throws {
        let text =
            Self.list + get + """
                  - { id: all, url: https://a.test/, needs: [get-*] }
                  - { id: first, url: https://a.test/, needs: [get-1] }
                  - { id: others, url: https://a.test/, needs: ["*"] }

                """
        let before = try #require(load(text).job, "\(load(text).messages)")
        #expect(before.tasks[2].needs.map(\.raw) == [1] && before.tasks[3].needs.map(\.raw) == [1])
        let result = expand(text, book(.string("a"), .string("b")))
        let after = try #require(result.job, "\(result.messages)")
        #expect(after.tasks[2].needs.map(\.raw) == [5, 6] && after.tasks[3].needs.map(\.raw) == [5])
        #expect(after.tasks[4].needs.map(\.raw) == [0, 2, 3, 5, 6])
        let growth = try Growth(before).expansion(
            ExpandedJob(job: after, added: try #require(result.added)), of: [(Self.template, 2)])
        #expect(growth.tasks.map(\.id) == ["get-1", "get-2"])
        #expect(growth.needs[TaskIndex(raw: 2)]?.map(\.raw) == [5, 6])
        #expect(growth.needs[TaskIndex(raw: 3)]?.map(\.raw) == [5])
    }

    /// Of a part of a job, whose numbers are others.
    @Test func growthFollowsTheNumbersOfTheRun() throws {
        let text = Self.list.replacing("tasks:\n", with: "tasks:\n  - { id: other, url: https://a.test/ }\n") + get
        let whole = try #require(load(text).job)
        let part = try TaskSelection(except: ["other"]).apply(to: whole)
        let result = expand(text, book(.string("a")))
        let after = try #require(result.job, "\(result.messages)")
        let growth = try Growth(part).expansion(
            ExpandedJob(job: after, added: try #require(result.added)), of: [(Self.template, 1)])
        #expect(growth.tasks.map(\.needs) == [[TaskIndex(raw: 0)]])
    }

    private func selected(_ selection: TaskSelection, _ more: String = "") throws -> Result<[String], TransferError> {
        let result = expand(Self.list + get + more, book(.string("a"), .string("b"), .string("c")))
        let job = try #require(result.job, "\(result.messages)")
        let expanded = ExpandedJob(
            job: job, added: try #require(result.added), made: try #require(result.made))
        return selection.applied(to: expanded).map { $0.job.tasks[$0.added].map(\.id) }
    }

    @Test(arguments: [
        (["get-2"], [], ["get-2"]), (["get-3", "get-1"], [], ["get-1", "get-3"]), (["*-2"], [], ["get-2"]),
        (["get-*"], [], ["get-1", "get-2", "get-3"]), (["get-${n.index}"], [], ["get-1", "get-2", "get-3"]),
        ([], ["get-2"], ["get-1", "get-3"]), (["get-*"], ["*-1", "get-9"], ["get-2", "get-3"]),
        (["list", "get-2"], [], ["get-2"]),
    ])
    func ofTheTasksOfATemplate_thoseThatAPatternChoosesRun(
        _ only: [String], _ except: [String], _ left: [String]
    ) throws {
        #expect(try selected(TaskSelection(only: only, except: except)) == .success(left))
    }

    @Test func aTaskThatIsNotMadeFailsTheTemplate() throws {
        #expect(throws: TransferError.self) { try selected(TaskSelection(only: ["get-4"])).get() }
        #expect(try selected(TaskSelection(only: ["get-4", "get-2"])) == .success(["get-2"]))
    }

    @Test func whatIsNeededRunsWhole_unlessNothingIsAdded() throws {
        let all = "  - { id: all, url: https://a.test/, needs: [get-*] }\n"
        let only = ["all", "get-2"]
        #expect(try selected(TaskSelection(only: only), all) == .success(["get-1", "get-2", "get-3"]))
        #expect(try selected(TaskSelection(only: only, addsNeeds: false), all) == .success(["get-2"]))
    }

    /// Which files the tasks that do not run would write is not known, so none of the folder is extraneous.
    @Test func aGroupOfWhichSomeTasksRunRemovesNoFile() throws {
        let text =
            "groups: { site: { to: www, extraneous: remove } }\n" + Self.list
            + get.replacing("to: \"out/${n}\"", with: "to: \"./${n}\", group: site")
        let job = try #require(load(text).job, "\(load(text).messages)")
        #expect(try TaskSelection(only: ["get-2"]).apply(to: job).groups[0].absent == [nil])
        #expect(try TaskSelection(except: ["get-2"]).apply(to: job).groups[0].absent == [nil])
        #expect(try TaskSelection(only: ["get-*"]).apply(to: job).groups[0].absent.isEmpty)
    }

    @Test func anEmptyListMakesNoTask_andNothingThatNeedsThemIsWrong() {
        let text = Self.list + get + "  - { id: all, url: https://a.test/, needs: [get-*] }\n"
        #expect(ids(expand(text, book())) == [], "\(expand(text, book()).messages)")
    }

    @Test(arguments: [
        ("\"${n}\"", "list", "duplicate-id"), ("\"${n}\"", "a b", "invalid-id"), ("same", "x", "duplicate-id"),
        ("\"${n.name}\"", "x", "row-lacks-field"),
    ])
    func whatIsWrongWithTheTasksThatAreMade_isAnError(_ id: String, _ value: String, _ code: String) {
        let text =
            Self.list
            + "  - { id: \(id), forEach: { n: { captured: tasks.list.names } }, url: https://a.test/, to: \"o/${n}\" }\n"
        #expect(load(text).diagnostics.hasErrors == false, "\(load(text).messages)")
        let result = expand(text, book(.string(value), .string("y")))
        #expect(result.diagnostics.sorted().first?.code == code, "\(result.messages)")
    }

    /// In any order in which their sources end, templates become the same tasks.
    @Test func templatesBecomeTheSameTasksInAnyOrder() throws {
        var random = Seeded("templatesBecomeTheSameTasksInAnyOrder")
        for _ in 0..<Rounds.scaled(40) {
            let count = 1 + random.below(4)
            var text = "tasks:\n"
            var book = CapturedValues()
            for number in 0..<count {
                text += """
                      - { id: list\(number), url: https://api.test/, capture: { names: { json: "$[*]", all: true } } }
                      - { id: "t\(number)-${n.index}-${m}", forEach: { n: { captured: tasks.list\(number).names }, m: 1..2 }, \
                    url: "https://a.test/${n}", to: "o\(number)/${m}/${n.index}" }

                    """
                let values = (0..<random.below(4)).map { PlainValue.string("v\($0)") }
                book.keep([CapturedValue(name: "names", text: "", value: .list(values))], of: "list\(number)")
            }
            let order = (0..<count).shuffled(using: &random)
            let result = expand(text, book, order: order)
            let job = try #require(result.job, "\(result.messages)")
            var expected: [String] = []
            for number in order {
                guard let list = book.list("list\(number)", "names"), case .list(let values) = list.value else {
                    continue
                }
                for index in values.indices { expected += ["t\(number)-\(index + 1)-1", "t\(number)-\(index + 1)-2"] }
            }
            #expect(job.tasks[(count * 2)...].map(\.id) == expected)
        }
    }
}
