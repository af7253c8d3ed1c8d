import Diagnostics
import JobLoader
import Testing
import TransferModel

/// What `defaults` name counts for the tasks in which it is left.
struct DefaultReferenceTests {
    private func needs(_ text: String) throws -> [[UInt32]] {
        let result = load(text)
        #expect(!result.diagnostics.hasErrors, "\(result.messages)")
        return try #require(result.job).tasks.map { $0.needs.map(\.raw) }
    }

    private let login = "id: login, url: 'https://a.test/', capture: { token: { json: $.token } }"

    @Test(arguments: [
        // Taken away, in whatever letters, one or all.
        ("headers: { Authorization: 'Bearer ${tasks.login.token}' }", "headers: { Authorization: null }"),
        ("headers: { Authorization: 'Bearer ${tasks.login.token}' }", "headers: { AUTHORIZATION: null }"),
        ("headers: { Authorization: 'Bearer ${tasks.login.token}' }", "headers: null"),
        // Replaced.
        ("headers: { Authorization: 'Bearer ${tasks.login.token}' }", "headers: { authorization: Basic x }"),
        ("query: { t: '${tasks.login.token}' }", "query: { t: 1 }"),
        ("query: { t: '${tasks.login.token}' }", "query: { t: null }"),
        ("body: { data: '${tasks.login.token}' }", "body: { form: { a: b } }"),
        ("contentType: 'x/${tasks.login.token}'", "contentType: null"),
        ("expect: { body: { contains: '${tasks.login.token}' } }", "expect: { body: { contains: x } }"),
        // For downloads alone.
        ("checksum: '${tasks.login.token}'", "description: x"),
    ]) func whatATaskTakesAwayDoesNotCount(_ defaults: String, _ own: String) throws {
        let text = """
            defaults: { \(defaults) }
            tasks:
              - { \(login), \(own) }
              - { id: own, url: 'https://a.test/', \(own) }
              - { id: a, url: 'https://a.test/', to: a }
            """
        #expect(try needs(text) == [[], [], [0]])
        let values = try #require(load(text).job).tasks[1].options.values
        #expect(!values.awaitsCaptures)
    }

    @Test func whatIsLeftCounts() throws {
        let text = """
            defaults: { headers: { Authorization: 'Bearer ${tasks.login.token}' } }
            tasks:
              - { \(login), headers: { Authorization: null } }
              - { id: a, url: 'https://a.test/', headers: { X: y } }
              - { id: b, url: 'https://a.test/', headers: { authorization: '${tasks.login.token}' } }
            """
        #expect(try needs(text) == [[], [0], [0]])
    }

    /// A name that only some tasks have.
    @Test func whatATaskReplacesIsNotLookedUp() throws {
        let text = """
            defaults: { headers: { X: 'v${n}' }, query: { q: '${n}' }, body: { data: '${n}' } }
            tasks:
              - { id: 'a${n}', forEach: { n: [1] }, url: 'https://a.test/' }
              - { id: b, url: 'https://a.test/', headers: { x: null }, query: { q: 1 }, body: { data: x } }
            """
        #expect(try needs(text) == [[], []])
    }

    /// Whoever has it of `defaults` and captures it himself is told so.
    @Test func whatIsLeftInItsOwnTaskIsAnError() {
        let text = """
            defaults: { headers: { Authorization: 'Bearer ${tasks.login.token}' } }
            tasks:
              - { \(login) }
            """
        #expect(load(text).summary == ["1:47 needs-cycle"])
    }
}
