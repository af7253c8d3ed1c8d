import TestSupport
import Testing
import TextFormats

/// The public compliance suite of RFC 9535 (jsonpath-compliance-test-suite; its licence lies beside it), all of it.
struct JSONPathComplianceTests {
    @Test func everyCaseOfThePublicSuite_holds() throws {
        let path = "\(Binary.packageRoot)/Tests/TextFormatsTests/Compliance/jsonpath-cts.json"
        let suite = try JSONParser.parse(try TemporaryTree.bytes(at: path), keepsHalves: true)
        guard case .array(let cases)? = suite["tests"] else {
            Issue.record("the suite has no tests")
            return
        }
        #expect(cases.count > 700)
        for test in cases {
            guard case .string(let name)? = test["name"], case .string(let selector)? = test["selector"] else {
                Issue.record("a case without a name or a selector")
                continue
            }
            guard let query = try? JSONPath(selector) else {
                #expect(test["invalid_selector"] == .boolean(true), "\(name): \(selector) is refused")
                continue
            }
            #expect(test["invalid_selector"] == nil, "\(name): \(selector) is taken")
            guard let document = test["document"] else { continue }
            let found = query.select(from: document)
            var right: [JSONValue] = test["result"].map { [$0] } ?? []
            if case .array(let several)? = test["results"] { right = several }
            let isRight = right.contains { value in
                guard case .array(let wanted) = value else { return false }
                return wanted == found
            }
            #expect(isRight, "\(name): \(selector) gives \(found)")
        }
    }
}
